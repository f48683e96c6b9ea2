"""Copies of arguments: for those who judge them, and for each attempt to run with them."""

import copy
import marshal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from toolwright.tools._arguments import Args
from toolwright.tools._context import ToolContext
from toolwright.tools._exact import Exact

__all__ = ["Kept", "copied", "kept", "lent"]

Kept = Callable[[], tuple[Args, Args | None]]
"""Gives arguments, and those they were made of, as they were."""

_FIXED = frozenset((str, int, float, bool, bytes, type(None)))


def copied(args: Args) -> Args:
    """The arguments, such that nothing done to them is done to `args`.

    A value that cannot be copied, or not be compared with its copy, is the same one.
    """
    return {
        name: value if type(value) in _FIXED else _copied(value) for name, value in args.items()
    }


def kept(args: Args, read: Args | None) -> Kept:
    """Arguments, and those they were made of, to be had again as they are now.

    Every call pays for this and few want it: what JSON has is only written down, which takes a
    fraction of the time that a copy takes.
    """
    try:
        written = marshal.dumps((args, read))
    except ValueError:  # an object among them
        both = _copied_both(args, read)
        return lambda: both

    def again() -> tuple[Args, Args | None]:
        if marshal.dumps((args, read)) == written:
            return args, read
        before: tuple[Args, Args | None] = marshal.loads(written)
        return before

    return again


def _copied_both(args: Args, read: Args | None) -> tuple[Args, Args | None]:
    own = copied(args)
    copies = {id(args[name]): value for name, value in own.items()}
    if read is None:
        return own, None
    return own, {name: copies.get(id(value), value) for name, value in read.items()}


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
