"""What the providers themselves send beyond text and calls is read, kept and sent back."""

import base64
import warnings
from typing import Any

import anthropic
import openai
import pytest
from tests.models.requests import WEATHER, ask, history, results, texts
from tests.models.wire import Reply, Wire, sse

from toolwright import Agent
from toolwright.errors import ModelError
from toolwright.messages import BlobPart, ServerToolPart, TextPart, ToolResult, user_message
from toolwright.models import (
    AnthropicModel,
    Delta,
    GeminiModel,
    ModelSettings,
    OpenAIChatModel,
    OpenAIModel,
    Retries,
)
from toolwright.models._anthropic import model as anthropic_model
from toolwright.models._dialects import gemini_schema
from toolwright.models._openai import responses

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("error::UserWarning")]
ONCE = Retries(attempts=1)


def claude(wire: Wire) -> AnthropicModel:
    return AnthropicModel("claude-5", base_url=wire.url, api_key="k", retries=ONCE)


def gpt(wire: Wire) -> OpenAIModel:
    return OpenAIModel("gpt-5", base_url=wire.url, api_key="k", retries=ONCE)


def gemini(wire: Wire) -> GeminiModel:
    return GeminiModel("gemini-3", base_url=wire.url, api_key="k", vertex=False, retries=ONCE)


# -- Anthropic ------------------------------------------------------------------------------


def message(*content: Any, stop: str = "end_turn", **usage: Any) -> dict[str, Any]:
    return {
        "id": "m", "type": "message", "role": "assistant", "model": "c", "content": list(content),
        "stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 1, **usage},
    }  # fmt: skip


def blocks(*all_blocks: tuple[Any, list[Any]], stop: str = "end_turn", **usage: Any) -> list[Any]:
    """The events of a stream, from its blocks and the deltas of each."""
    events: list[Any] = [{"type": "message_start", "message": message(stop="")}]
    for index, (block, deltas) in enumerate(all_blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage})
    return [*events, {"type": "message_stop"}]


async def sent_back(wire: Wire, model: Any, reply: Any, last: Any) -> Any:
    """The body of the request that follows `reply`."""
    wire.will(last)
    await model.respond(history(user_message("Hi"), reply, user_message("And?")))
    return wire.bodies[-1]


async def test_a_streamed_call_to_an_mcp_server_is_kept_with_its_input(wire: Wire) -> None:
    use = {"type": "mcp_tool_use", "id": "u1", "name": "ask", "server_name": "wiki", "input": {}}
    done = {"type": "mcp_tool_result", "tool_use_id": "u1", "content": [], "is_error": False}
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"q"', ": 1}")]
    wire.will(
        sse(
            *blocks(
                (use, pieces),
                (done, []),
                ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "Hi"}]),
            )
        )
    )

    reply = await claude(wire).respond(ask(), lambda delta: None)

    body = await sent_back(wire, claude(wire), reply, message())
    assert reply.text == "Hi"
    assert body["messages"][1]["content"] == [
        {**use, "input": {"q": 1}},
        done,
        {"type": "text", "text": "Hi"},
    ]


async def test_a_compaction_is_counted_and_its_summary_sent_back(wire: Wire) -> None:
    compaction = {"type": "compaction", "content": None}
    pieces = [
        {"type": "compaction_delta", "content": "All ", "encrypted_content": None},
        {"type": "compaction_delta", "content": "said.", "encrypted_content": "x"},
    ]
    iterations = [
        {
            "type": "compaction",
            "input_tokens": 50_000,
            "output_tokens": 120,
            "cache_read_input_tokens": 5,
        },
        {"type": "message", "input_tokens": 220, "output_tokens": 8},
    ]
    wire.will(
        sse(*blocks((compaction, pieces), input_tokens=220, output_tokens=8, iterations=iterations))
    )

    reply = await claude(wire).respond(ask(), lambda delta: None)

    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.requests) == (
        50_225,
        128,
        5,
        1,
    )
    body = await sent_back(wire, claude(wire), reply, message())
    assert body["messages"][1]["content"] == [
        {"type": "compaction", "content": "All said.", "encrypted_content": "x"}
    ]


