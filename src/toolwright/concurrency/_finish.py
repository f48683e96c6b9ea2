"""Work that must come to its end once it has begun, even if whoever waits for it is cancelled."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import anyio

__all__ = ["finish", "outlast"]

T = TypeVar("T")


async def finish(work: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
    """What `work()` returns; a cancelled caller leaves only when it has ended.

    Raises `TimeoutError`, and stops it, after so many seconds. In a task of its own: a shielded
    scope holds off anyio's cancellation, but not `task.cancel()`, which closing a stream uses.
    """

    async def bounded() -> T:
        with anyio.fail_after(seconds):
            return await work()

    task = asyncio.create_task(bounded())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await outlast(task)
        if not task.cancelled():
            task.exception()  # seen: the caller is told that it was cancelled, nothing else
        raise


async def outlast(work: "asyncio.Future[Any]") -> None:
    """Return when `work` is done, however often whoever waits is cancelled meanwhile.

    For those who have been cancelled already, and raise that when this returns.
    """
    while not work.done():
        # Held off are anyio's cancellations by the scope, and those of `task.cancel()` by trying again.
        with anyio.CancelScope(shield=True), suppress(asyncio.CancelledError):
            await asyncio.wait({work})
