"""The pieces that a listener is told, joined, are the message, whatever a server sends in pieces."""

from typing import Any

import pytest
from tests.models.requests import ask, history, texts
from tests.models.test_hostile_servers import OURS, each_of_ours
from tests.models.wire import Reply, Wire, sse

from toolwright.messages import ModelMessage, ReasoningPart, user_message
from toolwright.models import Delta

pytestmark = pytest.mark.anyio
HALVES = ("a\ud83d", "\ude00b")
WHOLE = "a\U0001f600b"
CALL = {"name": "f", "arguments": '{"a": 1}'}


async def told(wire: Wire, kind: str, reply: Reply) -> tuple[ModelMessage, list[Delta]]:
    wire.will(reply)
    deltas: list[Delta] = []
    message = await OURS[kind](wire.url).respond(ask(), deltas.append)
    reasoning = [part.text for part in message.parts if isinstance(part, ReasoningPart)]
    assert texts(deltas) == message.text
    assert texts(deltas, "reasoning") == "".join(reasoning)
    for index, call in enumerate(message.calls):
        own = [delta for delta in deltas if delta.kind == "call" and delta.index == index]
        assert [delta.name for delta in own if delta.name] == [call.name]
        assert texts(own, "call") == call.arguments
    return message, deltas


def block(kind: str, start: dict[str, Any], *deltas: Any) -> list[Any]:
    """A stream of Anthropic's with one block."""
    return [
        {"type": "message_start", "message": {"type": "message", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": kind, **start}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]


def completed(*output: Any) -> dict[str, Any]:
    response = {"id": "r", "object": "response", "status": "completed", "output": list(output)}
    return {"type": "response.completed", "response": response}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


def in_pieces(kind: str, *pieces: str) -> Reply:
    match kind:
        case "chat":
            choices = [{"delta": {"content": one, "reasoning": one}} for one in pieces]
            last: dict[str, Any] = {"delta": {}, "finish_reason": "stop"}
            return sse(*({"choices": [choice]} for choice in [*choices, last]))
        case "responses":
            deltas = [{"type": "response.output_text.delta", "delta": one} for one in pieces]
            return sse(*deltas, completed(said("".join(pieces))))
        case "anthropic":
            texts = [{"type": "text_delta", "text": one} for one in pieces]
            return sse(*block("text", {"text": ""}, *texts))
        case _:
            parts = [{"content": {"parts": [{"text": one}]}} for one in pieces]
            return sse(*({"candidates": [one]} for one in [*parts, {"finishReason": "STOP"}]))


@each_of_ours
async def test_a_character_that_comes_in_two_pieces_is_one(wire: Wire, kind: str) -> None:
    message, deltas = await told(wire, kind, in_pieces(kind, *HALVES))

    assert message.text == WHOLE
    for delta in deltas:
        delta.text.encode()


@each_of_ours
async def test_a_character_of_which_only_half_comes_is_told_at_the_end(
    wire: Wire, kind: str
) -> None:
    message, _ = await told(wire, kind, in_pieces(kind, "a", HALVES[0]))

    assert message.text == "aa\ud83d"


async def test_reasoning_in_two_pieces_goes_back_whole(wire: Wire) -> None:
    message, _ = await told(wire, "chat", in_pieces("chat", *HALVES))
    wire.will({"choices": [{"message": {"content": "Hi"}}]})

    again = history(user_message("Hello"), message, user_message("And?"))
    await OURS["chat"](wire.url).respond(again)

    assert wire.bodies[1]["messages"][1] == {
        "role": "assistant",
        "content": WHOLE,
        "reasoning": WHOLE,
    }


WHOLE_REPLIES: dict[str, Any] = {
    "chat": {"choices": [{"message": {"content": "Hi", "reasoning": "Hm", "tool_calls": [{"id": "c", "function": CALL}]}, "finish_reason": "stop"}]},
    "responses": completed(
        {"type": "reasoning", "id": "rs", "summary": [{"text": "Hm"}]},
        said("Hi"),
        {"type": "function_call", "call_id": "c", **CALL},
    )["response"],
    "anthropic": {
        "type": "message",
        "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "Hm"},
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}},
        ],
    },
    "gemini": {"candidates": [{"finishReason": "STOP", "content": {"parts": [
        {"text": "Hm", "thought": True}, {"text": "Hi"}, {"functionCall": {"name": "f", "args": {"a": 1}}},
    ]}}]},
}  # fmt: skip


@each_of_ours
async def test_a_server_that_does_not_stream_is_heard_all_the_same(wire: Wire, kind: str) -> None:
    message, deltas = await told(wire, kind, Reply(body=WHOLE_REPLIES[kind]))

    assert [part.kind for part in message.parts] == ["reasoning", "text", "call"]
    assert (texts(deltas, "reasoning"), texts(deltas), texts(deltas, "call")) == (
        "Hm",
        "Hi",
        '{"a": 1}',
    )


ODD_STREAMS: dict[str, tuple[str, list[Any], tuple[str, str, str]]] = {
    "text in the start of a block": (
        "anthropic",
        block("text", {"text": "Start "}, {"type": "text_delta", "text": "end"}),
        ("", "Start end", ""),
    ),
    "thoughts in the start of a block": (
        "anthropic",
        block("thinking", {"thinking": "H"}, {"type": "thinking_delta", "thinking": "m"}),
        ("Hm", "", ""),
    ),
    "arguments in the start of a block": (
        "anthropic",
        block("tool_use", {"id": "c", "name": "f", "input": {"a": 1}}),
        ("", "", '{"a": 1}'),
    ),
    "nothing but the end": ("responses", [completed(said("Whole"))], ("", "Whole", "")),
    "a call without its arguments": (
        "responses",
        [
            {"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "call_id": "c", "name": "f"}},
            completed({"type": "function_call", "call_id": "c", **CALL}),
        ],
        ("", "", '{"a": 1}'),
    ),
    "two summaries": (
        "responses",
        [
            *({"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": index, "delta": text}
              for index, text in ((0, "H"), (0, "m"), (1, "So"))),
            completed({"type": "reasoning", "id": "rs", "summary": [{"text": "Hm"}, {"text": "So"}]}),
        ],
        ("Hm\n\nSo", "", ""),
    ),
}  # fmt: skip


@pytest.mark.parametrize("stream", ODD_STREAMS)
async def test_what_does_not_come_in_pieces_is_told_too(wire: Wire, stream: str) -> None:
    kind, events, (reasoning, text, call) = ODD_STREAMS[stream]

    _, deltas = await told(wire, kind, sse(*events))

    assert (texts(deltas, "reasoning"), texts(deltas), texts(deltas, "call")) == (
        reasoning,
        text,
        call,
    )
