"""Messages and events as JSON, with a version so that old logs stay readable."""

import json
from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from toolwright.errors import UnreadableError
from toolwright.messages._events import AnyEvent, Event
from toolwright.messages._messages import Message

__all__ = [
    "VERSION",
    "decode_event",
    "decode_message",
    "encode_event",
    "encode_message",
    "event_schema",
    "jsonable",
]

VERSION = 1


@cache
def _event_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[AnyEvent, Field(discriminator="type")])


@cache
def _message_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[Message, Field(discriminator="kind")])


def encode_event(event: Event) -> str:
    """One line of JSON: `{"v": 1, "type": …, …}`."""
    body = _event_adapter().dump_json(event, exclude_none=True, fallback=repr).decode()
    return f'{{"v":{VERSION},{body[1:]}'


def decode_event(text: str | bytes) -> Any:
    """The event that `encode_event` was given."""
    return _decode(_event_adapter(), text)


def encode_message(message: Message) -> str:
    """One line of JSON: `{"v": 1, "kind": …, …}`."""
    body = _message_adapter().dump_json(message, exclude_none=True, fallback=repr).decode()
    return f'{{"v":{VERSION},{body[1:]}'


def decode_message(text: str | bytes) -> Any:
    """The message that `encode_message` was given."""
    return _decode(_message_adapter(), text)


def event_schema() -> dict[str, Any]:
    """JSON Schema of all events, for clients in other languages."""
    return _event_adapter().json_schema()


def jsonable(value: Any) -> Any:
    """`value` as plain JSON values; what has no JSON form becomes its `repr`."""
    return to_jsonable_python(value, fallback=repr, bytes_mode="base64", inf_nan_mode="strings")


def _decode(adapter: TypeAdapter[Any], text: str | bytes) -> Any:
    try:
        fields = json.loads(text)
        version = fields.pop("v", None)
        if version != VERSION:
            raise UnreadableError(
                f"This log entry has version {version!r}; this program reads version {VERSION}. "
                "Upgrade toolwright to read it."
            )
        # From JSON rather than from `fields`, so that bytes come back from base64.
        return adapter.validate_json(json.dumps(fields))
    except (ValueError, ValidationError, AttributeError) as error:
        raise UnreadableError(f"Unreadable log entry {str(text)[:200]!r}: {error}") from error
