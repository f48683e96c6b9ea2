"""Async calls for programs that are not async."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from toolwright.errors import UsageError

__all__ = ["run_blocking"]

T = TypeVar("T")


def run_blocking(call: Callable[[], Awaitable[T]]) -> T:
    """Run `call` in an event loop of its own; `UsageError` inside a running one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise UsageError(
            "This is async code already; use `await agent.run(…)` instead of run_sync."
        )

    async def main() -> T:
        return await call()

    return anyio.run(main)
