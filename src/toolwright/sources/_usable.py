"""What a source lists: whatever is wrong with it ends no run, and one tool takes no other down."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from toolwright.errors import SettingError, StoreError, ToolError, UsageError
from toolwright.tools import Tool

__all__ = ["LONGEST_DESCRIPTION", "MOST_TOOLS", "from_outside", "listed_tools", "usable_tools"]

T = TypeVar("T")
L = TypeVar("L", bound=Tool)
_log = logging.getLogger("toolwright.sources")
MOST_TOOLS = 10_000
LONGEST_DESCRIPTION = 20_000
"""Letters of a description that models are told."""


async def listed_tools(
    whose: str, ask: Callable[[], Awaitable[list[L]]], *, required: bool
) -> list[L] | None:
    """What `ask` lists; None for whatever it raises: the tools are left out, and the log says why.

    Raised are what the developer or the operator has to mend, and anything of what is `required`.
    """
    try:
        return await ask()
    except (UsageError, StoreError):
        raise
    except Exception as error:
        told = error
        if not isinstance(error, ToolError):
            kind = type(error).__name__
            told = ToolError(f"The tools of {whose} cannot be listed: {kind}: {error!s:.1000}.")
        if required:
            raise told from error
        _log.error("%s Its tools are left out.", told)
        return None


@contextmanager
def from_outside() -> Iterator[None]:
    """What is wrong in this block with what others have sent is not the developer's to mend."""
    try:
        yield
    except SettingError:
        raise
    except UsageError as error:
        raise ToolError(str(error)) from error


def usable_tools(whose: str, listed: Iterable[T], make: Callable[[T], Tool]) -> list[Tool]:
    """The tools that can be made of what `whose` lists; of the others, the log says why not."""
    tools: list[Tool] = []
    for number, item in enumerate(listed):
        if number == MOST_TOOLS:
            _log.error(
                "%s lists more than %s tools; the others are left out.", whose, f"{MOST_TOOLS:,}"
            )
            break
        try:
            tools.append(make(item))
        except Exception as error:  # noqa: BLE001 - as above
            why = error if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
            _log.error("A tool of %s is left out: %.1000s", whose, why)
    return tools
