"""What Claude models differ in. A name that is not known is taken for one of the newest."""

import re
from dataclasses import dataclass
from typing import Any

__all__ = ["Traits", "traits_of"]

_BEFORE_ADAPTIVE = re.compile(r"claude-(3|(opus|sonnet)-4(-[0-5])?(-\d{8})?$|haiku-4)")
_BEFORE_OUTPUT_FORMAT = re.compile(r"claude-(3|(opus|sonnet)-4(-0)?(-\d{8})?$)")
_TAKES_SAMPLING = re.compile(r"claude-(3|sonnet-4|haiku-4|opus-4(?!-[7-9]))")
_ALWAYS_THINKS = re.compile(r"claude-(fable|mythos|opus-5-5)")
_THINKS_BETWEEN_TOOLS = re.compile(r"claude-sonnet-5-5")
_CANNOT_BE_FORCED = re.compile(r"claude-((fable|mythos)-5-|(opus|sonnet)-5-5)")
_BEFORE_TOOL_REFERENCES = re.compile(r"claude-(3|(opus|sonnet)-4(-[01])?(-\d{8})?$)")
_MAX_TOKENS = ((re.compile(r"claude-3-5"), 8_192), (re.compile(r"claude-3-(?!7)"), 4_096))
_DEFAULT_MAX_TOKENS = 32_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """One model's."""

    max_tokens: int
    """The default limit of a reply; the API insists on one."""
    told_a_budget: bool
    """Thinking is limited by a number of tokens rather than by an effort."""
    takes_sampling: bool
    """Temperature and top_p are accepted."""
    has_output_format: bool
    """The answer can be held to a schema."""
    can_be_forced: bool
    """A tool call can be demanded."""
    loads_tools: bool
    """A result can refer to tools, which are then loaded at that place of the conversation."""
    thinking_off: dict[str, Any] | None
    """What turns thinking off, where that is possible."""


def traits_of(model: str) -> Traits:
    """The traits of the model with this name."""
    return Traits(
        max_tokens=next(
            (tokens for name, tokens in _MAX_TOKENS if name.match(model)), _DEFAULT_MAX_TOKENS
        ),
        told_a_budget=bool(_BEFORE_ADAPTIVE.match(model)),
        takes_sampling=bool(_TAKES_SAMPLING.match(model)),
        has_output_format=not _BEFORE_OUTPUT_FORMAT.match(model),
        can_be_forced=not _CANNOT_BE_FORCED.match(model),
        loads_tools=not _BEFORE_TOOL_REFERENCES.match(model),
        thinking_off=_thinking_off(model),
    )


def _thinking_off(model: str) -> dict[str, Any] | None:
    if _ALWAYS_THINKS.match(model):
        return None
    return {"type": "between_tools" if _THINKS_BETWEEN_TOOLS.match(model) else "disabled"}
