"""The Anthropic adapter: the official SDK against a server that speaks its wire format."""

from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from tests.models.requests import WEATHER, answered, ask, called, history, results, texts
from tests.models.wire import Reply, Wire, sse

from toolwright.errors import ModelError, UsageError
from toolwright.messages import (
    BlobPart,
    ModelMessage,
    ReasoningPart,
    ServerToolPart,
    TextPart,
    ToolCall,
    ToolResult,
    UserMessage,
    user_message,
)
from toolwright.models import (
    AnthropicModel,
    Delta,
    ModelSettings,
    Retries,
    code_execution,
    enterprise_web_search,
    google_search,
    url_context,
)

pytestmark = pytest.mark.anyio


def model(wire: Wire, name: str = "claude-sonnet-4-6") -> AnthropicModel:
    return AnthropicModel(name, api_key="k", base_url=wire.url, retries=Retries(first_wait=0.0))


def message(*content: Any, stop_reason: str = "end_turn", **changes: Any) -> dict[str, Any]:
    """A reply as the API writes it."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 10,
            "cache_read_input_tokens": 80,
            "cache_creation_input_tokens": 10,
            "output_tokens": 20,
            "output_tokens_details": {"thinking_tokens": 8},
        },
        **changes,
    }


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


THOUGHT = {"type": "thinking", "thinking": "Rain is likely.", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "aGlkZGVu"}
CALLED = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}
SEARCHED = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "oslo"},
}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


async def test_a_plain_question_is_sent_with_cache_marks_and_its_answer_read(wire: Wire) -> None:
    wire.will(message(said("Hi there.")))

    reply = await model(wire).respond(ask("Hello", instructions="Be brief.", tools=(WEATHER,)))

    assert (reply.text, reply.finish_reason) == ("Hi there.", "stop")
    assert reply.model == "anthropic:claude-sonnet-4-6"
    assert wire.requests[0].headers["authorization"] == "Bearer k"
    assert wire.bodies == snapshot(
        [
            {
                "max_tokens": 32000,
                "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
                "model": "claude-sonnet-4-6",
                "cache_control": {"type": "ephemeral"},
                "system": [
                    {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
                ],
                "tools": [
                    {
                        "name": "get_weather",
                        "description": "The weather in a city.",
                        "input_schema": {
                            "type": "object",
                            "properties": {
                                "city": {"type": "string", "description": "Which city."}
                            },
                            "required": ["city"],
                        },
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            }
        ]
    )


async def test_cache_marks_can_be_left_out(wire: Wire) -> None:
    wire.will(message(said("Hi.")))

    await model(wire).respond(ask(tools=(WEATHER,), settings=ModelSettings(cache_prompt=False)))

    assert "cache_control" not in str(wire.bodies)


async def test_cached_tokens_are_part_of_the_input_and_have_their_own_price(wire: Wire) -> None:
    wire.will(message(said("Hi.")))

    usage = (await model(wire).respond(ask())).usage

    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens) == (100, 80, 10)
    assert (usage.output_tokens, usage.reasoning_tokens) == (20, 8)
    assert usage.cost == pytest.approx((10 * 3 + 80 * 0.3 + 10 * 3.75 + 20 * 15) / 1e6)


async def test_what_was_written_to_the_cache_for_an_hour_has_its_own_price(wire: Wire) -> None:
    lasting = {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 8}
    used = {"cache_creation_input_tokens": 10, "cache_creation": lasting}
    wire.will(message(said("Hi."), usage=used))

    usage = (await model(wire).respond(ask())).usage

    assert usage.cache_write_tokens == 10
    assert usage.cost == pytest.approx((2 * 3.75 + 8 * 6) / 1e6)


async def test_thinking_is_kept_and_sent_back_with_its_signature(wire: Wire) -> None:
    wire.will(
        message(THOUGHT, HIDDEN, said("Let me look."), CALLED, stop_reason="tool_use"),
        message(said("Rain.")),
    )

    first = await model(wire).respond(ask("Umbrella?", tools=(WEATHER,)))
    result = answered("Rain", call_id="toolu_1")
    await model(wire).respond(history(user_message("Umbrella?"), first, result))

    assert first.finish_reason == "calls"
    assert first.parts == snapshot(
        (
            ReasoningPart(text="Rain is likely.", signature="c2ln", provider="anthropic"),
            ReasoningPart(
                text="", signature="aGlkZGVu", provider="anthropic", meta={"redacted": True}
            ),
            TextPart(text="Let me look."),
            ToolCall(call_id="toolu_1", name="get_weather", arguments='{"city": "Oslo"}'),
        )
    )
    assert wire.bodies[1]["messages"] == snapshot(
        [
            {"role": "user", "content": [{"type": "text", "text": "Umbrella?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Rain is likely.", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "aGlkZGVu"},
                    {"type": "text", "text": "Let me look."},
                    {
                        "type": "tool_use",
                        "id": "toolu_1",
                        "name": "get_weather",
                        "input": {"city": "Oslo"},
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": [{"type": "text", "text": "Rain"}],
                    }
                ],
            },
        ]
    )


async def test_another_providers_turns_are_told_in_plain_words(wire: Wire) -> None:
    wire.will(message(said("Hi.")))
    foreign = ModelMessage(
        parts=(
            ReasoningPart(text="hm", signature="x", provider="openai"),
            TextPart(""),
            ToolCall(call_id="call:1/2", name="get_weather", arguments="not json"),
        )
    )
    failed = ToolResult(
        call_id="call:1/2", name="get_weather", status="error", content=(TextPart("bad JSON"),)
    )

    await model(wire).respond(history(user_message("a"), foreign, results(failed)))

    assert wire.bodies[0]["messages"][1:] == snapshot(
        [
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "call_1_2",
                        "name": "get_weather",
                        "input": {"invalid": "not json"},
                    }
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "call_1_2",
                        "content": [{"type": "text", "text": "bad JSON"}],
                        "is_error": True,
                    }
                ],
            },
        ]
    )


async def test_images_and_documents_go_in_and_come_back_from_tools(wire: Wire) -> None:
    wire.will(message(said("A cat.")))
    picture = BlobPart(media_type="image/png", data=b"png")
    paper = BlobPart(media_type="application/pdf", data=b"pdf", name="a.pdf")
    linked = BlobPart(media_type="image/jpeg", url="https://example.com/cat.jpg")
    table = BlobPart(media_type="text/csv", data=b"a,b", name="t.csv")
    sound = BlobPart(media_type="audio/mpeg", data=b"mp3")

    await model(wire).respond(
        history(
            UserMessage((TextPart("What?"), picture, paper, linked, table, sound)),
            called("get_weather", "{}"),
            answered("Here:", picture),
        )
    )

    assert wire.bodies[0]["messages"] == snapshot(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What?"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"},
                    },
                    {
                        "type": "document",
                        "source": {
                            "type": "base64",
                            "media_type": "application/pdf",
                            "data": "cGRm",
                        },
                        "title": "a.pdf",
                    },
                    {
                        "type": "image",
                        "source": {"type": "url", "url": "https://example.com/cat.jpg"},
                    },
                    {
                        "type": "text",
                        "text": "t.csv:\na,b",
                    },
                    {
                        "type": "text",
                        "text": "[audio/mpeg file, 3 bytes: this model cannot be shown it]",
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {}}
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "call_1",
                        "content": [
                            {"type": "text", "text": "Here:"},
                            {
                                "type": "image",
                                "source": {
                                    "type": "base64",
                                    "media_type": "image/png",
                                    "data": "cG5n",
                                },
                            },
                        ],
                    }
                ],
            },
        ]
    )


async def test_settings_reach_the_request(wire: Wire) -> None:
    wire.will(message(said("Hi.")), message(said("Hi.")))
    settings = ModelSettings(
        max_tokens=50_000,
        stop=("END",),
        reasoning="low",
        tool_choice="required",
        parallel_tool_calls=False,
        cache_prompt=False,
        extra={"metadata": {"user_id": "ada"}},
    )

    await model(wire).respond(ask(tools=(WEATHER,), settings=settings))
    await model(wire, "claude-haiku-4-5").respond(ask(settings=settings))

    for body in wire.bodies:
        body.pop("messages")
    assert wire.bodies == snapshot(
        [
            {
                "max_tokens": 50000,
                "model": "claude-sonnet-4-6",
                "metadata": {"user_id": "ada"},
                "output_config": {"effort": "low"},
                "stop_sequences": ["END"],
                "thinking": {"type": "adaptive", "display": "summarized"},
                "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
                "tools": [
                    {
                        "name": "get_weather",
                        "description": "The weather in a city.",
                        "input_schema": {
                            "type": "object",
                            "properties": {
                                "city": {"type": "string", "description": "Which city."}
                            },
                            "required": ["city"],
                        },
                    }
                ],
            },
            {
                "max_tokens": 50000,
                "model": "claude-haiku-4-5",
                "metadata": {"user_id": "ada"},
                "stop_sequences": ["END"],
                "thinking": {"type": "enabled", "budget_tokens": 2048},
            },
        ]
    )


@pytest.mark.parametrize(
    ("name", "reasoning", "sent"),
    [
        ("claude-haiku-4-5", "high", {"thinking": {"type": "enabled", "budget_tokens": 16_000}}),
        ("claude-haiku-4-5", "none", {"thinking": {"type": "disabled"}, "temperature": 0.5}),
        ("claude-opus-5", "none", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-5-5", "none", {"thinking": {"type": "between_tools"}}),
        ("claude-opus-5-5", "none", {"output_config": {"effort": "low"}}),
        ("claude-opus-5-5", None, {}),
        ("claude-sonnet-4-6", None, {"temperature": 0.5}),
    ],
)
async def test_models_are_only_told_what_they_accept(
    wire: Wire, name: str, reasoning: Any, sent: dict[str, Any]
) -> None:
    wire.will(message(said("Hi.")))

    await model(wire, name).respond(
        ask(settings=ModelSettings(reasoning=reasoning, temperature=0.5, cache_prompt=False))
    )

    known = {"model", "max_tokens", "messages"}
    assert {key: value for key, value in wire.bodies[0].items() if key not in known} == sent


async def test_a_call_is_not_demanded_of_a_model_that_refuses_that(wire: Wire) -> None:
    wire.will(message(said("Hi.")))

    await model(wire, "claude-opus-5-5").respond(
        ask(tools=(WEATHER,), settings=ModelSettings(tool_choice="required"))
    )

    assert "tool_choice" not in wire.bodies[0]


async def test_older_models_are_asked_for_structured_output_in_words(wire: Wire) -> None:
    wire.will(message(said("{}")))

    await model(wire, "claude-3-7-sonnet-latest").respond(ask(output_schema={"type": "object"}))

    assert "fits this JSON Schema" in wire.bodies[0]["system"][0]["text"]
    assert "output_config" not in wire.bodies[0]


async def test_structured_output_is_asked_for_with_a_closed_schema(wire: Wire) -> None:
    wire.will(message(said("{}")))
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}

    await model(wire).respond(ask(output_schema=schema))

    assert wire.bodies[0]["output_config"] == snapshot(
        {
            "format": {
                "type": "json_schema",
                "schema": {
                    "type": "object",
                    "properties": {"n": {"type": "integer", "description": "{minimum: 1}"}},
                    "additionalProperties": False,
                },
            }
        }
    )


async def test_server_tools_have_their_anthropic_names_and_their_blocks_go_back(
    wire: Wire,
) -> None:
    cited = {**said("It rains."), "citations": [_citation()]}
    wire.will(message(SEARCHED, FOUND, cited), message(said("Yes.")))
    tools = (google_search, url_context, code_execution)

    first = await model(wire).respond(ask("Look", server_tools=tools))
    await model(wire).respond(history(user_message("Look"), first, user_message("Sure?")))

    assert [tool["type"] for tool in wire.bodies[0]["tools"]] == snapshot(
        ["web_search_20250305", "web_fetch_20250910", "code_execution_20250825"]
    )
    assert first.parts[0] == ServerToolPart(
        provider="anthropic", name="web_search", payload=SEARCHED
    )
    assert wire.bodies[1]["messages"][1]["content"] == [SEARCHED, FOUND, cited]


def _citation() -> dict[str, Any]:
    return {
        "type": "web_search_result_location",
        "cited_text": "rain",
        "encrypted_index": "ZW5j",
        "title": "Oslo",
        "url": "https://example.com",
    }


async def test_a_paused_turn_is_continued_until_it_is_whole(wire: Wire) -> None:
    wire.will(
        message(SEARCHED, FOUND, stop_reason="pause_turn"),
        message(said("It rains."), stop_reason="end_turn"),
    )

    reply = await model(wire).respond(ask("Look", server_tools=(google_search,)))

    assert [part.kind for part in reply.parts] == ["server_tool", "server_tool", "text"]
    assert reply.usage.requests == 2
    assert wire.bodies[1]["messages"][1] == {"role": "assistant", "content": [SEARCHED, FOUND]}


async def test_a_server_tool_that_anthropic_lacks_is_a_usage_error(wire: Wire) -> None:
    with pytest.raises(UsageError, match=r"nothing like .*'enterprise_web_search'"):
        await model(wire).respond(ask(server_tools=(enterprise_web_search,)))


# -- streaming ------------------------------------------------------------------------------------


def streamed(*blocks: tuple[dict[str, Any], list[dict[str, Any]]], reason: str) -> list[Any]:
    """The events of a stream: for each block its beginning and its deltas."""
    events: list[Any] = [{"type": "message_start", "message": message(stop_reason="")}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": reason, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 33}})
    return [*events, {"type": "message_stop"}]


async def test_pieces_are_handed_on_and_the_message_is_whole(wire: Wire) -> None:
    oslo, rome = ({**CALLED, "id": f"toolu_{i}", "input": {}} for i in (1, 2))
    wire.will(
        sse(
            *streamed(
                (
                    {"type": "thinking", "thinking": "", "signature": ""},
                    [
                        {"type": "thinking_delta", "thinking": "Rain"},
                        {"type": "signature_delta", "signature": "c2ln"},
                    ],
                ),
                (said(""), [{"type": "text_delta", "text": t} for t in ("Let me ", "look.")]),
                (oslo, [_json('{"ci'), _json('ty": "Oslo"}')]),
                (rome, [_json("")]),
                reason="tool_use",
            )
        )
    )
    deltas: list[Delta] = []

    reply = await model(wire).respond(ask(tools=(WEATHER,)), deltas.append)

    assert texts(deltas) == reply.text == "Let me look."
    assert texts(deltas, "reasoning") == "Rain"
    assert [(d.index, d.name, d.text) for d in deltas if d.kind == "call"][:3] == [
        (0, "get_weather", ""),
        (0, "", '{"ci'),
        (0, "", 'ty": "Oslo"}'),
    ]
    assert [call.arguments for call in reply.calls] == ['{"city": "Oslo"}', "{}"]
    assert reply.parts[0] == ReasoningPart(text="Rain", signature="c2ln", provider="anthropic")
    assert (reply.finish_reason, reply.usage.output_tokens) == ("calls", 33)


def _json(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


async def test_cancelling_mid_stream_closes_the_connection(wire: Wire) -> None:
    events = streamed((said(""), [{"type": "text_delta", "text": "Once"}]), reason="end_turn")
    wire.will(sse(*events[:3], hang=True))
    heard = anyio.Event()

    async with anyio.create_task_group() as group:
        group.start_soon(model(wire).respond, ask(), lambda delta: heard.set())
        with anyio.fail_after(30):
            await heard.wait()
            group.cancel_scope.cancel()

    with anyio.fail_after(30):
        await wire.disconnected.wait()


async def test_an_error_in_the_stream_is_tried_again_when_nothing_was_heard(wire: Wire) -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    whole = streamed((said(""), [{"type": "text_delta", "text": "Hi."}]), reason="end_turn")
    wire.will(sse(overloaded), sse(*whole))
    deltas: list[Delta] = []

    reply = await model(wire).respond(ask(), deltas.append)

    assert reply.text == texts(deltas) == "Hi."


async def test_a_stream_that_breaks_off_is_a_connection_error(wire: Wire) -> None:
    events = streamed((said(""), [{"type": "text_delta", "text": "Once"}]), reason="end_turn")
    wire.will(sse(*events[:3]))

    with pytest.raises(ModelError, match="ended before") as raised:
        await model(wire).respond(ask(), lambda delta: None)

    assert raised.value.reason == "connection"


# -- errors ---------------------------------------------------------------------------------------


def failing(status: int, kind: str, text: str = "no", **headers: str) -> Reply:
    body = {"type": "error", "error": {"type": kind, "message": text}}
    return Reply(status=status, body=body, headers=headers)


@pytest.mark.parametrize(
    ("reply", "reason", "attempts"),
    [
        (failing(401, "authentication_error", "invalid x-api-key"), "auth", 1),
        (failing(403, "permission_error"), "auth", 1),
        (failing(400, "invalid_request_error", "prompt is too long: 9 > 8"), "context_too_long", 1),
        (failing(400, "invalid_request_error", "max_tokens: too big"), "bad_request", 1),
        (failing(413, "request_too_large"), "context_too_long", 1),
        (failing(429, "rate_limit_error", **{"retry-after": "0"}), "rate_limit", 3),
        (failing(429, "rate_limit_error", **{"x-should-retry": "false"}), "rate_limit", 1),
        (failing(500, "api_error"), "server", 3),
        (failing(529, "overloaded_error"), "overloaded", 3),
    ],
)
async def test_every_failure_has_a_reason(
    wire: Wire, reply: Reply, reason: str, attempts: int
) -> None:
    wire.will(reply, reply, reply)

    with pytest.raises(ModelError) as raised:
        await model(wire).respond(ask())

    assert raised.value.reason == reason
    assert f" [{wire.url}]" in str(raised.value)
    assert len(wire.requests) == attempts


async def test_a_refusal_is_a_finish_reason(wire: Wire) -> None:
    wire.will(message(said("No."), stop_reason="refusal"))

    assert (await model(wire).respond(ask())).finish_reason == "refused"


async def test_a_server_that_is_not_there_is_named_without_the_password_in_its_address() -> None:
    away = AnthropicModel(
        "claude-sonnet-4-5",
        api_key="k",
        base_url="http://me:hunter2@127.0.0.1:9/v1?key=hunter2",
        retries=Retries(attempts=1),
    )
    with pytest.raises(ModelError, match=r"cannot reach http://127\.0\.0\.1:9: ") as raised:
        await away.respond(ask())
    assert raised.value.reason == "connection"
    assert "hunter2" not in str(raised.value)
