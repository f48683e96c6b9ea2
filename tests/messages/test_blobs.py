"""Bytes in messages and events: standard base64 on the wire, older logs still readable."""

import base64
import json

from hypothesis import given
from hypothesis import strategies as st

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
)

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