@pytest.mark.parametrize("stop", ["pause_turn", "compaction"])
async def test_a_reply_that_pauses_is_continued(wire: Wire, stop: str) -> None:
    first = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    wire.will(message(first, stop=stop), message({"type": "text", "text": "Found."}))

    reply = await claude(wire).respond(ask())

    assert (reply.text, reply.usage.requests) == ("Found.", 2)
    assert wire.bodies[1]["messages"][1]["content"] == [first]


async def test_a_reply_that_only_pauses_is_given_up(wire: Wire, monkeypatch: Any) -> None:
    monkeypatch.setattr(anthropic_model, "_MOST_PAUSES", 3)
    wire.will(*[message({"type": "text", "text": "…"}, stop="pause_turn")] * 4)

    with pytest.raises(ModelError, match="paused 3 times without an end"):
        await claude(wire).respond(ask())


async def test_a_block_from_the_future_is_kept_without_a_warning(wire: Wire) -> None:
    new = {"type": "hologram", "id": "h", "frames": [1]}
    delta = {"type": "hologram_delta", "frames": [2], "title": "x", "depth": 3}
    wire.will(message(new), sse(*blocks((new, [delta]))))

    whole = await claude(wire).respond(ask())
    streamed = await claude(wire).respond(ask(), lambda delta: None)

    assert [part.payload for part in whole.parts if isinstance(part, ServerToolPart)] == [new]
    body = await sent_back(wire, claude(wire), streamed, message())
    assert body["messages"][1]["content"] == [{**new, "frames": [1, 2], "title": "x", "depth": 3}]


async def test_a_servers_tool_that_was_cut_off_does_not_fail_the_turn(wire: Wire) -> None:
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    cut = [{"type": "input_json_delta", "partial_json": '{"query": "we'}]
    wire.will(sse(*blocks((use, cut), stop="max_tokens")))

    reply = await claude(wire).respond(ask(), lambda delta: None)

    assert (reply.finish_reason, len(reply.parts)) == ("length", 1)


# -- OpenAI's Responses -----------------------------------------------------------------------


def response(*output: Any, status: str = "completed") -> dict[str, Any]:
    return {"id": "r1", "object": "response", "status": status, "output": list(output)}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": text}]}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_response_in_the_background_is_awaited(
    wire: Wire, monkeypatch: Any, streamed: bool
) -> None:
    monkeypatch.setattr(responses, "_FIRST_LOOK", 0.0)
    wire.will(response(status="queued"), response(status="in_progress"), response(said("Done.")))
    settings = ModelSettings(extra={"background": True, "store": True})
    deltas: list[Delta] = []

    reply = await gpt(wire).respond(ask(settings=settings), deltas.append if streamed else None)

    assert (reply.text, texts(deltas)) == ("Done.", "Done." if streamed else "")
    assert [request.path for request in wire.requests] == [
        "/responses",
        "/responses/r1",
        "/responses/r1",
    ]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_look_that_fails_is_repeated_and_the_response_is_not_started_again(
    wire: Wire, monkeypatch: Any, streamed: bool
) -> None:
    monkeypatch.setattr(responses, "_FIRST_LOOK", 0.0)
    busy = Reply(body={"error": {"message": "busy"}}, status=503)
    looks = [busy, busy, response(status="queued"), busy, busy, response(said("Done."))]
    wire.will(response(status="queued"), *looks)
    model = OpenAIModel(
        "gpt-5", base_url=wire.url, api_key="k", retries=Retries(attempts=3, first_wait=0.0)
    )

    reply = await model.respond(ask(), (lambda delta: None) if streamed else None)

    assert reply.text == "Done."
    paths = [request.path for request in wire.requests]
    assert paths == ["/responses", *["/responses/r1"] * len(looks)]


