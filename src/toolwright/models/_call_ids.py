"""Ids and names of calls: for those without one, and as providers want them that did not make them."""

import re
from base64 import b32encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeVar
from uuid import uuid4

from toolwright.messages import Message, ModelMessage, ToolCall, ToolResult, UserMessage

__all__ = ["CallRules", "is_made_here", "new_call_id", "short_call_id"]

C = TypeVar("C", ToolCall, ToolResult)
_PREFIX = "tw_"
_DIGEST = 10
_SHORT = re.compile(r"[a-zA-Z0-9]{9}")


def new_call_id() -> str:
    """An id that no other call has."""
    return f"{_PREFIX}{uuid4().hex}"


def is_made_here(call_id: str) -> bool:
    """Whether the provider does not know this id."""
    return call_id.startswith(_PREFIX)


def short_call_id(call_id: str) -> str:
    """Nine letters and digits: the id itself, or always the same ones for it."""
    if _SHORT.fullmatch(call_id):
        return call_id
    return _digest(call_id)[:9]


def _digest(call_id: str) -> str:
    return b32encode(sha256(call_id.encode(errors="surrogatepass")).digest()).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRules:
    """What a provider takes as the id and the name of a call; it refuses the conversation for others.

    Other providers' ids have other forms, and a model may make up a name that no tool could have.
    """

    id_characters: str = r"\s\S"
    """As in a regular expression's brackets."""
    longest_id: int | None = None
    name_characters: str = r"a-zA-Z0-9_.\-"
    longest_name: int = 128
    begins_with_letter: bool = False
    make_id: Callable[[str], str] | None = None

    def kept_by(self, message: Message) -> Message:
        """`message` with ids and names that keep the rules: always the same ones for it."""
        if isinstance(message, UserMessage):
            return message
        if isinstance(message, ModelMessage):
            parts = tuple(
                self._kept(part) if isinstance(part, ToolCall) else part for part in message.parts
            )
            return message if parts == message.parts else replace(message, parts=parts)
        results = tuple(self._kept(result) for result in message.results)
        return message if results == message.results else replace(message, results=results)

    def _kept(self, call: C) -> C:
        call_id, name = self._id(call.call_id), self._name(call.name)
        if (call_id, name) == (call.call_id, call.name):
            return call
        return replace(call, call_id=call_id, name=name)

    def _id(self, call_id: str) -> str:
        if self.make_id is not None:
            return self.make_id(call_id)
        kept = re.sub(f"[^{self.id_characters}]", "_", call_id)
        if kept == call_id and (self.longest_id is None or 0 < len(call_id) <= self.longest_id):
            return call_id
        # With a digest: two that differ stay two.
        room = None if self.longest_id is None else self.longest_id - _DIGEST - 1
        return f"{kept[:room]}_{_digest(call_id)[:_DIGEST]}"

    def _name(self, name: str) -> str:
        kept = re.sub(f"[^{self.name_characters}]", "_", name)
        if not kept or (self.begins_with_letter and not (kept[0].isalpha() or kept[0] == "_")):
            kept = f"_{kept}"
        return kept[: self.longest_name]
