"""`toolwright worker`: work on durable tasks and log what happens to them."""

import logging
import signal
import time
import traceback
from collections.abc import AsyncIterator
from typing import Annotated

import anyio
from cyclopts import Parameter

from toolwright.cli import _exit as exits
from toolwright.cli._tasks import open_orchestrator
from toolwright.errors import StoreError, UnreadableError
from toolwright.messages import visible
from toolwright.tasks import Orchestrator, Worker, current_task

__all__ = ["worker"]

logger = logging.getLogger("toolwright")

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
_SILENCE_SECONDS = 30.0
_TRACEBACK = "Traceback (most recent call last):"
_MORE = "`toolwright tasks show` has the task, --verbose the traceback"

Verbose = Annotated[
    bool, Parameter(name=["--verbose", "-v"], negative=(), help="Log errors with their tracebacks.")
]


def worker(orchestrator: str, /, *, verbose: Verbose = False) -> int:
    """Work on tasks until interrupted; then what is running is finished first.

    Every task that begins, parks or ends is a line on standard error, and so is what goes wrong.
    While a Postgres database is away it is tried again, after 1 second at first and every 30 later.

    Parameters
    ----------
    orchestrator
        MODULE:ORCHESTRATOR, with its agents registered.
    """
    _log_to_stderr(verbose)
    anyio.run(_Work(open_orchestrator(orchestrator)).run)
    return exits.DONE


class _Work:
    """A worker, made again as long as the database cannot be reached."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator
        self._worker: Worker = orchestrator.worker()
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
                logger.error("%s; trying again in %.0f s", error, pause)
            with anyio.move_on_after(pause):
                await self._draining.wait()
                return
            pause = min(pause * 2, _LONGEST_PAUSE)
            self._worker = self._orchestrator.worker()

    async def _drain_on_signal(
        self, signals: AsyncIterator[signal.Signals], scope: anyio.CancelScope
    ) -> None:
        await anext(signals)
        logger.info("draining: nothing new is taken; again to give back what runs")
        self._draining.set()
        self._worker.drain()
        await anext(signals)
        scope.cancel()


def _log_to_stderr(verbose: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine(verbose))
    handler.addFilter(_NotAgain())
    logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel(logging.INFO)


class _OneLine(logging.Formatter):
    """One line for each record; with tracebacks below it where they are wanted."""

    def __init__(self, tracebacks: bool) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line = f"{self.formatTime(record)} {record.levelname:<7} {_text(record)}"
        trace = _trace(record)
        if self._tracebacks and trace:
            return visible(f"{line}\n{trace}")
        return visible(f"{line} ({_MORE})" if trace else line, lines=False)


def _text(record: logging.LogRecord) -> str:
    """What happened, in one line, and to which task."""
    error = record.exc_info[1] if record.exc_info else None
    cause = "" if error is None else f": {type(error).__name__}: {error}"
    said, found, trace = record.getMessage().partition(_TRACEBACK)
    if found:
        cause = f": {trace.rstrip().rpartition(chr(10))[2]}"
    text = " ".join(f"{said.rstrip()}{cause}".split())
    task = current_task.get()
    return text if task in text else f"task {task}: {text}"


def _trace(record: logging.LogRecord) -> str:
    """The traceback that comes with a record, or inside its message."""
    if record.exc_info and record.exc_info[1] is not None:
        return "".join(traceback.format_exception(record.exc_info[1])).rstrip()
    _, found, trace = record.getMessage().partition(_TRACEBACK)
    return f"{found}{trace}".rstrip()


class _NotAgain(logging.Filter):
    """Leaves out what was said a moment ago: an outage is told now and then, not at every look."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is news, or was said long enough ago."""
        if record.levelno < logging.WARNING:
            return True
        now, text = time.monotonic(), _text(record)
        self._said = {old: at for old, at in self._said.items() if now - at < _SILENCE_SECONDS}
        if text in self._said:
            return False
        self._said[text] = now
        return True