async def test_looks_that_keep_failing_end_the_wait(wire: Wire, monkeypatch: Any) -> None:
    monkeypatch.setattr(responses, "_FIRST_LOOK", 0.0)
    wire.will(response(status="queued"), Reply(body={"error": {"message": "busy"}}, status=503))

    with pytest.raises(ModelError, match="busy"):
        await gpt(wire).respond(ask())

    assert [request.path for request in wire.requests] == ["/responses", "/responses/r1"]


async def test_a_response_that_stays_in_the_background_is_a_timeout(
    wire: Wire, monkeypatch: Any
) -> None:
    monkeypatch.setattr(responses, "_FIRST_LOOK", 61.0)
    wire.will(response(status="queued"))

    with pytest.raises(ModelError, match=r"not finished in the background within 60") as caught:
        await gpt(wire).respond(ask(settings=ModelSettings(timeout=60)))

    assert (caught.value.reason, len(wire.requests)) == ("timeout", 1)


async def test_a_call_without_an_id_or_with_an_object_is_one(wire: Wire) -> None:
    wire.will(
        response(
            {"type": "function_call", "id": "fc", "name": "f", "arguments": {"a": 1}},
            {"type": "function_call", "name": "f"},
        )
    )

    first, second = (await gpt(wire).respond(ask())).calls

    assert (first.call_id, first.arguments) == ("fc", '{"a": 1}')
    assert (bool(second.call_id), second.arguments) == (True, "{}")


async def test_a_usage_of_null_takes_nothing_away(wire: Wire) -> None:
    for start, end in (({"input_tokens": 3}, None), (None, {"input_tokens": 3})):
        wire.will(
            sse(
                {"type": "message_start", "message": {**message(), "usage": start}},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end},
                {"type": "message_stop"},
            )
        )

        reply = await claude(wire).respond(ask(), lambda delta: None)

        assert reply.usage.input_tokens == 3


async def test_images_of_the_interpreter_are_parts_and_go_back_once(wire: Wire) -> None:
    data = base64.b64encode(b"png").decode()
    outputs = [
        {"type": "logs", "logs": "ok"},
        {"type": "image", "url": f"data:image/png;base64,{data}"},
        {"type": "image", "url": "https://files.example/plot.png"},
    ]
    call = {"type": "code_interpreter_call", "id": "ci", "code": "plot()", "outputs": outputs}
    wire.will(response(call, said("See.")))

    reply = await gpt(wire).respond(ask())

    assert [part for part in reply.parts if isinstance(part, BlobPart)] == [
        BlobPart(media_type="image/png", data=b"png", name="ci"),
        BlobPart(media_type="image/png", url="https://files.example/plot.png", name="ci"),
    ]
    body = await sent_back(wire, gpt(wire), reply, response(said("Bye.")))
    assert [item["type"] for item in body["input"]] == [
        "message",
        "code_interpreter_call",
        "message",
        "message",
    ]


async def test_a_namespace_and_other_additions_go_back_with_the_call(wire: Wire) -> None:
    call = {
        "type": "function_call", "id": "fc", "call_id": "c1", "name": "get_weather", "arguments": "{}",
        "status": "completed", "namespace": "weather", "caller": {"type": "direct"}, "new": None,
    }  # fmt: skip
    wire.will(response(call))

    reply = await gpt(wire).respond(ask(tools=(WEATHER,)))

    body = await sent_back(wire, gpt(wire), reply, response(said("Bye.")))
    kept = {key: value for key, value in call.items() if key not in ("status", "new")}
    assert body["input"][1] == kept


