"""Copies of arguments: for those who judge them, and for each attempt to run with them."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from toolwright.tools._arguments import Args
from toolwright.tools._context import ToolContext
from toolwright.tools._exact import Exact

__all__ = ["copied", "lent"]

_FIXED = frozenset((str, int, float, bool, bytes, type(None)))


def copied(args: Args) -> Args:
    """The arguments, such that nothing done to them is done to `args`.

    A value that cannot be copied, or not be compared with its copy, is the same one.
    """
    return {
        name: value if type(value) in _FIXED else _copied(value) for name, value in args.items()
    }


@contextmanager
def lent(args: Args, ctx: ToolContext) -> Iterator[Args]:
    """A copy for code that judges a call, which is in the context meanwhile, too: it may change it,
    and what others judge, people see and the tool gets is as it was."""
    own, ctx.arguments = ctx.arguments, copied(args)
    try:
        yield ctx.arguments
    finally:
        ctx.arguments = own


def _copied(value: Any) -> Any:
    try:
        made = copy.deepcopy(value)
        is_same = bool(made == value)
    except Exception:  # noqa: BLE001 - objects may raise anything when they are copied or compared
        return value
    return made if is_same or not Exact({"": value}).unknowable else value
