"""Work that must come to its end once it has begun, even if whoever waits for it is cancelled."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio

__all__ = ["finish"]

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
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # seen: the caller is told that it was cancelled, nothing else
        raise
