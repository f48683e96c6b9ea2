"""An event loop on a virtual clock: it never sleeps, and one seed decides what happens next."""

import asyncio
import contextvars
import heapq
import itertools
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from toolwright.errors import UsageError

__all__ = ["LANE", "Lane", "Livelock", "SimulatedLoop", "deliver"]

T = TypeVar("T")

STEP_SECONDS = 20e-6
"""What one step costs, so that a busy process does not stop the clock."""
MOST_STEPS = 100_000
"""How many steps there may be without a moment in which everybody waits."""
_QUICKEST, _DECADES = 10e-6, 2.0
"""A piece of work in a thread takes between ten microseconds and a millisecond."""


class Livelock(BaseException):
    """Somebody goes round without ever waiting for anything; nothing else may catch it."""


class Lane:
    """The callbacks of one process, in the order in which they were scheduled.

    Within a process the order is asyncio's own; which process moves next is drawn. So every
    schedule that the loop finds is one that real processes could have had.
    """

    def __init__(self, owner: Any = None) -> None:
        self.owner = owner
        self.handles: deque[asyncio.Handle] = deque()
        self.steps = 0
        self.held = False
        """Paused: its callbacks gather, and wait."""
        self.dead = False
        """Its callbacks are dropped."""
        self._alarms: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def after_steps(self, steps: int, action: Callable[[], None]) -> None:
        """Call `action` between two callbacks, when so many more have run."""
        heapq.heappush(self._alarms, (self.steps + steps, next(self._numbers), action))

    def advance(self) -> None:
        """Run the next callback, then what was to happen after it."""
        handle = self.handles.popleft()
        if handle.cancelled():
            return
        handle._run()  # type: ignore[missing-attribute]
        self.steps += 1
        while self._alarms and self._alarms[0][0] <= self.steps:
            heapq.heappop(self._alarms)[2]()


LANE: contextvars.ContextVar[Lane] = contextvars.ContextVar("simulated lane")
"""Whose callback is running; every task and timer inherits it from whoever made it."""


class _Task(asyncio.Task[Any]):
    """A task whose place in a set does not depend on where in memory it is."""

    number = 0

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


class SimulatedLoop(asyncio.BaseEventLoop):
    """Does no input or output: time jumps to the next timer as soon as nobody can move."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.outside = Lane()
        """The scenario itself, which no fault hits."""
        self.steps = 0
        self._idle_at = 0
        self._random = random
        self._now = 1_000.0
        self._lanes = [self.outside]
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = itertools.count(1)
        self.set_task_factory(self._make_task)

    def time(self) -> float:
        """Virtual seconds."""
        return self._now

    def add_lane(self, owner: Any) -> Lane:
        """A lane for a new process."""
        lane = Lane(owner)
        self._lanes.append(lane)
        return lane

    def drop(self, lane: Lane) -> None:
        """Nothing of this lane runs any more."""
        lane.dead = True
        lane.handles.clear()
        self._lanes.remove(lane)

    # -- scheduling --------------------------------------------------------------------------

    def call_soon(
        self, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """As asyncio's, in the lane that the callback belongs to."""
        handle = asyncio.Handle(callback, args, self, context)
        self._lane(context).handles.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """As asyncio's."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """As asyncio's."""
        timer = asyncio.TimerHandle(
            when, callback, args, self, context or contextvars.copy_context()
        )
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def in_thread(self, work: Callable[[], T], pause: float = 0.0) -> "asyncio.Future[T]":
        """What `work` returns. It runs between two steps, and is known to have run some time later.

        A process that dies before never does it; one that dies between the two has done it.
        """
        future: asyncio.Future[T] = self.create_future()
        context = contextvars.copy_context()

        def execute() -> None:
            asyncio._set_running_loop(None)
            try:
                value, error = work(), None
            except BaseException as caught:  # noqa: BLE001 - raised again where it was asked for
                value, error = None, caught
            finally:
                asyncio._set_running_loop(self)
            self.call_later(self.latency(), deliver, future, value, error, context=context)

        self.call_later(self.latency() + pause, execute, context=context)
        return future

    def latency(self) -> float:
        """How long something quick takes."""
        return _QUICKEST * 10 ** (_DECADES * self._random.random())

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """As asyncio's, without a thread."""
        return self.in_thread(lambda: func(*args))

    # -- what asyncio asks of a loop ---------------------------------------------------------

    def _run_once(self) -> None:
        self.steps += 1
        self._now += STEP_SECONDS
        self._take_due(self._now)
        ready = [lane for lane in self._lanes if lane.handles and not lane.held]
        if ready:
            lane = ready[0] if len(ready) == 1 else self._random.choice(ready)
            if self.steps - self._idle_at > MOST_STEPS:
                self._idle_at = self.steps
                raise Livelock(_where(lane.handles[0]))
            lane.advance()
        else:
            self._idle_at = self.steps
            if self._timers:
                self._now = max(self._now, self._timers[0][0])

    def _take_due(self, now: float) -> None:
        timers = self._timers
        while timers and timers[0][0] <= now:
            timer = heapq.heappop(timers)[2]
            if not timer.cancelled():
                self._lane(timer._context).handles.append(timer)  # type: ignore[missing-attribute]

    def _lane(self, context: contextvars.Context | None) -> Lane:
        lane = LANE.get(self.outside) if context is None else context.get(LANE, self.outside)
        # A dead process cannot schedule anything; what others owe it goes nowhere.
        return _NOWHERE if lane.dead else lane

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **settings: Any
    ) -> asyncio.Task[Any]:
        task = _Task.__new__(_Task)
        task.number = next(self._numbers)
        task.__init__(coroutine, loop=loop, **settings)
        return task

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are left out when they are due."""

    def _write_to_self(self) -> None:
        """Nobody waits in a system call that would have to be woken."""

    def _process_events(self, event_list: Any) -> None:
        """There is no input or output."""

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:
        """Refused: nothing real may take part."""
        raise UsageError(
            "A simulation does no input or output, so that a seed always gives the same run; "
            "put a simulated service in the place of the socket."
        )

    add_writer = add_reader


def _where(handle: asyncio.Handle) -> str:
    """What would run next: the innermost line that is not of the library that waits for it."""
    task = getattr(handle._callback, "__self__", None)  # type: ignore[missing-attribute]
    inner: Any = task.get_coro() if isinstance(task, asyncio.Task) else None
    found = repr(handle)
    while (frame := getattr(inner, "cr_frame", None)) is not None:
        code = frame.f_code
        if frame.f_globals.get("__name__", "").partition(".")[0] not in ("asyncio", "anyio"):
            found = f"{code.co_filename}:{frame.f_lineno} in {code.co_qualname}"
        inner = inner.cr_await
    return found


class _Nowhere(Lane):
    """Takes what is meant for the dead."""

    def __init__(self) -> None:
        super().__init__()
        self.handles = deque(maxlen=0)


_NOWHERE = _Nowhere()


def deliver(future: "asyncio.Future[Any]", value: Any, error: BaseException | None) -> None:
    """Give a future what it waits for, unless it was cancelled."""
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)
