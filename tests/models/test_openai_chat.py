"""The Chat Completions adapter: the official SDK against servers that copy OpenAI's protocol."""

from contextlib import suppress
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from openai import AsyncOpenAI
from tests.models.requests import WEATHER, answered, ask, called, history, results, texts
from tests.models.wire import Reply, Wire, sse

from toolwright.errors import ModelError, UsageError
from toolwright.messages import (
    BlobPart,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
    UserMessage,
    user_message,
)
from toolwright.models import (
    Delta,
    ModelSettings,
    OpenAIChatModel,
    Retries,
    google_search,
)

pytestmark = pytest.mark.anyio


def model(wire: Wire, provider: str = "vllm") -> OpenAIChatModel:
    retries = Retries(first_wait=0.0)
    return OpenAIChatModel("qwen3", provider=provider, base_url=wire.url, retries=retries)


def completion(finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    """A reply as servers write it."""
    return {
        "id": "chatcmpl_1",
        "object": "chat.completion",
        "created": 1,
        "model": "qwen3",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": None, **message},
            }
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 40},
        },
    }


def tool_call(call_id: str | None, city: str) -> dict[str, Any]:
    function = {"name": "get_weather", "arguments": f'{{"city": "{city}"}}'}
    return {"id": call_id, "type": "function", "function": function}


async def test_a_question_is_sent_and_its_answer_read(wire: Wire) -> None:
    wire.will(completion(content="Hi there."))
    settings = ModelSettings(temperature=0.2, max_tokens=50, stop=("END",), seed=7)

    reply = await model(wire).respond(
        ask("Hello", instructions="Be brief.", tools=(WEATHER,), settings=settings)
    )

    assert (reply.text, reply.finish_reason, reply.model) == ("Hi there.", "stop", "vllm:qwen3")
    assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.cost) == (100, 40, 0)
    assert wire.requests[0].path == "/chat/completions"
    assert wire.bodies == snapshot(
        [
            {
                "model": "qwen3",
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "Hello"},
                ],
                "max_tokens": 50,
                "seed": 7,
                "stop": ["END"],
                "temperature": 0.2,
                "tools": [
                    {
                        "type": "function",
                        "function": {
                            "name": "get_weather",
                            "description": "The weather in a city.",
                            "parameters": {
                                "type": "object",
                                "properties": {
                                    "city": {"type": "string", "description": "Which city."}
                                },
                                "required": ["city"],
                            },
                        },
                    }
                ],
            }
        ]
    )


async def test_openai_itself_is_asked_in_its_own_dialect(wire: Wire) -> None:
    wire.will(completion(content="Hi."))

    settings = ModelSettings(max_tokens=50, tool_choice="get_weather", parallel_tool_calls=False)
    openais = OpenAIChatModel("gpt-4.1", provider="openai", base_url=wire.url)
    reply = await openais.respond(
        ask(tools=(WEATHER,), output_schema={"type": "object", "properties": {}}, settings=settings)
    )

    assert reply.usage.cost == pytest.approx((60 * 2 + 40 * 0.5 + 20 * 8) / 1e6)
    body = wire.bodies[0]
    assert body["tools"][0]["function"]["strict"] is True
    assert body["max_completion_tokens"] == 50
    assert body["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    assert body["parallel_tool_calls"] is False


async def test_calls_and_results_keep_their_order_and_images_follow_as_the_users(
    wire: Wire,
) -> None:
    calls = [tool_call("call_1", "Oslo"), tool_call("call_2", "Rome")]
    wire.will(completion("tool_calls", tool_calls=calls), completion(content="Wet."))
    picture = BlobPart(media_type="image/png", data=b"png")

    first = await model(wire).respond(ask("Weather?", tools=(WEATHER,)))
    both = results(
        ToolResult(call_id="call_1", name="get_weather", status="ok", content=(picture,)),
        ToolResult(call_id="call_2", name="get_weather", status="ok", content=(TextPart("Sun"),)),
    )
    await model(wire).respond(history(user_message("Weather?"), first, both))

    assert first.finish_reason == "calls"
    assert wire.bodies[1]["messages"] == snapshot(
        [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
                    },
                    {
                        "id": "call_2",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "(see the next message)"},
            {"role": "tool", "tool_call_id": "call_2", "content": "Sun"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "The result of get_weather (call_1):"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
                ],
            },
        ]
    )


