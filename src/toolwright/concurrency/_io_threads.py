"""Threads for the framework's own blocking I/O, which user code never occupies."""

import math
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

__all__ = ["check_wanted", "in_io_thread", "in_stoppable_thread", "wait_in_thread"]

T = TypeVar("T")
_MOST = 40
# Of each event loop its own, like anyio's; not anyio's default one, which applications use too.
_SHORT: RunVar[CapacityLimiter] = RunVar("toolwright_io_threads")
_LONG: RunVar[CapacityLimiter] = RunVar("toolwright_waiting_threads")
_BETWEEN: ContextVar[Callable[[], None] | None] = ContextVar("toolwright_between", default=None)


async def in_io_thread(func: Callable[..., T], *args: Any, abandon_on_cancel: bool = False) -> T:
    """Run `func(*args)`, which reads or writes something and ends soon, outside the event loop."""
    limiter = _limiter(_SHORT, _MOST)
    return await anyio.to_thread.run_sync(
        partial(func, *args), limiter=limiter, abandon_on_cancel=abandon_on_cancel
    )


async def wait_in_thread(func: Callable[..., T], *args: Any, abandon_on_cancel: bool = False) -> T:
    """Run `func(*args)`, which waits for a process or a thread, for as long as that lives.

    There are as many such threads as there are things to wait for: what a process needs to come to
    its end must not queue behind others that wait for processes.
    """
    limiter = _limiter(_LONG, math.inf)
    return await anyio.to_thread.run_sync(
        partial(func, *args), limiter=limiter, abandon_on_cancel=abandon_on_cancel
    )


class Abandoned(Exception):
    """Raised in a thread whose result nobody waits for any more."""


async def in_stoppable_thread(func: Callable[[Callable[[], None]], T]) -> T:
    """Run `func(between)`, which computes for a while and calls `between()` now and then.

    Cancelling is immediate; `between` then raises, so that the thread ends too.
    """
    gone = threading.Event()

    def between() -> None:
        if gone.is_set():
            raise Abandoned

    # An idle thread still holds what it ran last, which would keep all that belongs to it alive.
    todo = [func]
    del func

    def run() -> T:
        _BETWEEN.set(between)
        return todo.pop()(between)

    try:
        return await in_io_thread(run, abandon_on_cancel=True)
    finally:
        gone.set()


def check_wanted() -> None:
    """What `between` does, for code that it was not handed to; nothing in other threads."""
    if (between := _BETWEEN.get()) is not None:
        between()


def _limiter(kept: RunVar[CapacityLimiter], tokens: float) -> CapacityLimiter:
    try:
        return kept.get()
    except LookupError:
        limiter = CapacityLimiter(tokens)
        kept.set(limiter)
        return limiter
