"""Bytes in messages and events: standard base64 on the wire, older logs still readable."""

import base64
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from toolwright.messages import (
    BlobPart,
    ToolEnded,
    ToolResult,
    UserMessage,
    decode_event,
    decode_message,
    encode_event,
    encode_message,
    event_schema,
    jsonable,
)
from toolwright.messages._base64 import bytes_as_text
from toolwright.tools._output import to_output

ANYTHING = st.binary(max_size=200)
HARD = bytes([0xFB, 0xEF, 0xBE, 0xFF, 0xFF, 0xFF])
"""Only `+` and `/` in standard base64."""


def ended(data: bytes) -> ToolEnded:
    picture = BlobPart(media_type="image/png", data=data, name="p.png")
    return ToolEnded(
        seq=1,
        at=1.0,
        result=ToolResult(call_id="c", name="draw", status="ok", content=(picture,)),
    )


def written(data: bytes) -> str:
    return json.loads(encode_event(ended(data)))["result"]["content"][0]["data"]


def test_the_alphabet_is_the_one_that_browsers_read() -> None:
    assert written(HARD) == "++++////"


@given(ANYTHING)
def test_any_bytes_of_an_event_are_standard_base64_and_come_back(data: bytes) -> None:
    assert written(data) == base64.b64encode(data).decode()
    assert decode_event(encode_event(ended(data))) == ended(data)


@given(ANYTHING)
def test_any_bytes_of_a_message_are_standard_base64_and_come_back(data: bytes) -> None:
    message = UserMessage(parts=(BlobPart(media_type="audio/wav", data=data),))
    text = encode_message(message)
    assert json.loads(text)["parts"][0]["data"] == base64.b64encode(data).decode()
    assert decode_message(text) == message


@given(ANYTHING)
def test_events_that_were_stored_in_the_alphabet_for_addresses_are_still_read(data: bytes) -> None:
    fields = json.loads(encode_event(ended(data)))
    fields["result"]["content"][0]["data"] = base64.urlsafe_b64encode(data).decode()
    assert decode_event(json.dumps(fields)) == ended(data)


def test_the_schema_says_which_encoding_it_is() -> None:
    data = event_schema()["$defs"]["BlobPart"]["properties"]["data"]
    assert {"type": "string", "contentEncoding": "base64"} in data["anyOf"]


class Named(BaseModel):
    b: bytes


@dataclass
class Pair:
    b: bytes
    n: int | None = None


class Sign(Enum):
    plus = HARD


SHAPES: dict[str, Callable[[bytes], Any]] = {
    "dict": lambda data: {"b": data},
    "list": lambda data: [1, data],
    "tuple": lambda data: (1, 2, data),
    "set": lambda data: {data},
    "deque": lambda data: deque([data]),
    "key": lambda data: {data: 1},
    "bytearray": lambda data: [bytearray(data)],
    "memoryview": lambda data: [memoryview(data)],
    "dataclass": lambda data: Pair(data),
    "blob": lambda data: {"pic": BlobPart(media_type="image/png", data=data)},
    "model": lambda data: Named(b=data),
    "deep": lambda data: {"a": [{"b": Pair(data), "c": Named(b=data)}]},
    "mapping": lambda data: MappingProxyType({"b": data}),
    "enum": lambda data: [Sign.plus],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_bytes_are_standard_base64_wherever_they_are_in_a_value(shape: str) -> None:
    value = SHAPES[shape](HARD)
    output = to_output(value)
    assert "++++////" in output.text
    assert "----" not in output.text
    assert json.loads(output.text) == jsonable(value)
    shown = to_output(("shown", value))
    assert shown.data == jsonable(value)


def test_what_has_no_bytes_is_not_copied_and_keeps_its_form() -> None:
    plain = {"a": [1, 2.5, None, True, "x"], "b": {"c": ()}}
    assert bytes_as_text(plain) is plain
    assert jsonable(Pair(HARD)) == {"b": "++++////", "n": None}


def test_a_model_that_says_how_it_writes_bytes_is_left_its_way() -> None:
    assert jsonable({"m": Named(b=b"text"), "b": b"text"}) == {"m": {"b": "text"}, "b": "dGV4dA=="}


def test_a_value_that_contains_itself_is_cut_where_it_begins_again() -> None:
    circle: list[Any] = [HARD]
    circle += [circle, circle]
    assert jsonable(circle) == ["++++////", "…", "…"]
    assert jsonable([1, 1, "a", "a"]) == [1, 1, "a", "a"]
