"""Messages and events as JSON, with a version so that old logs stay readable."""

from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from toolwright.errors import UnreadableError, UsageError
from toolwright.messages._events import AnyEvent, Event
from toolwright.messages._exact_json import exact_json, from_exact_json
from toolwright.messages._messages import Message
from toolwright.messages._plain import plain

__all__ = [
    "VERSION",
    "decode_event",
    "decode_message",
    "encode_event",
    "encode_message",
    "event_schema",
    "from_json_text",
    "is_encoded_event",
    "to_json_text",
    "to_wire",
]

VERSION = 2
_REPLACED = "\ufffd".encode()
_START = f'{{"v":{VERSION},'


@cache
def _event_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[AnyEvent, Field(discriminator="type")])


@cache
def _message_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[Message, Field(discriminator="kind")])


def encode_event(event: Event) -> str:
    """One line of JSON: `{"v": 2, "type": …, …}`."""
    return _START + to_json_text(_event_adapter(), event)[1:]


def decode_event(text: str | bytes) -> Any:
    """The event that `encode_event` was given."""
    return _decode(_event_adapter(), text)


def is_encoded_event(text: str) -> bool:
    """Whether this is how `encode_event` writes events now: one line, of the present version."""
    return text.startswith(_START) and text.endswith("}") and "\n" not in text


def encode_message(message: Message) -> str:
    """One line of JSON: `{"v": 2, "kind": …, …}`."""
    return _START + to_json_text(_message_adapter(), message)[1:]


def decode_message(text: str | bytes) -> Any:
    """The message that `encode_message` was given."""
    return _decode(_message_adapter(), text)


def event_schema() -> dict[str, Any]:
    """JSON Schema of all events, for clients in other languages."""
    return _event_adapter().json_schema()


def to_json_text(adapter: TypeAdapter[Any], value: Any) -> str:
    """`value` as JSON, whatever strings are in it; fields that are None are left out.

    `UsageError` for what could not be read back.
    """
    try:
        text = adapter.dump_json(value, exclude_none=True, fallback=repr, warnings="error")
    except PydanticSerializationError:
        # Lone surrogates are not UTF-8, but JSON can escape them; bytes are not always text; and
        # what is not of its type may not be readable.
        text = None
    # In the keys of an object they are replaced instead of refused.
    if text is not None and _REPLACED not in text:
        return text.decode()
    # What it holds is bounded already; around that there are a few more levels.
    return _readable(adapter, value, exact_json(plain(value, levels=400)))


def _readable(adapter: TypeAdapter[Any], value: Any, text: str) -> str:
    """`text`; `UsageError` when `value` cannot be made of it again, so that nobody stores that."""
    try:
        from_json_text(adapter, text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"This {type(value).__name__} cannot be read back, so it is not stored: {error}"
        ) from error
    return text


def to_wire(adapter: TypeAdapter[Any], value: Any) -> bytes:
    """`value` as JSON for whoever asked for it, whatever strings are in it.

    A lone surrogate, as in a file's name that is no UTF-8, is escaped (`\\udcff`).
    """
    try:
        return adapter.dump_json(value, fallback=repr)
    except PydanticSerializationError:
        return exact_json(plain(adapter.dump_python(value), levels=400)).encode()


def from_json_text(adapter: TypeAdapter[Any], text: str | bytes) -> Any:
    """What `to_json_text` was given; `ValueError` when it is nothing of the kind."""
    try:
        return adapter.validate_json(text)
    except ValidationError:
        # Only Python's own reader takes lone surrogates and any depth.
        return adapter.validate_python(from_exact_json(text))


def _decode(adapter: TypeAdapter[Any], text: str | bytes) -> Any:
    text = text if isinstance(text, str) else text.decode()
    try:
        if text.startswith(_START):
            return from_json_text(adapter, "{" + text[len(_START) :])
        fields = from_exact_json(text)
        version = fields.pop("v", None)
        if version not in (1, VERSION):
            raise _of_another_version(version)
        return adapter.validate_python(_from_version_1(fields) if version == 1 else fields)
    except (ValueError, AttributeError, RecursionError) as error:
        raise UnreadableError(f"Unreadable log entry {text[:200]!r}: {error}") from error


def _from_version_1(fields: dict[str, Any]) -> dict[str, Any]:
    """Answers had no tag of their own then."""
    if fields.get("type") == "pending_answered" and "answer" in fields:
        fields["answer"] = tagged_answer(fields["answer"])
    return fields


def tagged_answer(answer: Any) -> Any:
    """An answer that was stored as a bare value, as it is stored now."""
    kind = answer.get("kind") if isinstance(answer, dict) else None
    return answer if kind in ("approve", "reject") else {"kind": "given", "value": answer}


def _of_another_version(version: Any) -> UnreadableError:
    return UnreadableError(
        f"This log entry has version {version!r}; this program reads versions up to {VERSION}. "
        "Upgrade toolwright to read it."
    )
