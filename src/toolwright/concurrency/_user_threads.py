"""Daemon threads for plain functions that users write: bounded, abandoned when nobody waits any more.

Not anyio's worker threads: the interpreter joins those when it exits, so one blocked function would
hold it up, and framework I/O in the same pool could wait for a thread that waits for it.
"""

import asyncio
import contextvars
import functools
import inspect
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from toolwright.errors import UsageError

__all__ = ["await_from_thread", "call_user", "in_user_thread", "set_thread_limit"]

T = TypeVar("T")
_LIMIT = 40
_MOST = 1000
"""Threads of all kinds: at work, abandoned, or waiting for the event loop."""
_IDLE_SECONDS = 10.0


async def in_user_thread(
    call: Callable[[], T], on_abandon: Callable[[bool], None] | None = None
) -> T:
    """What `call()` returns, run in a thread with the caller's context variables.

    Python cannot stop a thread: a cancelled caller stops waiting, and `on_abandon` learns whether
    the function had started. One that had not never will.
    """
    loop = asyncio.get_running_loop()
    job = _Job(call, loop)
    _POOL.submit(job)
    try:
        return await job.future
    except asyncio.CancelledError:
        started = _POOL.abandon(job)
        if on_abandon is not None:
            on_abandon(started)
        raise


async def call_user(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What a user's function comes to: an async one awaited here, a plain one in a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*args, **named)
    value = await in_user_thread(functools.partial(function, *args, **named))
    return await value if inspect.isawaitable(value) else value


def await_from_thread(awaitable: Awaitable[T]) -> T:
    """Await something in the event loop that the current thread's function was called from.

    It is cancelled together with that call. While it waits, the thread does not count.
    """
    job = getattr(_CURRENT, "job", None)
    if job is None:
        if asyncio.iscoroutine(awaitable):
            awaitable.close()
        raise UsageError(
            "Only a plain function that runs in its own thread can wait like this; "
            "in async code write `await …` instead."
        )
    return _POOL.wait(job, awaitable)


def set_thread_limit(limit: int) -> None:
    """Let at most `limit` plain functions (40 by default) run at once in this process."""
    if limit < 1:
        raise UsageError(f"At least one thread is needed; got {limit!r}.")
    _POOL.set_limit(limit)


class _Job:
    """One call: its function, and who waits for it."""

    __slots__ = ("abandoned", "call", "context", "future", "inner", "loop", "started")

    def __init__(self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.call = call
        self.loop = loop
        self.context = contextvars.copy_context()
        self.future: asyncio.Future[Any] = loop.create_future()
        self.started = False
        self.abandoned = False
        self.inner: Future[Any] | None = None
        """What its thread waits for in the event loop."""


class _Outbox:
    """Results on their way to one event loop, which is woken once for all that have gathered."""

    __slots__ = ("_results", "_scheduled")

    def __init__(self) -> None:
        self._results: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._scheduled = False

    def put(self, job: _Job, value: Any, error: BaseException | None) -> None:
        self._results.append((job.future, value, error))
        # Read after the append: whoever sees True here knows that `_deliver` is yet to look.
        if not self._scheduled:
            self._scheduled = True
            try:
                job.loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:
                self._results.clear()  # the loop is closed: nobody waits any more

    def _deliver(self) -> None:
        self._scheduled = False
        while self._results:
            future, value, error = self._results.popleft()
            if future.done():
                continue
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)


class _Pool:
    """Wakes one thread at a time; a thread that finds more work wakes the next.

    Waking a thread for every call of a burst would have all of them compete for the interpreter
    while one could do the work of short functions alone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: deque[_Job] = deque()
        self._idle: list[_Worker] = []
        self._limit = _LIMIT
        self._threads = 0
        self._uncounted = 0
        """Threads whose function was abandoned, or that wait for the event loop."""
        self._waking = False
        self._outboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, _Outbox] = WeakKeyDictionary()

    def submit(self, job: _Job) -> None:
        with self._lock:
            self._jobs.append(job)
            worker = self._next_worker()
        if worker is not None:
            worker.wake()

    def abandon(self, job: _Job) -> bool:
        """Whether the function had started."""
        worker = inner = None
        with self._lock:
            job.abandoned = True
            if job.started and job.call is not _nothing:
                self._uncounted += 1
                worker, inner = self._next_worker(), job.inner
        if worker is not None:
            worker.wake()
        if inner is not None:
            inner.cancel()
        return job.started

    def wait(self, job: _Job, awaitable: Awaitable[T]) -> T:
        async def settle() -> T:
            return await awaitable

        with self._lock:
            self._uncounted += 1
            worker = self._next_worker()
        if worker is not None:
            worker.wake()
        try:
            inner = job.inner = asyncio.run_coroutine_threadsafe(settle(), job.loop)
            if job.abandoned:
                inner.cancel()
            return inner.result()
        finally:
            job.inner = None
            with self._lock:
                self._uncounted -= 1

    def set_limit(self, limit: int) -> None:
        with self._lock:
            self._limit = limit
            worker = self._next_worker()
        if worker is not None:
            worker.wake()

    def take(self, worker: "_Worker", *, woken: bool) -> tuple["_Job | None", "_Worker | None"]:
        """The next job for `worker`, and whom to wake for the one after it; raises `_SuperfluousError`."""
        with self._lock:
            if woken:
                self._waking = False
            if self._at_work() > self._limit:
                # As many as the limit are at work, and each looks here again before it sleeps.
                self._threads -= 1
                raise _SuperfluousError
            while self._jobs:
                job = self._jobs.popleft()
                if not job.abandoned:
                    job.started = True
                    return job, self._next_worker()
            self._idle.append(worker)
            return None, None

    def finish(self, job: _Job, value: Any, error: BaseException | None) -> None:
        with self._lock:
            job.call = _nothing
            if job.abandoned:
                self._uncounted -= 1
                return
            outbox = self._outboxes.get(job.loop)
            if outbox is None:
                # It does not know its loop, which would then never be let go of.
                outbox = self._outboxes[job.loop] = _Outbox()
        outbox.put(job, value, error)

    def retire(self, worker: "_Worker") -> bool:
        """Let an idle worker go, unless it has just been woken."""
        with self._lock:
            if worker not in self._idle:
                return False
            self._idle.remove(worker)
            self._threads -= 1
            return True

    def give_back(self) -> None:
        """A thread that was counted could not be started."""
        with self._lock:
            self._threads -= 1
            self._waking = False

    def _next_worker(self) -> "_Worker | None":
        if self._waking or not self._jobs:
            return None
        if self._at_work() >= self._limit:
            return None
        if self._idle:
            self._waking = True
            return self._idle.pop()
        if self._threads >= _MOST:
            return None
        self._threads += 1
        self._waking = True
        return _Worker(self)

    def _at_work(self) -> int:
        return self._threads - self._uncounted - len(self._idle)


class _SuperfluousError(Exception):
    """There are more threads than the limit allows."""


class _Worker:
    """One thread, asleep while there is nothing to do."""

    def __init__(self, pool: _Pool) -> None:
        self._pool = pool
        self._alarm = threading.Lock()
        self._alarm.acquire()
        self._started = False

    def wake(self) -> None:
        if self._started:
            self._alarm.release()
            return
        self._started = True
        try:
            threading.Thread(target=self._work, name="toolwright user", daemon=True).start()
        except BaseException:
            self._pool.give_back()
            raise

    def _work(self) -> None:
        woken = True
        while True:
            try:
                job, other = self._pool.take(self, woken=woken)
            except _SuperfluousError:
                return
            if other is not None:
                other.wake()
            if job is not None:
                self._run(job)
                # Not kept while asleep: arguments and results may be large.
                job = None
                woken = False
            elif self._sleep():
                woken = True
            else:
                return

    def _run(self, job: _Job) -> None:
        value, error = None, None
        _CURRENT.job = job
        try:
            value = job.context.run(job.call)
        except StopIteration as stop:
            # A future cannot carry it: the awaiting coroutine would seem to return.
            error = RuntimeError("the function raised StopIteration")
            error.__cause__ = stop
        except BaseException as caught:  # noqa: BLE001 - whoever awaits it gets it
            error = caught
        finally:
            _CURRENT.job = None
        self._pool.finish(job, value, error)

    def _sleep(self) -> bool:
        """Whether there is work again; False when it was idle for too long."""
        if self._alarm.acquire(timeout=_IDLE_SECONDS):
            return True
        if self._pool.retire(self):
            return False
        return self._alarm.acquire()


def _nothing() -> None:
    """What a job that is over would call."""


_CURRENT = threading.local()
_POOL = _Pool()


def _after_fork() -> None:
    """The child of a fork has none of the threads."""
    global _POOL
    _POOL = _Pool()


os.register_at_fork(after_in_child=_after_fork)
