"""What runs beside the requests for as long as the server does: supervised, and seen in its health."""

import asyncio
import logging
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from functools import partial

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

from toolwright.backends import SessionRow
from toolwright.concurrency import close_all, first_cause
from toolwright.errors import StoreError, UsageError
from toolwright.messages import redact
from toolwright.serve._problems import problem_response
from toolwright.serve._workbench import Workbench
from toolwright.serve.guard import Door, shown_reason
from toolwright.serve.live import Streams, is_cancelled, watch

__all__ = ["Background", "StartsWithFirstRequest", "Supervised"]

_RESUME_PAUSE = 0.05
"""Seconds between one session that the server goes on with at its start and the next."""
_SUCCESSION_SECONDS = 10.0
"""How often a server looks for sessions that another process has left behind."""
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_STEADY_SECONDS = 10.0
"""How long a part must have run again before it counts as well."""
_LOOK_SECONDS = 0.5
_NO_START = (
    "This server could not start; every request tries again, and the server's log has the details."
)
_log = logging.getLogger(__name__)


class Supervised:
    """One part: run again, after pauses that grow, whenever it fails or ends."""

    def __init__(
        self,
        name: str,
        run: Callable[[], Awaitable[None]],
        *,
        look: Callable[[], str] = lambda: "",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self.name = name
        self._run = run
        self._look = look
        """What the part itself says is wrong while it runs."""
        self._clock = clock
        self._sleep = sleep
        self._reason = ""
        self._since: float | None = None
        """When it was last started; None while it is not running."""

    @property
    def problem(self) -> str:
        """Why it is not well: it failed and has not run long enough since, or it says so itself."""
        return ("" if self._ran_long() else self._reason) or self._look()

    async def keep_running(self) -> None:
        """Run it until cancelled."""
        pause = _FIRST_PAUSE
        while True:
            self._since = self._clock()
            self._reason = await self._attempt()
            pause = _FIRST_PAUSE if self._ran_long() else pause
            self._since = None
            await self._sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _attempt(self) -> str:
        try:
            await self._run()
        except Exception as error:  # noqa: BLE001  whatever it was, the other parts go on
            _log.exception("The server's %s failed and will be restarted", self.name)
            return _reason(error)
        _log.error("The server's %s ended and will be restarted", self.name)
        return "It ended by itself."

    def _ran_long(self) -> bool:
        return self._since is not None and self._clock() - self._since >= _STEADY_SECONDS


class Background:
    """The runs, the watcher and the worker of one server."""

    def __init__(
        self, bench: Workbench, closes: Sequence[Callable[[], Awaitable[None]]] = ()
    ) -> None:
        self._bench = bench
        self._closes = closes
        """What ends with the server."""
        self._parts: list[Supervised] = []
        self._is_open = False
        self._holder: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None]

    def problems(self) -> dict[str, str]:
        """The parts that are not well, and why."""
        found = {part.name: part.problem for part in self._parts}
        # That part is the store's own: it shows that this process is alive, for what it holds.
        found["heartbeat"] = getattr(self._bench.runner.store, "problem", "")
        return {name: problem for name, problem in found.items() if problem}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """All parts run within this; where they run already, this changes nothing."""
        if self._is_open:
            yield
            return
        try:
            async with self._running():
                yield
        finally:
            await close_all(self._closes)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        bench = self._bench
        self._parts = _parts(bench)
        async with bench.runs.open(), anyio.create_task_group() as group:
            unfinished = await bench.runner.unfinished()
            group.start_soon(_resume_all, bench, unfinished)
            for part in self._parts:
                group.start_soon(part.keep_running)
            group.start_soon(_close_with_host, bench.streams)
            self._is_open = True
            try:
                yield
            finally:
                self._is_open = False
                group.cancel_scope.cancel()

    async def ensure_open(self) -> None:
        """Open it, unless it is: a mounted application's lifespan is not run by its host.

        It is closed with the event loop, which cancels its tasks and waits for them.
        """
        if self._is_open:
            return
        loop = _running_loop()
        if self._holder is None or self._holder.done() or self._holder.get_loop() is not loop:
            self._ready = loop.create_future()
            # A task of its own, in a context of its own: it outlives the request that starts it.
            self._holder = loop.create_task(self._hold(self._ready), context=Context())
        await asyncio.shield(self._ready)

    async def _hold(self, ready: "asyncio.Future[None]") -> None:
        try:
            async with self.open():
                ready.set_result(None)
                await anyio.sleep_forever()
        except Exception as error:  # noqa: BLE001  the request that waits for it is told
            _log.exception("The server's background failed; the next request restarts it")
            if not ready.done():
                ready.set_exception(error)
        finally:
            ready.cancel()