async def test_a_search_for_tools_that_is_left_to_us_is_a_call(wire: Wire) -> None:
    item = {
        "type": "tool_search_call", "id": "ts", "call_id": "c1", "execution": "client",
        "status": "completed", "arguments": {"goal": "weather"},
    }  # fmt: skip
    wire.will(response(item), response(said("Ok.")), response(said("Ok.")))

    reply = await gpt(wire).respond(ask())

    [call] = reply.calls
    assert (call.name, call.arguments, reply.finish_reason) == (
        "tool_search",
        '{"goal": "weather"}',
        "calls",
    )
    for text, tools in (
        ('[{"type": "function", "name": "f"}]', [{"type": "function", "name": "f"}]),
        ("none", []),
    ):
        result = ToolResult(
            call_id="c1", name="tool_search", status="ok", content=(TextPart(text),)
        )
        await gpt(wire).respond(history(user_message("Hi"), reply, results(result)))
        assert wire.bodies[-1]["input"][1:] == [
            item,
            {
                "type": "tool_search_output", "call_id": "c1", "tools": tools,
                "execution": "client", "status": "completed",
            },
        ]  # fmt: skip


# -- Gemini -----------------------------------------------------------------------------------


def content(*parts: Any, finish: str = "STOP") -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}
    return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1}}


async def test_a_tool_that_was_not_offered_goes_to_the_loop_like_any_other(wire: Wire) -> None:
    unknown = {"functionCall": {"name": "get_wether", "args": {"city": "Paris"}}}
    wire.will(content(unknown, finish="UNEXPECTED_TOOL_CALL"), content({"text": "Sorry."}))

    result = await Agent(name="a", model=gemini(wire)).run("Hi")

    assert result.text == "Sorry."
    answer = wire.bodies[1]["contents"][2]["parts"][0]["functionResponse"]
    assert (answer["name"], "error" in answer["response"]) == ("get_wether", True)


async def test_an_unexpected_call_without_a_call_is_asked_for_again(wire: Wire) -> None:
    wire.will(content(finish="UNEXPECTED_TOOL_CALL"))

    with pytest.raises(ModelError, match="UNEXPECTED_TOOL_CALL") as caught:
        await gemini(wire).respond(ask())

    assert caught.value.retryable


@pytest.mark.parametrize("finish", ["MODEL_ARMOR", "SAFETY", "PROHIBITED_CONTENT", "LANGUAGE"])
async def test_what_a_guard_has_stopped_is_refused(wire: Wire, finish: str) -> None:
    wire.will(content({"text": "Half"}, finish=finish))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the filter that the module sets is pytest's to reset
        reply = await gemini(wire).respond(ask())
    assert reply.finish_reason == "refused"


async def test_a_part_from_the_future_is_left_out_and_nothing_empty_sent_back(wire: Wire) -> None:
    wire.will(content({"hologram": {"frames": 1}}, {"text": "Hi"}))

    reply = await gemini(wire).respond(ask())

    body = await sent_back(wire, gemini(wire), reply, content({"text": "Bye"}))
    assert body["contents"][1]["parts"] == [{"text": "Hi"}]


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        (
            {"type": ["string", "null"], "enum": ["a", None]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
        ({"enum": ["a", None]}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
        ({"enum": [None]}, {"type": "null"}),
        (
            {"type": "boolean", "const": True},
            {"type": "boolean", "description": "allowed values: [true]"},
        ),
        (
            {"type": "array", "enum": [["a"], ["b"]], "items": {"type": "string"}},
            {
                "type": "array",
                "items": {"type": "string"},
                "description": 'allowed values: [["a"], ["b"]]',
            },
        ),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}),
        (
            {"type": ["string", "null"], "anyOf": [{"type": "string"}, {"type": "null"}]},
            {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "description": 'types: ["string", "null"]',
            },
        ),
    ],
)
def test_enums_are_texts_and_numbers_in_geminis_dialect(schema: Any, made: Any) -> None:
    assert gemini_schema(schema) == made


async def test_fields_that_are_not_given_are_not_sent(wire: Wire) -> None:
    extra = {"user": openai.NOT_GIVEN, "a": openai.omit, "b": anthropic.NOT_GIVEN, "kept": None}
    wire.will({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})
    model = OpenAIChatModel("m", provider="own", base_url=wire.url, retries=ONCE)

    await model.respond(ask(settings=ModelSettings(extra=extra)))

    assert wire.bodies[0].keys() == {"model", "messages", "kept"}
