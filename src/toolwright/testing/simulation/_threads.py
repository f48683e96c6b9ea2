"""Run in place what would run in a thread, so that real SQLite takes part without real threads."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio._backends._asyncio import AsyncIOBackend, CancelScope

from toolwright.errors import UsageError
from toolwright.testing.simulation._loop import SimulatedLoop, deliver
from toolwright.testing.simulation._process import current_process

__all__ = ["OrderedScopes", "PoolInPlace", "refuse_thread", "run_in_place"]

T = TypeVar("T")
Pause = Callable[[], float]


def run_in_place(loop: SimulatedLoop, pause: Pause) -> Callable[..., Any]:
    """A stand-in for anyio's way to a thread: the same checkpoints, limiter and shield."""

    async def run_sync(
        func: Callable[..., T],
        args: tuple[Any, ...],
        abandon_on_cancel: bool = False,
        limiter: Any = None,
    ) -> T:
        await AsyncIOBackend.checkpoint()
        async with limiter or _default_limiter():
            with anyio.CancelScope(shield=not abandon_on_cancel):
                value = await loop.in_thread(partial(func, *args), pause())
        return value

    return run_sync


def _default_limiter() -> Any:
    """Threads belong to a process: those of a dead one are not missing in another."""
    process = current_process()
    return (
        AsyncIOBackend.current_default_thread_limiter()
        if process is None
        else process.thread_limiter
    )


class PoolInPlace:
    """In place of the pool of threads for users' plain functions."""

    def __init__(self, loop: SimulatedLoop, pause: Pause) -> None:
        self._loop = loop
        self._pause = pause

    def submit(self, job: Any) -> None:
        """Run the job's function some steps later, unless nobody waits for it by then."""

        def work() -> None:
            if job.abandoned:
                return
            job.started = True
            try:
                value, error = job.context.run(job.call), None
            except BaseException as caught:  # noqa: BLE001 - whoever awaits it gets it
                value, error = None, caught
            self._loop.call_later(self._loop.latency(), deliver, job.future, value, error)

        self._loop.in_thread(work, self._pause())

    def abandon(self, job: Any) -> bool:
        """Whether the function had started."""
        job.abandoned = True
        return bool(job.started)

    def wait(self, job: Any, awaitable: Any) -> Any:
        """Refused: the loop cannot go on while a function runs in its place."""
        awaitable.close()
        raise UsageError("A plain function cannot wait in a simulation; make the tool `async def`.")


def refuse_thread(thread: threading.Thread) -> None:
    """Stands in for `Thread.start`: what a real thread does would differ from run to run."""
    raise UsageError(
        f"The thread {thread.name!r} cannot be started: a simulation has no threads, so that a seed "
        "always gives the same run. Use anyio.to_thread.run_sync, which runs in place."
    )


class OrderedScopes(dict[CancelScope, None]):
    """A set that is gone through in the order of insertion, not of memory addresses."""

    def add(self, scope: CancelScope) -> None:
        """As a set's."""
        self[scope] = None

    def remove(self, scope: CancelScope) -> None:
        """As a set's."""
        del self[scope]

    def discard(self, scope: CancelScope) -> None:
        """As a set's."""
        self.pop(scope, None)
