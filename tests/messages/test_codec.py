"""Events as JSON: whatever they hold comes back, and old logs stay readable."""

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolwright.errors import UnreadableError
from toolwright.messages import (
    Approve,
    Event,
    Given,
    PendingAnswered,
    Reject,
    RunStarted,
    StateChanged,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
    UserMessage,
    decode_event,
    encode_event,
    exact_json,
    from_exact_json,
    jsonable,
)

# Lone surrogates too, which `st.text()` leaves out.
TEXT = st.text(st.characters(codec=None, categories=None))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)


@example("", {"\ud800": None})
@example("\ufffd", {"\ufffd": "\ufffd"})
@given(TEXT, JSON)
def test_any_text_and_any_json_come_back_unchanged(text: str, value: Any) -> None:
    result = ToolResult(call_id=text, name=text, status="ok", content=(TextPart(text),), data=value)
    events: list[Event] = [
        RunStarted(message=UserMessage((TextPart(text),)), agent=text),
        ToolStarted(call=ToolCall(call_id=text, name=text, arguments=text, meta={text: value})),
        ToolEnded(result=result, traceback=text),
        StateChanged(delta={text: value}),
        PendingAnswered(call_id=text, answer=Given(value=value, data=value)),
        PendingAnswered(call_id=text, answer=Approve(arguments={text: value}, payload=value)),
        PendingAnswered(call_id=text, answer=Reject(reason=text)),
    ]
    assert [decode_event(encode_event(event)) for event in events] == events


@pytest.mark.parametrize("depth", [100, 300, 5_000])
def test_values_of_any_depth_are_stored_as_far_as_json_readers_go(depth: int) -> None:
    value: Any = "core"
    for _ in range(depth):
        value = [value]
    event = StateChanged(delta={"x": jsonable(value)})
    assert decode_event(encode_event(event)) == event
    assert ("core" in encode_event(event)) == (depth <= 200)


def test_what_has_no_json_form_or_cannot_be_shown_becomes_text() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    circle: list[Any] = []
    circle.append(circle)
    json.dumps(jsonable({"rude": Rude(), "circle": circle, "nan": float("nan"), "b": b"\xff"}))


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ({"kind": "approve", "remember": True}, Approve(remember=True)),
        ({"kind": "reject", "reason": "no"}, Reject(reason="no")),
        ("delivered", Given(value="delivered")),
        ({"kind": "parcel"}, Given(value={"kind": "parcel"})),
    ],
)
def test_answers_of_older_logs_are_read(stored: Any, read: Any) -> None:
    line = json.dumps({"v": 1, "type": "pending_answered", "call_id": "c", "answer": stored})
    assert decode_event(line) == PendingAnswered(call_id="c", answer=read)


def test_a_log_of_a_newer_version_is_refused_with_what_to_do() -> None:
    with pytest.raises(UnreadableError, match=r"version 3.*Upgrade toolwright"):
        decode_event('{"v":3,"type":"run_started"}')
    for damaged in ("", "{", '{"v":2,"type":"nothing"}', '{"v":2,'):
        with pytest.raises(UnreadableError, match=r"Unreadable|version"):
            decode_event(damaged)


BEYOND = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@pytest.mark.parametrize("name", BEYOND)
@pytest.mark.parametrize("odd", ["", "\ud800"], ids=["plain", "surrogate"])
def test_numbers_that_json_does_not_have_are_words_wherever_they_stand(name: str, odd: str) -> None:
    number = BEYOND[name]
    assert jsonable(number) == name
    shown = jsonable({"deep": [number, {f"key{odd}": number}], "odd": odd})
    assert shown == {"deep": [name, {f"key{odd}": name}], "odd": odd}
    stored = from_exact_json(exact_json(shown))
    assert stored == shown


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)  # fmt: skip
def test_what_is_json_already_stays_as_it_is(value: object) -> None:
    found = jsonable(value)
    assert found == value
    assert repr(found) == repr(value)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_that_no_reader_takes_becomes_text(sign: int) -> None:
    long = sign * 10**5000
    for value in (long, [long], {"a": {"b": (long, 1)}}):
        shown = jsonable(value)
        assert hex(long) in json.dumps(shown)
        assert json.loads(json.dumps(shown)) == shown
    assert jsonable([10**4000, "9" * 9000]) == [10**4000, "9" * 9000]
