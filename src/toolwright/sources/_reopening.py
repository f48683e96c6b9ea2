"""Keep something open, and open it again, with growing pauses, after it broke."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

from toolwright.errors import ToolError, UsageError
from toolwright.sources._owned import Owned

__all__ = ["Breakable", "Reopening", "Unavailable"]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0
_WORTH_WAITING = 1.0
"""A pause this short is waited out; before a longer one ends, callers are told to come back."""
_STABLE = 10.0
"""What broke within so many seconds after it was opened counts as not having opened."""


class Unavailable(ToolError):
    """The server or program behind a tool cannot be reached now."""


class Breakable(Protocol):
    """Something that can tell that it no longer works."""

    @property
    def broken(self) -> bool:
        """Whether it must be opened again."""
        ...


B = TypeVar("B", bound=Breakable)


class Reopening(Generic[B]):
    """One open `B` per event loop, opened on first use.

    While it keeps failing it is tried at growing intervals, and those who ask in between are told
    at once: an agent must not wait for a server that will not come.
    """

    def __init__(
        self, make: Callable[[], AbstractAsyncContextManager[B]], name: str, timeout: float
    ) -> None:
        self._make = make
        self._name = name
        self._timeout = timeout
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Slot[B]] = WeakKeyDictionary()
        self._failures = 0
        self._retry_at = 0.0
        self._last_error = ""

    async def get(self) -> B:
        """The open one, opening it if need be; raises `Unavailable` when that does not work."""
        slot = self._slot()
        if slot.value is not None and slot.works:
            return slot.value
        tried = self._failures
        async with slot.lock:
            if slot.value is not None and slot.works:
                return slot.value
            if self._failures > tried:
                # Somebody else has just tried in vain: what waited meanwhile need not try again.
                raise Unavailable(f"{self._name} is not available: {self._last_error}.")
            await self._clear(slot)
            return await self._open(slot)

    async def close(self) -> None:
        """Close it in every loop; it may be opened again later."""
        here = asyncio.get_running_loop()
        for loop, slot in list(self._by_loop.items()):
            if loop is here:
                await slot.close()
            elif loop.is_running() and slot.owner is not None:
                loop.call_soon_threadsafe(slot.owner.request_close)
        self._by_loop.clear()

    def _slot(self) -> "_Slot[B]":
        loop = asyncio.get_running_loop()
        slot = self._by_loop.get(loop)
        if slot is None:
            slot = self._by_loop[loop] = _Slot()
        return slot

    async def _clear(self, slot: "_Slot[B]") -> None:
        """Close what broke; what somebody began to open and did not wait for is left to open."""
        if slot.value is None:
            return
        if time.monotonic() - slot.opened_at < _STABLE:
            self._note_failure("it stopped right after it was started")
        await slot.close()

    async def _open(self, slot: "_Slot[B]") -> B:
        if slot.owner is None or slot.owner.ended:
            await self._pause()
            slot.owner = Owned(self._make, self._timeout)
        try:
            slot.value = await slot.owner.opened()
        except UsageError:
            raise
        except Exception as error:
            self._note_failure(str(error) or type(error).__name__)
            raise Unavailable(f"{self._name} is not available: {self._last_error}.") from error
        slot.opened_at = time.monotonic()
        return slot.value

    async def _pause(self) -> None:
        wait = self._retry_at - time.monotonic()
        if wait > _WORTH_WAITING:
            raise Unavailable(
                f"{self._name} is not available ({self._last_error}); "
                f"it will be tried again in {wait:.0f} s."
            )
        await asyncio.sleep(max(wait, 0))

    def _note_failure(self, reason: str) -> None:
        if time.monotonic() - self._retry_at > _LONGEST_PAUSE:
            self._failures = 0
        self._last_error = reason.rstrip(".\n")
        # The first time at once: most that break have only been restarted.
        pause = min(_FIRST_PAUSE * 2 ** (self._failures - 1), _LONGEST_PAUSE)
        pause = pause if self._failures else 0.0
        self._failures += 1
        self._retry_at = time.monotonic() + pause


class _Slot(Generic[B]):
    """What one event loop has open."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.owner: Owned[B] | None = None
        self.value: B | None = None
        self.opened_at = 0.0

    @property
    def works(self) -> bool:
        return (
            self.value is not None
            and not self.value.broken
            and self.owner is not None
            and not self.owner.ended
        )

    async def close(self) -> None:
        owner, self.owner, self.value = self.owner, None, None
        if owner is not None:
            await owner.close()
