"""Write to a database with one writer: what waits at the same time goes into one transaction."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import Connection

from toolwright.concurrency import outlast

__all__ = ["GroupWriter"]

T = TypeVar("T")
Work = Callable[[Connection], Any]

IDLE_SECONDS = 1.0
"""How long the writer's thread waits for more before it ends."""


def start_thread(target: Callable[[], None]) -> None:
    """Run `target` in a thread of its own, which does not hold up the interpreter's exit."""
    threading.Thread(target=target, name="toolwright writer", daemon=True).start()


class _Job:
    """One piece of work, who waits for it, and what became of it."""

    __slots__ = ("_loop", "error", "synced", "value", "work", "written")

    def __init__(self, work: Work, *, synced: bool) -> None:
        self.work = work
        self.synced = synced
        self.value: Any = None
        self.error: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self.written = self._loop.create_future()
        """Done when it has been written, or has failed."""

    def attempt(self, connection: Connection) -> None:
        """Do it so that, should it fail, only it is undone."""
        try:
            with connection.begin_nested():
                self.value = self.work(connection)
        except Exception as error:  # noqa: BLE001 - raised again where the work was asked for
            self.error = error

    def finish(self) -> None:
        """Wake whoever waits; called by the writer's thread when `value` or `error` is set."""
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if not self.written.done():
            self.written.set_result(None)

    def result(self) -> Any:
        """What the work returned; raises what it raised."""
        if self.error is not None:
            raise self.error
        return self.value


class GroupWriter:
    """Runs jobs in one thread, one transaction at a time.

    While one is being committed the next jobs gather, and share the transaction after it. The
    thread belongs to none of the callers, so that cancelling one cannot harm its neighbours: a job
    is queued until the thread takes it, and each caller waits for its own.
    """

    def __init__(self, transact: Callable[[Work, bool], Any]) -> None:
        self._transact = transact
        """Told what to do, and whether not even a power cut may lose it."""
        self._queued: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._is_running = False

    async def run(self, work: Callable[[Connection], T], *, synced: bool = False) -> T:
        """What `work` returns. Cancelled while it is queued it is not done; later, it is finished."""
        job = _Job(work, synced=synced)
        self._enqueue(job)
        try:
            # Shielded: cancelling the caller must not mark the job itself as cancelled.
            await asyncio.shield(job.written)
        except asyncio.CancelledError:
            if not self._withdraw(job):
                await outlast(job.written)
            raise
        return job.result()

    def _enqueue(self, job: _Job) -> None:
        with self._changed:
            self._queued.append(job)
            if self._is_running:
                self._changed.notify()
                return
            self._is_running = True
        start_thread(self._write_all)

    def _withdraw(self, job: _Job) -> bool:
        with self._changed:
            if job not in self._queued:
                return False
            self._queued.remove(job)
            return True

    def _write_all(self) -> None:
        """What the thread does: write whatever is queued, until nothing has come for a while."""
        while batch := self._take():
            self._write(batch)

    def _take(self) -> list[_Job]:
        with self._changed:
            if not self._queued:
                self._changed.wait(IDLE_SECONDS)
            batch = list(self._queued)
            self._queued.clear()
            # Said under the lock: a job that is queued now starts another thread.
            self._is_running = bool(batch)
            return batch

    def _write(self, batch: list[_Job]) -> None:
        synced = any(job.synced for job in batch)
        try:
            if len(batch) == 1:
                batch[0].value = self._transact(batch[0].work, synced)
            else:
                self._transact(
                    lambda connection: [job.attempt(connection) for job in batch], synced
                )
        except BaseException as error:  # noqa: BLE001 - raised again where the work was asked for
            for job in batch:
                job.error = job.error or error
        for job in batch:
            job.finish()