class StartsWithFirstRequest:
    """Opens the background where no lifespan has."""

    def __init__(self, app: ASGIApp, background: Background, door: Door | None) -> None:
        self.app = app
        self._background = background
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on once the background is open; while it cannot be, say why."""
        answer = self.app
        if scope["type"] == "http":
            try:
                await self._background.ensure_open()
            except Exception as error:  # noqa: BLE001  logged where it failed; told to the caller here
                shown = shown_reason(_reason(error), scope, self._door)
                answer = problem_response(503, _NO_START, [f"start: {shown}"])
        await answer(scope, receive, send)


def _parts(bench: Workbench) -> list[Supervised]:
    parts = [
        Supervised("watcher", lambda: watch(bench.notices, lambda: _outlook(bench))),
        Supervised("successor", lambda: _succeed(bench)),
    ]
    if bench.tasks is None or not bench.settings.work:
        return parts
    orchestrator = bench.tasks.orchestrator
    # The first is made here, so that a worker that can never run stops the server from starting.
    worker, is_new = orchestrator.worker(), True

    async def work() -> None:
        nonlocal worker, is_new
        worker, is_new = worker if is_new else orchestrator.worker(), False
        await worker.run()

    return [*parts, Supervised("worker", work, look=lambda: redact(worker.problem))]


def _reason(error: Exception) -> str:
    cause = first_cause(error)
    return f"{type(cause).__name__}: {redact(str(cause))}"


async def _outlook(bench: Workbench) -> Hashable:
    """What the lists depend on and other processes may change."""
    calls = await bench.runner.pending()
    if bench.tasks is None:
        return tuple(call.call_id for call in calls)
    tasks = await bench.tasks.orchestrator.list()
    return (
        tuple(call.call_id for call in calls),
        tuple((task.id, task.status) for task in tasks),
        tuple(call.call_id for _, call in await bench.tasks.orchestrator.pending()),
    )


async def _resume_all(bench: Workbench, rows: Sequence[SessionRow]) -> None:
    """Go on with what a restart or a crash cut off, and with what was answered just before it.

    The latest first, and not all at once: there may be thousands.
    """
    if rows:
        _log.info("Going on with %d sessions that were interrupted or answered", len(rows))
    for row in rows:
        await _resume(bench, row.scope.session_id)
        await anyio.sleep(_RESUME_PAUSE)


async def _succeed(bench: Workbench) -> None:
    """Go on with sessions whose process has died, or was stopped, while this one runs, and with those
    where a deadline has passed.

    Only with those that nobody has and nothing has been written to since the last look: whoever
    answers a call may be about to go on with it. One that cannot go on is not tried again, unless it
    was the store that failed.
    """
    before: dict[str, int] = {}
    tried: dict[str, int] = {}
    while True:
        await anyio.sleep(_SUCCESSION_SECONDS)
        left = await _left_behind(bench)
        tried = {name: at for name, at in tried.items() if left.get(name) == at}
        for name, at in left.items() - tried.items():
            if before.get(name) == at:
                if await _resume(bench, name):
                    tried[name] = at
                await anyio.sleep(_RESUME_PAUSE)
        before = left


async def _left_behind(bench: Workbench) -> dict[str, int]:
    """The unfinished sessions that no process has, and where their logs end."""
    found: dict[str, int] = {}
    for row in await bench.runner.unfinished():
        # Of the store, which says nothing of a session that was deleted meanwhile.
        holder = await bench.runner.store.holder(row.scope)
        is_held = holder is not None and not holder.is_gone
        if not is_held and not bench.runs.is_running(row.scope.session_id):
            found[row.scope.session_id] = row.last_seq
    return found


async def _resume(bench: Workbench, session_id: str) -> bool:
    """Go on with a session, if it still stands as it was found; False if that may be tried again."""
    try:
        row = await bench.sessions.find(session_id)
        status = await bench.sessions.last_run(row)
        if bench.runs.is_running(session_id):
            return True
        if status == "running":
            # The process that has it may have died a moment ago, or be about to stop.
            bench.runs.go_on_when_free(row, partial(_resume, bench, session_id))
        elif status != "interrupted":
            await bench.runs.go_on_with_answers(row, takes_over=True)
        elif is_cancelled(await bench.runner.events(session_id)):
            await bench.runs.abandon(row)
            _log.info(
                "Session %s was cancelled before the server stopped; it has ended", session_id
            )
        else:
            await bench.runs.take_over(row)
            _log.info("Session %s goes on where it was interrupted", session_id)
    except Exception as error:  # noqa: BLE001  one session must not keep the others from going on
        _log.warning("Session %s cannot be resumed: %s", session_id, redact(str(error)))
        return not isinstance(error, StoreError)
    return True


async def _close_with_host(streams: Streams) -> None:
    """End the event streams when the uvicorn around a host application is told to stop.

    It waits for open connections before it runs any shutdown code, and streams do not end by
    themselves. Its signal handler is the only way to it from inside an application.
    """
    while not getattr(_signalled_server(), "should_exit", False):  # noqa: ASYNC110  no event to wait for
        await anyio.sleep(_LOOK_SECONDS)
    streams.close()


def _signalled_server() -> object:
    return getattr(signal.getsignal(signal.SIGINT), "__self__", None)


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError as error:
        raise UsageError(
            "Without asyncio the lifespan of a mounted application must be run by its host: "
            "'async with app.router.lifespan_context(app): yield' in the host's lifespan."
        ) from error
