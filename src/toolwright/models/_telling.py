"""Hand on the pieces of a reply so that, joined, they are the message, and each is whole text."""

import re
from dataclasses import replace
from typing import Any, Literal

from toolwright.messages import (
    ModelMessage,
    ModelPart,
    ReasoningPart,
    ServerToolPart,
    TextPart,
    ToolCall,
)
from toolwright.models._model import Delta, OnDelta

__all__ = ["Telling", "with_whole_characters"]

_HALF = re.compile("[\ud800-\udfff]")
_BEGUN = re.compile("[\ud800-\udbff]$")
"""JSON writes an emoji as two halves, and a server may cut a text between them."""
Place = tuple[Literal["text", "reasoning", "call"], int]


class Telling:
    """What a listener has been told of one reply."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._told: dict[Place, list[str]] = {}
        self._held: dict[Place, str] = {}
        """The first half of a character, until the second comes."""
        self._named: set[int] = set()

    @property
    def has_begun(self) -> bool:
        """Whether the listener knows something already."""
        return bool(self._told)

    def hear(self, delta: Delta) -> None:
        """Hand on a piece, as far as it is whole."""
        if not isinstance(delta.text, str) or not isinstance(delta.name, str):
            raise TypeError(f"a piece of {delta.kind} is {delta.text!r}")
        place: Place = (delta.kind, delta.index)
        text = _joined(self._held.pop(place, "") + delta.text)
        if _BEGUN.search(text):
            text, self._held[place] = text[:-1], text[-1]
        if text or delta.name or not delta.text:
            self._tell(replace(delta, text=text))

    def end(self, message: ModelMessage) -> None:
        """Hand on what of the message has not come in pieces: some servers send none of it so."""
        for place in list(self._held):
            self._tell(Delta(kind=place[0], index=place[1], text=self._held.pop(place)))
        reasoning = [part.text for part in message.parts if isinstance(part, ReasoningPart)]
        self._complete(Delta(kind="reasoning", text="".join(reasoning)))
        self._complete(Delta(kind="text", text=message.text))
        for index, call in enumerate(message.calls):
            name = "" if index in self._named else call.name
            self._complete(Delta(kind="call", index=index, name=name, text=call.arguments))

    def _complete(self, whole: Delta) -> None:
        told = "".join(self._told.get((whole.kind, whole.index), ()))
        rest = whole.text[len(told) :] if whole.text.startswith(told) else ""
        if rest or whole.name:
            self._tell(replace(whole, text=rest))

    def _tell(self, delta: Delta) -> None:
        self._told.setdefault((delta.kind, delta.index), []).append(delta.text)
        if delta.name:
            self._named.add(delta.index)
        self._on_delta(delta)


def with_whole_characters(message: ModelMessage) -> ModelMessage:
    """`message` with the halves of characters joined that came in two pieces."""
    parts = tuple(_whole_part(part) for part in message.parts)
    return message if parts == message.parts else replace(message, parts=parts)


def _whole_part(part: ModelPart) -> ModelPart:
    match part:
        case TextPart():
            return replace(part, text=_joined(part.text))
        case ReasoningPart():
            return replace(part, text=_joined(part.text), meta=_whole(part.meta))
        case ToolCall():
            return replace(part, arguments=_joined(part.arguments), meta=_whole(part.meta))
        case ServerToolPart():
            return replace(part, payload=_whole(part.payload))
        case _:
            return part


def _whole(value: Any) -> Any:
    match value:
        case str():
            return _joined(value)
        case dict():
            return {key: _whole(inner) for key, inner in value.items()}
        case list():
            return [_whole(inner) for inner in value]
        case _:
            return value


def _joined(text: str) -> str:
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