async def test_reasoning_is_kept_and_sent_back_in_the_field_it_came_in(wire: Wire) -> None:
    details = [{"type": "reasoning.encrypted", "data": "c2VjcmV0"}]
    wire.will(
        completion(content="Hi.", reasoning_content="Hm."),
        completion(content="Hi.", reasoning="Hm.", reasoning_details=details),
        completion(content="Bye."),
        completion(content="Bye."),
    )

    local = await model(wire).respond(ask())
    routed = await model(wire, "openrouter").respond(ask())
    talk = history(user_message("a"), local, user_message("b"), routed, user_message("c"))
    await model(wire).respond(talk)
    await model(wire, "openrouter").respond(talk)

    assert isinstance(local.parts[0], ReasoningPart)
    assert local.parts[0].text == "Hm."
    told_local, told_routed = (body["messages"] for body in wire.bodies[2:])
    assert told_local[1]["reasoning_content"] == "Hm."
    assert "reasoning_details" not in told_local[3]
    assert "reasoning_content" not in told_routed[1]
    assert told_routed[3]["reasoning_details"] == details


async def test_images_sounds_and_files_go_in(wire: Wire) -> None:
    wire.will(completion(content="A cat."))
    parts = (
        TextPart("What?"),
        BlobPart(media_type="image/png", data=b"png"),
        BlobPart(media_type="audio/wav", data=b"wav"),
        BlobPart(media_type="application/pdf", data=b"pdf", name="a.pdf"),
        BlobPart(media_type="application/json", data=b"{}"),
        BlobPart(media_type="video/mp4", url="https://example.com/v.mp4"),
    )

    await model(wire).respond(history(UserMessage(parts)))

    assert wire.bodies[0]["messages"][0]["content"] == snapshot(
        [
            {"type": "text", "text": "What?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
            {"type": "input_audio", "input_audio": {"data": "d2F2", "format": "wav"}},
            {
                "type": "file",
                "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm"},
            },
            {"type": "text", "text": "{}"},
            {
                "type": "text",
                "text": "[video/mp4 file, https://example.com/v.mp4: this model cannot be shown it]",
            },
        ]
    )


async def test_a_call_without_an_id_gets_one_of_its_own(wire: Wire) -> None:
    wire.will(completion(tool_calls=[tool_call(None, "Oslo"), tool_call(None, "Rome")]))

    reply = await model(wire).respond(ask(tools=(WEATHER,)))

    first, second = (call.call_id for call in reply.calls)
    assert first
    assert first != second
    assert reply.finish_reason == "calls"


async def test_the_servers_own_price_is_believed(wire: Wire) -> None:
    reply = completion(content="Hi.")
    reply["usage"]["cost"] = 0.25
    wire.will(reply)

    assert (await model(wire, "openrouter").respond(ask())).usage.cost == 0.25


async def test_server_tools_are_a_usage_error(wire: Wire) -> None:
    with pytest.raises(UsageError, match="nothing like"):
        await model(wire).respond(ask(server_tools=(google_search,)))


def chunk(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }


USED = {
    **chunk(),
    "choices": [],
    "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
}


