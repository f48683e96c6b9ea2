"""What a source lists, one by one: a tool that cannot be used takes no other down."""

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from toolwright.errors import UsageError
from toolwright.tools import Tool

__all__ = ["LONGEST_DESCRIPTION", "usable_tools"]

T = TypeVar("T")
_log = logging.getLogger("toolwright.sources")
_MOST = 10_000
LONGEST_DESCRIPTION = 20_000
"""Letters of a description that models are told."""


def usable_tools(whose: str, listed: Iterable[T], make: Callable[[T], Tool]) -> list[Tool]:
    """The tools that can be made of what `whose` lists; of the others, the log says why not."""
    tools: list[Tool] = []
    for number, item in enumerate(listed):
        if number == _MOST:
            _log.error("%s lists more than %s tools; the others are left out.", whose, f"{_MOST:,}")
            break
        try:
            tools.append(make(item))
        except UsageError as error:
            _log.error("A tool of %s is left out: %s", whose, error)
    return tools
