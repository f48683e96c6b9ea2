"""The three kinds of message a history is made of, and what a model turn cost."""

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import PurePath
from typing import Any, Literal

from toolwright.errors import SettingError
from toolwright.messages._parts import (
    BlobPart,
    Content,
    ReasoningPart,
    ServerToolPart,
    TextPart,
    ToolCall,
)
from toolwright.messages._results import ToolResult

__all__ = [
    "FinishReason",
    "Message",
    "ModelMessage",
    "ModelPart",
    "Prompt",
    "ToolMessage",
    "Usage",
    "UserMessage",
    "user_message",
]

ModelPart = TextPart | ReasoningPart | BlobPart | ServerToolPart | ToolCall
FinishReason = Literal["stop", "calls", "length", "refused", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and money; adding two gives their sum."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Of the input tokens, those read from the provider's cache."""
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    """Of the output tokens, those spent on reasoning."""
    cost: float = 0.0
    """In US dollars, where a price is known."""
    requests: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost=self.cost + other.cost,
            requests=self.requests + other.requests,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return self + Usage(**{f.name: -getattr(other, f.name) for f in fields(Usage)})

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the person, or the program on their behalf, said."""

    parts: tuple[Content, ...]
    kind: Literal["user"] = "user"

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def own_text(self) -> str:
        """The same without what is only passed on."""
        texts = [part for part in self.parts if isinstance(part, TextPart)]
        return "\n".join(part.text for part in texts if part.source is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMessage:
    """One turn of the model: text, reasoning and calls, in the order it wrote them."""

    parts: tuple[ModelPart, ...]
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    finish_reason: FinishReason = "stop"
    meta: dict[str, Any] = field(default_factory=dict)
    """Provider details worth keeping: response id, grounding metadata."""
    kind: Literal["model"] = "model"

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The results of one turn's calls, in the order of the calls."""

    results: tuple[ToolResult, ...]
    kind: Literal["tool"] = "tool"


Message = UserMessage | ModelMessage | ToolMessage
Prompt = str | UserMessage | Content | Sequence[str | Content]
"""What `run` accepts as the person's message."""


def user_message(prompt: Prompt) -> UserMessage:
    """Make a message of whatever the caller gave; `SettingError` when it is not a `Prompt`."""
    if isinstance(prompt, UserMessage):
        given: Any = prompt.parts
    else:
        given = [prompt] if isinstance(prompt, str | TextPart | BlobPart) else prompt
    if isinstance(given, str | bytes | bytearray) or not isinstance(given, Sequence):
        raise SettingError(_not_a_message(prompt))
    parts = tuple(TextPart(part) if isinstance(part, str) else part for part in given)
    for place, part in enumerate(parts):
        if not isinstance(part, TextPart | BlobPart):
            raise SettingError(_not_a_message(part, f" at place {place}"))
    return UserMessage(parts)


def _not_a_message(found: object, place: str = "") -> str:
    also = ""
    if isinstance(found, Message) or (isinstance(found, Mapping) and "role" in found):
        also = (
            " Earlier messages are not given with it: a session keeps them, and "
            "Runner(agent).run('…', session_id=…) goes on with it."
        )
    elif isinstance(found, bytes | bytearray):
        also = " Bytes are sent as BlobPart(media_type=…, data=…)."
    elif isinstance(found, PurePath):
        also = " A file is sent as BlobPart.from_path(…)."
    return (
        "A message is a string, a TextPart, a BlobPart, a list of these, or UserMessage((…, …)); "
        f"got {reprlib.repr(found)}{place}.{also}"
    )
