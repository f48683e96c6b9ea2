"""Instructions with `{placeholders}` for state, or made by a function."""

import inspect
import re
from collections.abc import Awaitable, Callable

from toolwright.concurrency import call_user
from toolwright.errors import UsageError
from toolwright.tools import ReadonlyContext

__all__ = ["Instructions", "check_instructions", "render"]

Instructions = str | Callable[[ReadonlyContext], str | Awaitable[str]]
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
