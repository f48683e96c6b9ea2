"""Instructions with `{placeholders}` for state, or made by a function."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import zip_longest

from toolwright.concurrency import call_user
from toolwright.errors import UsageError
from toolwright.messages import TextPart, UserMessage
from toolwright.tools import ReadonlyContext

__all__ = [
    "Instructions",
    "are_others",
    "change_message",
    "change_told",
    "check_instructions",
    "is_change",
    "may_change",
    "render",
]

Instructions = str | Callable[[ReadonlyContext], str | Awaitable[str]]
_SOURCE = "instructions"
"""Where a message is from that tells how they have changed."""
_LONG = 2_000
"""Letters from which on instructions that have become others are not told as a change."""
_NOW = "[Your instructions have changed. Now in them:]"
_NO_MORE = "[No longer in them:]"
_PIECE_NOW = "[What was said before this conversation is now:]"
_PIECE_GONE = "[This, which was said before this conversation, no longer holds:]"
_AS_BEFORE = "[Your instructions are again as they were when this conversation began.]"
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][\w:.\-]*)(\?)?\}")


def check_instructions(agent: str, instructions: Instructions) -> None:
    """`UsageError` when they are made by a function that cannot be called with the context."""
    if isinstance(instructions, str):
        return
    try:
        inspect.signature(instructions).bind(None)
    except TypeError as error:
        raise UsageError(
            f"The function that makes the instructions of agent {agent!r} is called with the context: "
            f"def instructions(ctx): …; {instructions!r} takes other arguments ({error})."
        ) from error
    except ValueError:  # written in C, without a signature to look at
        return


def may_change(instructions: Instructions) -> bool:
    """Whether they may be others on the next turn."""
    return not isinstance(instructions, str) or "{" in instructions


async def render(instructions: Instructions, ctx: ReadonlyContext) -> str:
    """The text for this turn.

    `{key}` is the state's value, `{key?}` the same or nothing, `{{` and `}}` are braces.
    """
    if isinstance(instructions, str):
        return (
            _fill(instructions, ctx)
            if "{" in instructions or "}}" in instructions
            else instructions
        )
    return await call_user(instructions, ctx)


def _fill(text: str, ctx: ReadonlyContext) -> str:
    state = ctx.state

    def value(match: re.Match[str]) -> str:
        key, optional = match.groups()
        if key is None:
            return match.group()[0]
        if key in state:
            return str(state[key])
        if optional:
            return ""
        raise UsageError(
            f"The instructions of agent {ctx.agent_name!r} use {{{key}}}, but the state has no "
            f"{key!r}. Set it, write {{{key}?}} to make it optional, or {{{{{key}}}}} for the text itself."
        )

    return _PLACEHOLDER.sub(value, text)


# Instructions are the beginning of every request: one that changes there is one for which a provider
# reads the whole conversation anew. So the conversation keeps those that it began with, and what has
# changed is told at its end, once.


def change_told(begins: Sequence[str], told: Sequence[str], now: Sequence[str]) -> str:
    """What has changed since it was last told; `told` is empty when nobody knows what that was.

    The first of each are the instructions. The others are told whole: they say what they are.
    """
    texts = [text for text in _changes(told or begins, now) if text]
    return "\n\n".join(texts) or _AS_BEFORE


def change_message(text: str) -> UserMessage:
    """A message that tells a change of the instructions."""
    return UserMessage((TextPart(text, source=_SOURCE),))


def is_change(message: UserMessage) -> bool:
    """Whether a message tells a change of the instructions."""
    return any(isinstance(part, TextPart) and part.source == _SOURCE for part in message.parts)


def are_others(begins: Sequence[str], now: Sequence[str]) -> bool:
    """Whether hardly anything is left of long instructions: such a change is no small one."""
    if len(now[0]) < _LONG:
        return False
    kept = set(begins[0].splitlines())
    return sum(len(line) for line in now[0].splitlines() if line in kept) < len(now[0]) / 2


def _changes(before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    yield _line_changes(before[0], now[0])
    for old, new in zip_longest(before[1:], now[1:], fillvalue=""):
        if new.strip() != old.strip():
            yield f"{_PIECE_NOW}\n{new.strip()}" if new.strip() else f"{_PIECE_GONE}\n{old.strip()}"


def _line_changes(before: str, now: str) -> str:
    if before == now:
        return ""
    old, lines = dict.fromkeys(before.splitlines()), dict.fromkeys(now.splitlines())
    new = [line for line in lines if line.strip() and line not in old]
    gone = [line for line in old if line.strip() and line not in lines]
    if not new and not gone:  # the same ones in another order, or more often
        new = now.splitlines()
    parts = [_NOW, *new] if new else []
    return "\n".join([*parts, _NO_MORE, *gone] if gone else parts)
