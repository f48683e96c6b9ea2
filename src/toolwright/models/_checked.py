"""Look at a reply before it is believed: a dataclass does not look at what it is made of."""

from dataclasses import fields

from toolwright.messages import (
    BlobPart,
    ModelMessage,
    ModelPart,
    ReasoningPart,
    ServerToolPart,
    TextPart,
    ToolCall,
    Usage,
)
from toolwright.models._depth import MOST_LEVELS, is_too_deep, text_is_too_deep
from toolwright.models._errors import model_error, not_a_reply

__all__ = ["checked"]

_COUNTS = tuple(field.name for field in fields(Usage))

_MOST = 2**53
"""What every database and reader of JSON can hold; infinity is more."""


def checked(message: ModelMessage) -> ModelMessage:
    """`message` itself, if all that the provider filled in has the type that it must have."""
    for part in message.parts:
        if not _is_sound(part):
            raise not_a_reply(message.model, "JSON of another shape:", repr(part))
        if _is_deep(part):
            what = f"the reply has JSON that is nested deeper than {MOST_LEVELS} levels"
            # The model's fault and nobody else's: another try may well do.
            raise model_error(message.model, f"{what}, in a {part.kind} part", reason="server")
    if is_too_deep(message.meta):
        raise not_a_reply(message.model, f"JSON of more than {MOST_LEVELS} levels")
    for name in _COUNTS:
        count = getattr(message.usage, name)
        if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count < _MOST:
            raise not_a_reply(message.model, f"a usage of {name}", repr(count))
    return message


def _is_deep(part: ModelPart) -> bool:
    if isinstance(part, ToolCall) and text_is_too_deep(part.arguments):
        return True
    if isinstance(part, ServerToolPart) and is_too_deep(part.payload):
        return True
    return is_too_deep(getattr(part, "meta", None))


def _is_sound(part: ModelPart) -> bool:
    match part:
        case TextPart(text=str()):
            return True
        case ReasoningPart(text=str(), signature=str() | None):
            return True
        case ToolCall(call_id=str(call_id), name=str(name), arguments=str()):
            return bool(call_id and name)
        case ServerToolPart(name=str(), payload=dict()):
            return True
        case BlobPart(media_type=str(), data=bytes() | None, url=str() | None):
            return True
        case _:
            return False
