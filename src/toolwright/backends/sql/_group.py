"""Write to a database with one writer: what waits at the same time goes into one transaction."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from sqlalchemy import Connection

__all__ = ["GroupWriter"]

T = TypeVar("T")
Work = Callable[[Connection], Any]


class _Job:
    """One piece of work and what became of it."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None

    def attempt(self, connection: Connection) -> None:
        """Do it so that, should it fail, only it is undone."""
        try:
            with connection.begin_nested():
                self.value = self.work(connection)
        except Exception as error:  # noqa: BLE001 - raised again where the work was asked for
            self.error = error

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


@dataclass(slots=True)
class _Group:
    """The jobs of one event loop."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    limiter: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(1))
    waiting: list[_Job] = field(default_factory=list)


class GroupWriter:
    """Runs jobs in a thread, one transaction at a time.

    While one is being committed the next jobs gather, and share the transaction after it.
    """

    def __init__(self, transact: Callable[[Work], Any]) -> None:
        self._transact = transact
        self._groups = RunVar[_Group]("group writer")

    async def run(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns. Cancelled while it waits, it is not done."""
        group = self._group()
        job = _Job(work)
        group.waiting.append(job)
        try:
            async with group.lock:
                if not job.done:
                    batch, group.waiting = group.waiting, []
                    await anyio.to_thread.run_sync(self._do, batch, limiter=group.limiter)
        except anyio.get_cancelled_exc_class():
            if job in group.waiting:
                group.waiting.remove(job)
            raise
        return job.result()

    def _group(self) -> _Group:
        try:
            return self._groups.get()
        except LookupError:
            group = _Group()
            self._groups.set(group)
            return group

    def _do(self, batch: list[_Job]) -> None:
        try:
            if len(batch) == 1:
                batch[0].value = self._transact(batch[0].work)
            else:
                self._transact(lambda connection: [job.attempt(connection) for job in batch])
        except BaseException as error:  # noqa: BLE001 - raised again where the work was asked for
            for job in batch:
                job.error = job.error or error
        finally:
            for job in batch:
                job.done = True
