"""What comes out of an interpreter in a sandbox is measured before it is read."""

import json
import socket
import time
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.backends.sandboxes import read_guest_json
from toolwright.backends.sandboxes._guest_json import MOST_BYTES
from toolwright.backends.sandboxes._warm_python import _Clock, _Talk

pytestmark = pytest.mark.anyio
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(PLAIN, st.booleans())
def test_plain_values_are_read_as_they_were_written(value: Any, ascii_only: bool) -> None:
    assert read_guest_json(json.dumps(value, ensure_ascii=ascii_only)) == value


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200) | st.text('[]{}",:\\u0d8 ', max_size=200))
def test_anything_else_is_a_value_error(data: bytes | str) -> None:
    try:
        read_guest_json(data)
    except ValueError:
        return


HALF = MOST_BYTES // 2 - 100
COSTLY = {
    "too long": b'"' + b"x" * MOST_BYTES + b'"',
    "empty lists": b"[" + b"[]," * (MOST_BYTES // 3 - 100) + b"[]]",
    "empty strings": b"[" + b'"",' * (MOST_BYTES // 3 - 100) + b'""]',
    "too many values": b"[" + b"1," * 200_001 + b"1]",
    "one quote after another": b'\\"' * HALF + b"," * 100,
    "a string without end": b"[" * 65 + b'"' + b"\\a" * HALF,
    "lists in lists": b"[" * 65 + b"]" * 65,
    "objects in objects": b'{"a":' * 65 + b"1" + b"}" * 65,
    "a long number": b"9" * 5000,
    "half a character": b'"\\ud800"',
}


@pytest.mark.parametrize("name", COSTLY)
def test_what_would_cost_much_is_refused_soon(name: str) -> None:
    before = time.process_time()
    with pytest.raises(ValueError, match=r"."):
        read_guest_json(COSTLY[name])
    assert time.process_time() - before < 2, "seconds; a tenth is usual"


def test_strings_are_counted_before_they_are_looked_at() -> None:
    with pytest.raises(ValueError, match="more than 250,000 strings"):
        read_guest_json(COSTLY["empty strings"])


def test_long_texts_with_commas_and_brackets_are_not_many_values() -> None:
    text = "a,b,[c],{d}\n" * 100_000
    assert read_guest_json(json.dumps({"calls": [text]})) == {"calls": [text]}
    assert read_guest_json(json.dumps("\\ud800 🙂")) == "\\ud800 🙂"


@pytest.mark.parametrize(
    "message",
    [
        '{"calls": 5}', '{"calls": [1]}', '{"calls": {}}', '{"calls": [{"name": "add"}]}',
        '{"calls": [{"name": "nosuch", "args": [], "kwargs": {}}]}',
        '{"calls": [{"name": ["add"], "args": [], "kwargs": {}}]}',
        '{"calls": [{"name": "add", "args": 5, "kwargs": {}}]}',
        '{"calls": [{"name": "add", "args": [], "kwargs": []}]}',
        '{"calls": [{"name": "add", "args": ["\\ud800"], "kwargs": {}}]}',
        '{"exit_code": "0"}', '{"exit_code": true}', '{"exit_code": 0, "value": 5}',
        '{"exit_code": 0, "value": {"a": 1}}', "{}", "[]", "5", "null", "", "no JSON", '{"calls"',
        "[" * 70_000, "9" * 5000,
    ],
)  # fmt: skip
async def test_a_message_of_another_shape_ends_the_interpreter(message: str) -> None:
    async def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        raise AssertionError(f"answered {calls}")

    assert await held([message], answer) is None


async def test_messages_of_the_right_shape_are_answered() -> None:
    seen: list[list[dict[str, Any]]] = []

    async def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        seen.append(calls)
        return [{"value": 3}]

    asked = {"name": "add", "args": [1], "kwargs": {"b": 2}}
    done = await held([json.dumps({"calls": [asked]}), '{"exit_code": 0, "value": "3"}'], answer)
    assert seen == [[asked]]
    assert done == {"exit_code": 0, "value": "3"}


async def held(messages: list[str], answer: Any) -> Any:
    """What comes of a talk with an interpreter that sends these messages, each when it was asked."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)

    def interpreter() -> None:
        lines = theirs.makefile("rb")
        for message in messages:
            lines.readline()
            theirs.sendall(message.encode() + b"\n")

    with ours, theirs, anyio.fail_after(10) as clock:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, interpreter)
            return await _Talk("code", ["add"], answer, {}).hold(ours, _Clock(clock, None))
