"""The Responses adapter: the official SDK against a server that speaks its wire format."""

from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from tests.models.requests import WEATHER, answered, ask, called, history, texts
from tests.models.wire import Reply, Wire, running, sse

from toolwright.errors import ModelError, UsageError
from toolwright.messages import (
    BlobPart,
    ModelMessage,
    ReasoningPart,
    ServerToolPart,
    TextPart,
    ToolCall,
    UserMessage,
    user_message,
)
from toolwright.models import (
    Delta,
    ModelSettings,
    OpenAIModel,
    Retries,
    code_execution,
    file_search,
    google_maps_grounding,
    google_search,
)

pytestmark = pytest.mark.anyio

QUICK = Retries(first_wait=0.0)


def model(wire: Wire, name: str = "gpt-5-mini", **options: Any) -> OpenAIModel:
    return OpenAIModel(name, api_key="k", base_url=wire.url, retries=QUICK, **options)


def response(*output: Any, **changes: Any) -> dict[str, Any]:
    """A response as the API writes it."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-5-mini",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 8},
            "total_tokens": 120,
        },
        **changes,
    }


def said(text: str) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


REASONED = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Rain is likely."}],
    "encrypted_content": "c2VjcmV0",
}
CALLED = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "get_weather",
    "arguments": '{"city": "Oslo"}',
    "status": "completed",
}


async def test_a_plain_question_is_sent_and_its_answer_read(wire: Wire) -> None:
    wire.will(response(said("Hi there.")))

    reply = await model(wire).respond(ask("Hello", instructions="Be brief."))

    assert reply.text == "Hi there."
    assert reply.finish_reason == "stop"
    assert reply.model == "openai:gpt-5-mini"
    assert wire.requests[0].headers["authorization"] == "Bearer k"
    assert wire.bodies == snapshot(
        [
            {
                "model": "gpt-5-mini",
                "include": ["reasoning.encrypted_content"],
                "input": [
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "Hello"}],
                    }
                ],
                "instructions": "Be brief.",
                "store": False,
            }
        ]
    )


async def test_usage_counts_cached_and_reasoning_tokens_and_has_a_cost(wire: Wire) -> None:
    wire.will(response(said("Hi.")))

    usage = (await model(wire).respond(ask())).usage

    assert (usage.input_tokens, usage.cached_tokens) == (100, 40)
    assert (usage.output_tokens, usage.reasoning_tokens, usage.requests) == (20, 8, 1)
    assert usage.cost == pytest.approx((60 * 0.25 + 40 * 0.025 + 20 * 2) / 1e6)


async def test_reasoning_and_calls_are_kept_and_sent_back_unchanged(wire: Wire) -> None:
    wire.will(response(REASONED, CALLED), response(said("Take an umbrella.")))

    first = await model(wire).respond(ask("Umbrella?", tools=(WEATHER,)))
    again = history(user_message("Umbrella?"), first, answered("Rain"), tools=(WEATHER,))
    await model(wire).respond(again)

    assert first.finish_reason == "calls"
    assert first.parts == snapshot(
        (
            ReasoningPart(
                text="Rain is likely.",
                signature="c2VjcmV0",
                provider="openai",
                meta={
                    "id": "rs_1",
                    "summary": [{"text": "Rain is likely.", "type": "summary_text"}],
                },
            ),
            ToolCall(
                call_id="call_1",
                name="get_weather",
                arguments='{"city": "Oslo"}',
                meta={"openai_id": "fc_1"},
            ),
        )
    )
    assert wire.bodies[1] == snapshot(
        {
            "model": "gpt-5-mini",
            "include": ["reasoning.encrypted_content"],
            "input": [
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "Umbrella?"}],
                },
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"text": "Rain is likely.", "type": "summary_text"}],
                    "encrypted_content": "c2VjcmV0",
                },
                {
                    "type": "function_call",
                    "id": "fc_1",
                    "call_id": "call_1",
                    "name": "get_weather",
                    "arguments": '{"city": "Oslo"}',
                },
                {"type": "function_call_output", "call_id": "call_1", "output": "Rain"},
            ],
            "store": False,
            "tools": [
                {
                    "type": "function",
                    "name": "get_weather",
                    "description": "The weather in a city.",
                    "parameters": {
                        "type": "object",
                        "properties": {"city": {"type": "string", "description": "Which city."}},
                        "required": ["city"],
                        "additionalProperties": False,
                    },
                    "strict": True,
                }
            ],
        }
    )


async def test_another_providers_reasoning_is_not_sent(wire: Wire) -> None:
    wire.will(response(said("Hi.")))
    foreign = ModelMessage(
        parts=(ReasoningPart(text="hm", signature="x", provider="anthropic"), TextPart("Yes."))
    )

    await model(wire).respond(history(user_message("a"), foreign, user_message("b")))

    assert wire.bodies[0]["input"][1] == {
        "type": "message",
        "role": "assistant",
        "content": "Yes.",
    }


async def test_images_and_files_go_in_and_come_back_from_tools(wire: Wire) -> None:
    wire.will(response(said("A cat.")))
    picture = BlobPart(media_type="image/png", data=b"png")
    paper = BlobPart(media_type="application/pdf", data=b"pdf", name="a.pdf")
    linked = BlobPart(media_type="image/jpeg", url="https://example.com/cat.jpg")

    await model(wire).respond(
        history(
            UserMessage((TextPart("What is it?"), picture, paper, linked)),
            called("get_weather", "{}"),
            answered("Here:", picture),
        )
    )

    assert wire.bodies[0]["input"] == snapshot(
        [
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is it?"},
                    {
                        "type": "input_image",
                        "image_url": "data:image/png;base64,cG5n",
                        "detail": "auto",
                    },
                    {
                        "type": "input_file",
                        "filename": "a.pdf",
                        "file_data": "data:application/pdf;base64,cGRm",
                    },
                    {
                        "type": "input_image",
                        "image_url": "https://example.com/cat.jpg",
                        "detail": "auto",
                    },
                ],
            },
            {
                "type": "function_call",
                "call_id": "call_1",
                "name": "get_weather",
                "arguments": "{}",
            },
            {
                "type": "function_call_output",
                "call_id": "call_1",
                "output": [
                    {"type": "input_text", "text": "Here:"},
                    {
                        "type": "input_image",
                        "image_url": "data:image/png;base64,cG5n",
                        "detail": "auto",
                    },
                ],
            },
        ]
    )


async def test_a_made_image_becomes_a_blob_and_is_shown_to_the_model_again(wire: Wire) -> None:
    made = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": "cG5n",
        "output_format": "webp",
    }
    wire.will(response(REASONED, made), response(said("Done.")))

    first = await model(wire).respond(ask("Draw a cat"))
    await model(wire).respond(history(user_message("Draw a cat"), first, user_message("Thanks")))

    assert first.parts[1] == BlobPart(media_type="image/webp", data=b"png", name="ig_1")
    assert wire.bodies[1]["input"][1]["content"][1] == {
        "type": "input_image",
        "image_url": "data:image/webp;base64,cG5n",
        "detail": "auto",
    }


async def test_settings_reach_the_request(wire: Wire) -> None:
    wire.will(response(said("Hi.")), response(said("Hi.")))
    settings = ModelSettings(
        temperature=0.2,
        max_tokens=50,
        reasoning="low",
        tool_choice="get_weather",
        parallel_tool_calls=False,
        extra={"service_tier": "flex"},
    )

    await model(wire).respond(ask(tools=(WEATHER,), settings=settings))
    await model(wire, "gpt-4.1").respond(ask(settings=settings))

    assert wire.bodies == snapshot(
        [
            {
                "model": "gpt-5-mini",
                "include": ["reasoning.encrypted_content"],
                "input": [
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "Hello"}],
                    }
                ],
                "max_output_tokens": 50,
                "parallel_tool_calls": False,
                "reasoning": {"effort": "low", "summary": "auto"},
                "store": False,
                "tool_choice": {"type": "function", "name": "get_weather"},
                "tools": [
                    {
                        "type": "function",
                        "name": "get_weather",
                        "description": "The weather in a city.",
                        "parameters": {
                            "type": "object",
                            "properties": {
                                "city": {"type": "string", "description": "Which city."}
                            },
                            "required": ["city"],
                            "additionalProperties": False,
                        },
                        "strict": True,
                    }
                ],
                "service_tier": "flex",
            },
            {
                "model": "gpt-4.1",
                "input": [
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "Hello"}],
                    }
                ],
                "max_output_tokens": 50,
                "store": False,
                "temperature": 0.2,
                "service_tier": "flex",
            },
        ]
    )


async def test_structured_output_is_asked_for_strictly_where_that_is_possible(wire: Wire) -> None:
    wire.will(response(said("{}")), response(said("{}")))
    closed = {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}
    opened = {"type": "object", "additionalProperties": {"type": "integer"}}

    await model(wire).respond(ask(output_schema=closed))
    await model(wire).respond(ask(output_schema=opened))

    assert [body["text"]["format"] for body in wire.bodies] == snapshot(
        [
            {
                "type": "json_schema",
                "name": "output",
                "schema": {
                    "type": "object",
                    "properties": {"n": {"type": "integer"}},
                    "required": ["n"],
                    "additionalProperties": False,
                },
                "strict": True,
            },
            {
                "type": "json_schema",
                "name": "output",
                "schema": {"type": "object", "additionalProperties": {"type": "integer"}},
                "strict": False,
            },
        ]
    )


async def test_server_tools_have_their_openai_names(wire: Wire) -> None:
    searched = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    wire.will(response(searched, said("Found.")), response(said("Yes.")))
    tools = (google_search, code_execution, file_search(["vs_1"], max_num_results=3))

    first = await model(wire).respond(ask("Look", server_tools=tools))
    await model(wire).respond(history(user_message("Look"), first, user_message("Sure?")))

    assert wire.bodies[0]["tools"] == snapshot(
        [
            {"type": "web_search"},
            {"type": "code_interpreter", "container": {"type": "auto"}},
            {"type": "file_search", "max_num_results": 3, "vector_store_ids": ["vs_1"]},
        ]
    )
    assert first.parts[0] == ServerToolPart(provider="openai", name="web_search", payload=searched)
    assert wire.bodies[1]["input"][1] == searched


async def test_a_server_tool_that_openai_lacks_is_a_usage_error(wire: Wire) -> None:
    with pytest.raises(UsageError, match=r"nothing like .*'google_maps_grounding'"):
        await model(wire).respond(ask(server_tools=(google_maps_grounding,)))
    assert wire.requests == []


# -- streaming ------------------------------------------------------------------------------------


async def test_pieces_are_handed_on_and_the_message_is_whole(wire: Wire) -> None:
    second = {**CALLED, "id": "fc_2", "call_id": "call_2", "arguments": '{"city": "Rome"}'}
    wire.will(
        sse(
            {"type": "response.created", "response": response(status="in_progress")},
            _piece("response.reasoning_summary_text.delta", 0, "Rain"),
            _piece("response.output_text.delta", 1, "Let me "),
            _piece("response.output_text.delta", 1, "look."),
            _added(2, {**CALLED, "arguments": ""}),
            _piece("response.function_call_arguments.delta", 2, '{"city": "Oslo"}'),
            _added(3, {**second, "arguments": ""}),
            _piece("response.function_call_arguments.delta", 3, '{"city": "Rome"}'),
            {
                "type": "response.completed",
                "response": response(REASONED, said("Let me look."), CALLED, second),
            },
        )
    )
    deltas: list[Delta] = []

    reply = await model(wire).respond(ask(tools=(WEATHER,)), deltas.append)

    assert wire.bodies[0]["stream"] is True
    assert texts(deltas) == reply.text == "Let me look."
    assert texts(deltas, "reasoning") == "Rain is likely."
    assert [(d.index, d.name, d.text) for d in deltas if d.kind == "call"] == [
        (0, "get_weather", ""),
        (0, "", '{"city": "Oslo"}'),
        (1, "get_weather", ""),
        (1, "", '{"city": "Rome"}'),
    ]
    assert [call.call_id for call in reply.calls] == ["call_1", "call_2"]


def _piece(kind: str, index: int, text: str) -> dict[str, Any]:
    where = {"item_id": "i", "output_index": index, "content_index": 0, "summary_index": 0}
    return {"type": kind, "delta": text, "sequence_number": 1, "logprobs": [], **where}


def _added(index: int, item: dict[str, Any]) -> dict[str, Any]:
    kind = "response.output_item.added"
    return {"type": kind, "output_index": index, "item": item, "sequence_number": 1}


async def test_cancelling_mid_stream_closes_the_connection(wire: Wire) -> None:
    wire.will(sse(_piece("response.output_text.delta", 0, "Once"), hang=True))
    heard = anyio.Event()

    async with anyio.create_task_group() as group:
        group.start_soon(model(wire).respond, ask(), lambda delta: heard.set())
        with anyio.fail_after(30):
            await heard.wait()
            group.cancel_scope.cancel()

    with anyio.fail_after(30):
        await wire.disconnected.wait()


async def test_a_stream_that_breaks_off_is_a_connection_error_and_not_repeated(wire: Wire) -> None:
    wire.will(sse(_piece("response.output_text.delta", 0, "Once")))

    with pytest.raises(ModelError) as raised:
        await model(wire).respond(ask(), lambda delta: None)

    assert raised.value.reason == "connection"
    assert len(wire.requests) == 1


async def test_an_error_event_ends_the_turn_with_its_reason(wire: Wire) -> None:
    failed = response(status="failed", error={"code": "server_error", "message": "boom"})
    wire.will(*[sse({"type": "response.failed", "response": failed, "sequence_number": 1})] * 3)

    with pytest.raises(ModelError, match="boom") as raised:
        await model(wire).respond(ask(), lambda delta: None)

    assert raised.value.reason == "server"
    assert len(wire.requests) == 3


# -- errors and retries ---------------------------------------------------------------------------


def failing(status: int, message: str = "no", code: str | None = None, **headers: str) -> Reply:
    body = {"error": {"message": message, "code": code, "type": None}}
    return Reply(status=status, body=body, headers=headers)


@pytest.mark.parametrize(
    ("reply", "reason", "retryable"),
    [
        (failing(401, "Incorrect API key provided: sk-abcdefghijklmnop"), "auth", False),
        (failing(400, "bad", "context_length_exceeded"), "context_too_long", False),
        (failing(400, "Unknown parameter"), "bad_request", False),
        (failing(404, "The model does not exist", "model_not_found"), "bad_request", False),
        (failing(429, "Slow down", "rate_limit_exceeded"), "rate_limit", True),
        (failing(429, "No credit", "insufficient_quota"), "rate_limit", False),
        (failing(500, "oops"), "server", True),
        (failing(503, "busy"), "overloaded", True),
    ],
)
async def test_every_failure_has_a_reason(
    wire: Wire, reply: Reply, reason: str, retryable: bool
) -> None:
    wire.will(reply, reply, reply)

    with pytest.raises(ModelError) as raised:
        await model(wire).respond(ask())

    assert (raised.value.reason, raised.value.retryable) == (reason, retryable)
    assert raised.value.status == reply.status
    assert f" [{wire.url}]" in str(raised.value)
    assert len(wire.requests) == (3 if retryable else 1)
    assert "sk-abc" not in str(raised.value)


async def test_a_failure_that_passes_is_tried_again(wire: Wire) -> None:
    wire.will(failing(503), failing(429, **{"retry-after": "0"}), response(said("At last.")))

    reply = await model(wire).respond(ask())

    assert reply.text == "At last."


async def test_a_wait_that_is_too_long_is_left_to_the_caller(wire: Wire) -> None:
    wire.will(failing(429, **{"retry-after": "3600"}))

    with pytest.raises(ModelError) as raised:
        await model(wire).respond(ask())

    assert raised.value.retry_after == 3600
    assert len(wire.requests) == 1


async def test_a_request_has_a_time_limit(wire: Wire) -> None:
    wire.will(sse(_piece("response.output_text.delta", 0, "Once"), hang=True))

    with pytest.raises(ModelError, match=r"0\.2 seconds") as raised:
        await model(wire).respond(ask(settings=ModelSettings(timeout=0.2)), lambda delta: None)

    assert raised.value.reason == "timeout"


async def test_a_server_that_is_not_there_is_a_connection_error(wire: Wire) -> None:
    away = OpenAIModel("gpt-5", api_key="k", base_url="http://127.0.0.1:9", retries=QUICK)

    with pytest.raises(ModelError, match=r"cannot reach http://127\.0\.0\.1:9: ") as raised:
        await away.respond(ask())

    assert raised.value.reason == "connection"


async def test_tools_are_converted_once_and_so_are_messages(wire: Wire) -> None:
    wire.will(response(said("a")), response(said("b")))
    openai = model(wire)
    request = ask(tools=(WEATHER,))

    await openai.respond(request)
    await openai.respond(request)

    assert openai._functions(request.tools) is openai._functions(request.tools)
    assert wire.bodies[0] == wire.bodies[1]


def test_one_model_works_in_one_event_loop_after_another(free_port: int) -> None:
    openai = OpenAIModel("gpt-5", api_key="k", base_url=f"http://127.0.0.1:{free_port}")

    async def one_loop() -> str:
        async with running(free_port) as wire:
            wire.will(response(said("Hi.")))
            return (await openai.respond(ask())).text

    assert [anyio.run(one_loop) for _ in range(2)] == ["Hi.", "Hi."]


def test_parallel_calls_keep_their_order() -> None:
    from toolwright.models._openai.responses_wire import read_response

    calls = [{**CALLED, "call_id": f"call_{i}"} for i in range(3)]
    parts = read_response(response(*calls), "openai:x").parts
    assert [part.call_id for part in parts if isinstance(part, ToolCall)] == [
        "call_0",
        "call_1",
        "call_2",
    ]
