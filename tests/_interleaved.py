"""Hold a transaction of a real database at one of its statements, while others go on."""

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread
import psycopg
from sqlalchemy import event

from toolwright.backends.sql import Database

__all__ = ["Later", "Stop", "Together", "hold_at", "until_blocked"]

T = TypeVar("T")
_SECONDS = 20.0


class Stop:
    """Where a transaction is held."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._free = threading.Event()

    def hold(self) -> None:
        """Called by the transaction's thread."""
        if not self._reached.is_set():
            self._reached.set()
            assert self._free.wait(_SECONDS)

    async def reached(self) -> None:
        """Return when the transaction is held."""
        assert await anyio.to_thread.run_sync(self._reached.wait, _SECONDS)

    def free(self) -> None:
        """Let it go on, or not be held at all."""
        self._reached.set()
        self._free.set()


@contextmanager
def hold_at(
    database: Database, words: str, *, write: bool = True, after: bool = False, skip: int = 0
) -> Iterator[Stop]:
    """Hold the first transaction that comes to a statement with these words, before it or after it."""
    stop, left = Stop(), [skip]

    def look(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if words in " ".join(statement.split()):
            if left[0]:
                left[0] -= 1
            else:
                stop.hold()

    engine = database._opened()[write]
    moment = "after_cursor_execute" if after else "before_cursor_execute"
    event.listen(engine, moment, look)
    try:
        yield stop
    finally:
        # It goes on listening, free: the thread that was held is still among the listeners.
        stop.free()


class Later(Generic[T]):
    """Something that another is at."""

    value: T

    def __init__(self) -> None:
        self.done = anyio.Event()

    async def result(self) -> T:
        """What it has come to."""
        with anyio.fail_after(_SECONDS):
            await self.done.wait()
        return self.value


class Together:
    """What runs beside the test, and what has become of it."""

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self._tasks = tasks

    def start(self, work: Callable[[], Awaitable[T]]) -> Later[T]:
        """Begin."""
        later: Later[T] = Later()

        async def run() -> None:
            later.value = await work()
            later.done.set()

        self._tasks.start_soon(run)
        return later


async def until_blocked(url: str, later: Later[Any]) -> None:
    """Return when a connection to the database waits for a lock, or has no need to: it is done."""
    waits = (
        "SELECT 1 FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with psycopg.connect(url, autocommit=True) as connection, anyio.fail_after(_SECONDS):
        while not later.done.is_set() and connection.execute(waits).fetchone() is None:
            await anyio.lowlevel.checkpoint()
