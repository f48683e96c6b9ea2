"""A simulated process: it can be killed, paused, and started again; what it runs can be cancelled."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import anyio

from toolwright.testing.simulation._faults import Draw, FaultKind, FaultPlan
from toolwright.testing.simulation._loop import LANE, SimulatedLoop

__all__ = ["GaveUp", "Process", "ProcessDied", "World", "current_process"]

T = TypeVar("T")
Main = Callable[[], Awaitable[T]]


class ProcessDied(Exception):
    """The process was killed. Raised to whoever waits for it, and to whatever is left inside it."""


class GaveUp(Exception):
    """The caller lost patience and cancelled what it had asked for."""


class World(Protocol):
    """What a process stands in."""

    loop: SimulatedLoop
    faults: FaultPlan

    def note(self, text: str) -> None:
        """Add a line to the trace."""
        ...


class Process:
    """One incarnation of a process. All that is started in it belongs to it, with its own handles."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self._world = world
        self.lane = world.loop.add_lane(self)
        self._context = contextvars.copy_context()
        self._context.run(LANE.set, self.lane)
        self.alive = True
        self.away_until = 0.0
        """Until when it cannot reach its stores."""
        self.thread_limiter = anyio.CapacityLimiter(40)
        self.tasks: set[asyncio.Task[Any]] = set()
        self._scopes: list[anyio.CancelScope] = []
        self._waiting: list[asyncio.Future[Any]] = []
        self._draw("kill", 400, self.kill)
        self._draw("pause", 400, lambda drawn: self.pause(drawn.between(0.5, 60), drawn))

    def _draw(self, kind: FaultKind, most: int, action: Callable[[Draw], None]) -> None:
        drawn = self._world.faults.draw(kind, self.name)
        if drawn is not None:
            # Counted in steps, not seconds: a process does little most of the time.
            self.lane.after_steps(drawn.steps(most), lambda: action(drawn))

    # -- running -----------------------------------------------------------------------------

    async def run(self, main: Main[T], *, impatient: bool = False) -> T:
        """What `main` returns, run inside this process.

        Raises `ProcessDied` when the process is killed meanwhile and, if the caller is `impatient`,
        `GaveUp` when it was made to cancel.
        """
        if not self.alive:
            raise ProcessDied(self.name)
        loop = self._world.loop
        done: asyncio.Future[T] = loop.create_future()
        scope = anyio.CancelScope()
        self._scopes.append(scope)
        self._waiting.append(done)
        context = self._context.copy()
        task = loop.create_task(self._main(main, scope), context=context)
        self.tasks.add(task)
        task.add_done_callback(lambda task: _hand_over(task, done))
        if impatient:
            self._draw("cancel", 200, lambda drawn: self._give_up(drawn, scope))
        try:
            return await done
        finally:
            self._waiting.remove(done)
            if not task.done():
                self._cancel(scope)
            self._scopes.remove(scope)

    async def _main(self, main: Main[T], scope: anyio.CancelScope) -> T:
        with scope:
            return await main()
        raise GaveUp(self.name)

    def _give_up(self, drawn: Draw, scope: anyio.CancelScope) -> None:
        if self._world.faults.happens(drawn):
            self._world.note(f"the caller in {self.name} gives up")
            self._cancel(scope)

    def _cancel(self, scope: anyio.CancelScope) -> None:
        """In its own lane: anyio says it again and again until the task has heard it."""
        self._world.loop.call_soon(scope.cancel, context=self._context)

    # -- being hit ---------------------------------------------------------------------------

    def kill(self, drawn: Draw | None = None) -> None:
        """Die between two steps: nothing of it runs any more, not even what cleans up."""
        if not self.alive or (drawn is not None and not self._world.faults.happens(drawn)):
            return
        self._world.note(f"{self.name} is killed")
        self.alive = False
        self._world.loop.drop(self.lane)
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(ProcessDied(self.name))

    def pause(self, seconds: float, drawn: Draw | None = None) -> None:
        """Hold everything in it while the others' time goes on."""
        if drawn is not None and not self._world.faults.happens(drawn, f"for {seconds:.1f} s"):
            return
        self._world.note(f"{self.name} is paused for {seconds:.1f} s")
        self.lane.held = True
        context = contextvars.Context()
        self._world.loop.call_later(seconds, self._wake, context=context)

    def _wake(self) -> None:
        self.lane.held = False
        if self.alive:
            self._world.note(f"{self.name} wakes")

    def stop(self) -> None:
        """Ask it to end, as a service manager does: what it runs is cancelled."""
        for scope in self._scopes:
            self._cancel(scope)

    def must_live(self) -> None:
        """Raise if it is dead: nothing that it still does may count."""
        if not self.alive:
            raise ProcessDied(f"{self.name} is dead and can do nothing")


def current_process() -> Process | None:
    """The process whose code is running; None in the scenario itself."""
    lane = LANE.get(None)
    return None if lane is None else lane.owner


def _hand_over(task: "asyncio.Task[T]", done: "asyncio.Future[T]") -> None:
    if done.done():
        # Nobody waits any more; asked for, so that it is not said to be lost.
        _ = None if task.cancelled() else task.exception()
        return
    if task.cancelled():
        done.set_exception(GaveUp("cancelled"))
    elif (error := task.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(task.result())
