"""`toolwright worker`: work on durable tasks and log what happens to them."""

import logging
import signal
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

import anyio
from cyclopts import Parameter

from toolwright.cli import _exit as exits
from toolwright.cli._log import log_lines
from toolwright.cli._options import JsonOption, VerboseOption
from toolwright.cli._tasks import open_orchestrator
from toolwright.errors import StoreError, UnreadableError, UsageError
from toolwright.tasks import DEFAULT_QUEUE, Orchestrator, Worker, current_task

__all__ = ["worker"]

logger = logging.getLogger("toolwright")

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
_MORE = "`toolwright tasks show` has the task, "


def worker(
    orchestrator: str,
    /,
    *,
    queue: Annotated[tuple[str, ...], Parameter(negative=())] = (DEFAULT_QUEUE,),
    drain_seconds: float = 300.0,
    json: JsonOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Work on tasks until interrupted; then what is running is finished first.

    Every task that begins, parks or ends is a line on standard error, and so is what goes wrong.
    While a Postgres database is away it is tried again, after 1 second at first and every 30 later.

    Parameters
    ----------
    orchestrator
        MODULE:ORCHESTRATOR, with its agents registered.
    queue
        Take tasks from this queue; several are taken from in this order.
    drain_seconds
        How long what is running may take to finish after an interrupt; then it is given back.
    """
    if not drain_seconds >= 0:
        raise UsageError(f"--drain-seconds cannot be negative; got {drain_seconds!r}.")
    log_lines(logging.INFO, verbose=verbose, json=json, more=_MORE, task=current_task.get)
    anyio.run(_Work(open_orchestrator(orchestrator), queue, drain_seconds).run)
    return exits.DONE


class _Work:
    """A worker, made again as long as the database cannot be reached."""

    def __init__(
        self, orchestrator: Orchestrator, queues: Sequence[str], drain_seconds: float
    ) -> None:
        self._orchestrator = orchestrator
        self._queues = queues
        self._worker: Worker = orchestrator.worker(queues=queues)
        self._drain_seconds = drain_seconds
        self._draining = anyio.Event()

    async def run(self) -> None:
        """Work until drained."""
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            self._say_hello()
            async with anyio.create_task_group() as group:
                group.start_soon(self._drain_on_signal, signals, group.cancel_scope)
                await self._work()
                group.cancel_scope.cancel()
        await self._orchestrator.close()

    def _say_hello(self) -> None:
        found = self._orchestrator
        logger.info(
            "worker %s works for %s at %s; Ctrl-C drains it",
            self._worker.name,
            ", ".join(found.agents),
            found.store.database,
            extra={"event": "started", "worker": self._worker.name},
        )

    async def _work(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._worker.run()
                return
            except UnreadableError:
                raise  # it will be no more readable later
            except StoreError as error:
                # A file that cannot be opened does not come back by itself.
                if self._orchestrator.store.database.is_sqlite:
                    raise
                lost = {"event": "database_lost", "worker": self._worker.name}
                logger.error("%s; trying again in %.0f s", error, pause, extra=lost)
            with anyio.move_on_after(pause):
                await self._draining.wait()
                return
            pause = min(pause * 2, _LONGEST_PAUSE)
            self._worker = self._orchestrator.worker(queues=self._queues)

    async def _drain_on_signal(
        self, signals: AsyncIterator[signal.Signals], scope: anyio.CancelScope
    ) -> None:
        await anext(signals)
        logger.info(
            "draining for up to %g s: nothing new is taken; again to give back what runs",
            self._drain_seconds,
            extra={"event": "draining", "worker": self._worker.name},
        )
        self._draining.set()
        self._worker.drain(self._drain_seconds)
        await anext(signals)
        scope.cancel()
