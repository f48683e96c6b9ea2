"""A context that one task of its own enters and leaves, so that any task may use and close it."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from toolwright.concurrency import first_cause

__all__ = ["Owned"]

T = TypeVar("T")
_GOODBYE = 10.0
"""Seconds until what does not end by itself is cancelled."""
_log = logging.getLogger("toolwright.sources")


class Owned(Generic[T]):
    """Keeps `make()` entered until `close`, or until it fails by itself.

    Connections hold task groups, which must be left by the task that entered them, while toolsets
    are listed in one task, called in others and closed in a third. The owner is a plain asyncio
    task because it must outlive the caller: no task group around that call could hold it.
    """

    def __init__(self, make: Callable[[], AbstractAsyncContextManager[T]], timeout: float) -> None:
        self._timeout = timeout
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._own(make))

    @property
    def ended(self) -> bool:
        """Whether the context has been left."""
        return self._task.done()

    async def opened(self) -> T:
        """The value, once it is there; raises what entering raised, or `TimeoutError`."""
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.shield(self._ready)
        except TimeoutError:
            self._task.cancel()
            await asyncio.wait({self._task})
            raise TimeoutError(f"not ready after {self._timeout:g} s") from None

    async def close(self) -> None:
        """Leave the context and wait until that is done; not for ever."""
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()
        _, late = await asyncio.wait({self._task}, timeout=_GOODBYE)
        if late:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=_GOODBYE)

    def request_close(self) -> None:
        """Leave the context soon; for callers that cannot wait, from the owner's own loop."""
        self._stop.set()

    async def _own(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        try:
            async with make() as value:
                if not self._ready.done():
                    self._ready.set_result(value)
                await self._stop.wait()
        except asyncio.CancelledError:
            self._fail(ConnectionError("closed before it was ready"))
            raise
        except Exception as error:  # noqa: BLE001 - the waiting caller gets it, or the log
            self._fail(first_cause(error))

    def _fail(self, error: Exception) -> None:
        if self._ready.done():
            _log.debug("A connection ended: %r", error)
            return
        self._ready.set_exception(error)
        self._ready.exception()  # Seen: nobody may be waiting any more.
