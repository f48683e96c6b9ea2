"""Whatever a plugin writes is either understood or refused in words."""

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolwright.sources.plugin._protocol import (
    BadMessage,
    call_line,
    read_call_id,
    read_content,
    read_hello,
    read_message,
)

JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["init", "result", "progress"])},
    optional={
        name: JSON | st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(keys, JSON)))
        for name, keys in {
            "tools": ["name", "description", "parameters"],
            "content": ["type", "text", "data", "mime_type", "name"],
            "features": ["x"],
            "version": ["x"],
            "call_id": ["x"],
        }.items()
    },
)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_a_line_is_a_message_with_a_type_or_a_bad_message(line: bytes) -> None:
    with suppress(BadMessage):
        assert isinstance(read_message(line)["type"], str)


@given(FIELDS)
def test_any_fields_are_read_or_refused(message: dict[str, Any]) -> None:
    for read in (read_hello, read_content, read_call_id):
        with suppress(BadMessage):
            read(message)


@given(st.text(), st.dictionaries(st.text(), JSON, max_size=3))
def test_a_call_is_always_one_line(name: str, params: dict[str, Any]) -> None:
    line = call_line("call-1", name, params)
    assert b"\n" not in line
    assert json.loads(line)["call_id"] == "call-1"
