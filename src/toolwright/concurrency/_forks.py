"""What a forked process must not inherit: threads that are not there, locks, connections, names."""

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["Forked", "begin_anew_after_fork"]


class Forked(Protocol):
    """Something that belongs to one process."""

    def after_fork(self) -> None:
        """Begin anew, in the child: nothing else runs there yet."""
        ...


_THINGS: "WeakSet[Forked]" = WeakSet()


def begin_anew_after_fork(thing: Forked) -> None:
    """Have `thing` begin anew in every child that is forked off while it is used."""
    _THINGS.add(thing)


def _after_fork() -> None:
    for thing in list(_THINGS):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
