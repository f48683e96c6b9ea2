"""For any valid stream in any chunking the pieces make the message; of any part of it, nothing is believed."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import anyio
import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from tests.models.requests import WEATHER, ask
from tests.models.test_odd_shapes import Answering

from toolwright.errors import ModelError
from toolwright.messages import ModelMessage, ReasoningPart, ToolCall
from toolwright.models import Delta, Model
from toolwright.models._openai import chat_reply
from toolwright.models._openai.chat_reply import _Call

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
tagged = st.sampled_from(
    ["<think>", "</think>", "<", "</th", "ink>", "\n", " ", "<tool_call>", "a"]
)
argument_texts = st.dictionaries(text, st.integers() | text, max_size=2).map(json.dumps)
Events = list[dict[str, Any]]


def cut(draw: Any, whole: str) -> list[str]:
    """`whole` in pieces of any size."""
    places = sorted(draw(st.sets(st.integers(1, max(1, len(whole) - 1)), max_size=3)))
    edges = [0, *(place for place in places if place < len(whole)), len(whole)]
    return [whole[a:b] for a, b in pairwise(edges)]


@st.composite
def chats(draw: Any) -> tuple[Events, str | None, str]:
    """Chunks, what the calls must be, and the sign of the end."""
    events: Events = []

    def chunk(finish: str | None = None, **delta: Any) -> None:
        events.append({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    for piece in draw(st.lists(text, max_size=3)):
        chunk(**{draw(st.sampled_from(["reasoning", "reasoning_content"])): piece})
    for piece in draw(st.lists(text | tagged, max_size=6)):
        chunk(content=piece)
    for index, arguments in enumerate(draw(st.lists(argument_texts, max_size=3))):
        first = {"index": index, "id": f"c{index}", "function": {"name": f"f{index}"}}
        chunk(tool_calls=[first])
        for piece in cut(draw, arguments):
            chunk(tool_calls=[{"index": index, "function": {"arguments": piece}}])
    chunk("stop")
    events.append({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    return events, None, "data: [DONE]\n\n"


@st.composite
def claudes(draw: Any) -> tuple[Events, str | None, str]:
    usage = {"input_tokens": 3, "output_tokens": 1}
    events: Events = [
        {"type": "message_start", "message": {"type": "message", "content": [], "usage": usage}}
    ]
    kinds = draw(st.lists(st.sampled_from(["text", "thinking", "tool_use"]), max_size=4))
    for index, kind in enumerate(kinds):
        block: dict[str, Any] = {"type": kind}
        if kind == "tool_use":
            block |= {"id": f"c{index}", "name": f"f{index}", "input": {}}
            pieces = cut(draw, draw(argument_texts))
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        else:
            block[kind] = ""
            pieces = draw(st.lists(text, max_size=3))
            deltas = [{"type": f"{kind}_delta", kind: piece} for piece in pieces]
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": one} for one in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage})
    return [*events, {"type": "message_stop"}], "type", ""


@st.composite
def gpts(draw: Any) -> tuple[Events, str | None, str]:
    events: Events = [{"type": "response.created", "response": {"status": "in_progress"}}]
    output: list[Any] = []
    for index, kind in enumerate(
        draw(st.lists(st.sampled_from(["text", "reasoning", "call"]), max_size=4))
    ):
        if kind == "call":
            arguments = draw(argument_texts)
            item = {
                "type": "function_call",
                "id": f"i{index}",
                "call_id": f"c{index}",
                "name": f"f{index}",
            }
            events.append(
                {"type": "response.output_item.added", "output_index": index, "item": item}
            )
            events += [
                {
                    "type": "response.function_call_arguments.delta",
                    "output_index": index,
                    "delta": piece,
                }
                for piece in cut(draw, arguments)
            ]
            output.append({**item, "arguments": arguments})
        else:
            pieces = draw(st.lists(text, min_size=1, max_size=3))
            named = "output_text" if kind == "text" else "reasoning_summary_text"
            events += [{"type": f"response.{named}.delta", "delta": piece} for piece in pieces]
            whole = [{"type": "output_text", "text": "".join(pieces)}]
            output.append(
                {"type": "message", "content": whole}
                if kind == "text"
                else {"type": "reasoning", "id": f"i{index}", "summary": whole}
            )
        events.append(
            {"type": "response.output_item.done", "output_index": index, "item": output[-1]}
        )
    ended = {"id": "r", "status": "completed", "output": output}
    return [*events, {"type": "response.completed", "response": ended}], "type", ""


@st.composite
def geminis(draw: Any) -> tuple[Events, str | None, str]:
    parts = st.one_of(
        text.map(lambda said: {"text": said}),
        text.map(lambda thought: {"text": thought, "thought": True}),
        argument_texts.map(lambda args: {"functionCall": {"name": "f", "args": json.loads(args)}}),
    )
    events: Events = [
        {"candidates": [{"content": {"role": "model", "parts": some}}]}
        for some in draw(st.lists(st.lists(parts, min_size=1, max_size=2), max_size=4))
    ]
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2}
    return [*events, {"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage}], None, ""


PROVIDERS: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
    "chat": chats,
    "anthropic": claudes,
    "responses": gpts,
    "gemini": geminis,
}
bounded = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
each = pytest.mark.parametrize("kind", PROVIDERS)


def as_sse(events: Events, named_by: str | None) -> list[str]:
    return [
        (f"event: {event[named_by]}\n" if named_by else "")
        + f"data: {json.dumps(event, ensure_ascii=False)}\n\n"
        for event in events
    ]


def heard(deltas: list[Delta], kind: str) -> str:
    return "".join(delta.text for delta in deltas if delta.kind == kind)


async def respond(
    model: Model, answering: Answering, pieces: list[bytes]
) -> tuple[ModelMessage, list[Delta]]:
    answering.pieces = pieces
    answering.kind = "text/event-stream"
    deltas: list[Delta] = []
    return await model.respond(ask(tools=(WEATHER,)), deltas.append), deltas


@each
def test_the_pieces_joined_are_the_message_in_any_chunking(kind: str) -> None:
    answering = Answering()
    model = answering.model(kind)

    @bounded
    @given(PROVIDERS[kind](), st.data())
    def check(stream: tuple[Events, str | None, str], data: st.DataObject) -> None:
        events, named_by, end = stream
        body = ("".join(as_sse(events, named_by)) + end).encode()
        places = sorted(data.draw(st.sets(st.integers(0, len(body)), max_size=6)))
        edges = [0, *places, len(body)]
        pieces = [body[a:b] for a, b in pairwise(edges)]

        whole, deltas = anyio.run(respond, model, answering, pieces)
        again, _ = anyio.run(respond, model, answering, [body])

        assert heard(deltas, "text") == whole.text
        reasoning = [part.text for part in whole.parts if isinstance(part, ReasoningPart)]
        assert heard(deltas, "reasoning") == "".join(reasoning)
        for index, call in enumerate(whole.calls):
            own = [delta for delta in deltas if delta.kind == "call" and delta.index == index]
            assert "".join(delta.name for delta in own) == call.name
            assert ("".join(delta.text for delta in own) or "{}") == call.arguments
            assert isinstance(json.loads(call.arguments), dict)
        assert plain(whole) == plain(again)

    check()


def plain(message: ModelMessage) -> ModelMessage:
    """Without the ids that are made here, which differ each time."""
    parts = (
        replace(part, call_id="") if isinstance(part, ToolCall) else part for part in message.parts
    )
    return replace(message, parts=tuple(parts))


@each
def test_a_part_of_a_stream_is_a_retryable_error_and_no_message(kind: str) -> None:
    answering = Answering()
    model = answering.model(kind)

    @bounded
    @given(PROVIDERS[kind](), st.data())
    def check(stream: tuple[Events, str | None, str], data: st.DataObject) -> None:
        events, named_by, _ = stream
        written = as_sse(events, named_by)
        # The reason why the reply ends is the last thing that must come; usage may follow it.
        last = len(written) - 1 if kind != "chat" else len(written) - 2
        before = "".join(written[:last])
        body = (before + written[last]).encode()
        stop = data.draw(st.integers(0, len(before.encode())))
        with pytest.raises(ModelError) as caught:
            anyio.run(respond, model, answering, [body[:stop]])
        assert caught.value.retryable, str(caught.value)

    check()


@given(st.data())
def test_a_call_is_whole_when_its_json_is_whatever_pieces_it_came_in(data: st.DataObject) -> None:
    value = st.recursive(st.text('"\\\\{}[]a') | st.integers(), st.lists, max_leaves=4)
    whole = json.dumps(data.draw(st.dictionaries(st.text('"\\\\{}a'), value, max_size=3)))
    text = (
        data.draw(st.sampled_from(["", "\n"])) + whole + data.draw(st.sampled_from(["", " ", "x"]))
    )
    call, rest = _Call(), text
    while rest:
        size = data.draw(st.integers(1, 5))
        call.arguments.append(rest[:size])
        rest = rest[size:]
        assert call.is_whole() == is_object("".join(call.arguments))


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def test_pieces_that_repeat_a_calls_name_are_not_parsed_again_with_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[str] = []
    monkeypatch.setattr(chat_reply, "json", SimpleNamespace(loads=parsed.append))
    call = _Call()
    for piece in ['{"a": "', *["}xy{"] * 500]:
        call.arguments.append(piece)
        assert not call.is_whole()
        assert not call.is_told_again("xy")
    assert parsed == []