async def test_pieces_are_handed_on_and_the_message_is_whole(wire: Wire) -> None:
    def piece(index: int, text: str, **more: Any) -> dict[str, Any]:
        return {"index": index, **more, "function": {"arguments": text, **more}}

    oslo = {"id": "call_1", "name": "get_weather"}
    rome = {"id": "call_2", "name": "get_weather"}
    wire.will(
        sse(
            chunk(role="assistant", reasoning_content="Hm."),
            chunk(content="Let me "),
            chunk(content="look."),
            chunk(tool_calls=[piece(0, "", **oslo)]),
            chunk(tool_calls=[piece(0, '{"city": "Oslo"}')]),
            chunk(tool_calls=[piece(1, '{"city": "Rome"}', **rome)]),
            chunk("tool_calls"),
            USED,
            done="[DONE]",
        )
    )
    deltas: list[Delta] = []

    reply = await model(wire).respond(ask(tools=(WEATHER,)), deltas.append)

    assert wire.bodies[0]["stream_options"] == {"include_usage": True}
    assert texts(deltas) == reply.text == "Let me look."
    assert texts(deltas, "reasoning") == "Hm."
    assert [(d.index, d.name, d.text) for d in deltas if d.kind == "call"] == [
        (0, "get_weather", ""),
        (0, "", '{"city": "Oslo"}'),
        (1, "get_weather", ""),
        (1, "", '{"city": "Rome"}'),
    ]
    assert reply.calls == (
        ToolCall(call_id="call_1", name="get_weather", arguments='{"city": "Oslo"}'),
        ToolCall(call_id="call_2", name="get_weather", arguments='{"city": "Rome"}'),
    )
    assert reply.usage.output_tokens == 7


async def test_a_stream_of_whole_calls_without_an_index_is_understood(wire: Wire) -> None:
    calls = [tool_call("a", "Oslo"), tool_call("b", "Rome")]
    wire.will(sse(chunk(tool_calls=calls), chunk("stop"), done="[DONE]"))

    reply = await model(wire).respond(ask(tools=(WEATHER,)), lambda delta: None)

    assert [call.arguments for call in reply.calls] == ['{"city": "Oslo"}', '{"city": "Rome"}']


async def test_cancelling_mid_stream_closes_the_connection(wire: Wire) -> None:
    wire.will(sse(chunk(content="Once"), hang=True))
    heard = anyio.Event()

    async with anyio.create_task_group() as group:
        group.start_soon(model(wire).respond, ask(), lambda delta: heard.set())
        with anyio.fail_after(30):
            await heard.wait()
            group.cancel_scope.cancel()

    with anyio.fail_after(30):
        await wire.disconnected.wait()


async def test_an_error_in_the_stream_has_its_reason(wire: Wire) -> None:
    wire.will(
        sse({"error": {"message": "CUDA out of memory", "code": 500, "type": "server_error"}})
    )
    wire.will(*[Reply(status=500, body={"error": {"message": "down"}})] * 2)

    with pytest.raises(ModelError) as raised:
        await model(wire).respond(ask(), lambda delta: None)

    assert raised.value.reason == "server"


async def test_a_broken_call_is_repeated_to_the_server_as_the_model_wrote_it(wire: Wire) -> None:
    wire.will(completion(content="Sorry."))

    await model(wire).respond(
        history(user_message("a"), called("get_weather", '{"city": '), answered("Invalid JSON"))
    )

    assert wire.bodies[0]["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"city": '


async def test_a_completion_without_a_choice_is_a_model_error(wire: Wire) -> None:
    wire.will(*[{**completion(), "choices": []}] * 3)

    with pytest.raises(ModelError, match="without a choice") as caught:
        await model(wire).respond(ask())

    assert (caught.value.reason, caught.value.retryable, wire.replies) == ("server", True, [])


async def test_an_answer_that_is_no_object_is_told(wire: Wire) -> None:
    wire.will(*[Reply(body=["not", "this"])] * 3)
    with pytest.raises(ModelError, match=r"no reply of a model: HTTP 200, .*\[\"not\", \"this\"\]"):
        await model(wire).respond(ask("hi"))


async def test_the_key_of_an_administrator_is_never_sent(wire: Wire) -> None:
    client = AsyncOpenAI(api_key="", admin_api_key="of-the-boss", base_url=wire.url, max_retries=0)
    wire.will(completion(content="hello"))
    with suppress(Exception):  # The SDK may refuse to ask without a key, which is as good.
        await OpenAIChatModel("qwen3", client=client).respond(ask("hi"))
    assert [r.headers for r in wire.requests if "of-the-boss" in str(r.headers)] == []
