"""Things that are opened once per key, such as a sandbox per session, and closed when not needed."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar

import anyio

from toolwright.concurrency._closing import close_all

__all__ = ["SessionTable"]

logger = logging.getLogger("toolwright")


class Closeable(Protocol):
    """Something that is closed once."""

    async def close(self) -> None:
        """Let go of it."""
        ...


T = TypeVar("T", bound=Closeable)


class SessionTable(Generic[T]):
    """Opens on first use; two first users get the same one, and a cancelled one leaks nothing.

    Closes what was idle for `idle` seconds, and, when another is asked for, the least recently used
    beyond `most`; never what is in use. What was opened for the key None, that is for nobody yet, is
    handed to the first who comes.

    Nobody may call again, and the event loop may be over by then: what is idle is closed in a thread
    and an event loop of its own.
    """

    def __init__(self, open_one: Callable[[], Awaitable[T]], *, most: int, idle: float) -> None:
        self._open = open_one
        self._most = most
        self._idle = idle
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()
        self._lock = threading.Lock()
        """Held for moments, while entries are taken or given up."""
        self._timer: threading.Timer | None = None

    def __len__(self) -> int:
        return len(self._entries)

    @asynccontextmanager
    async def use(self, key: Hashable) -> AsyncIterator[T]:
        """The one for `key`, which stays open as long as this context."""
        with self._lock:
            entry = self._entry(key)
            entry.users += 1
        try:
            await self._close_unused()
            yield await self._opened(entry)
        finally:
            with self._lock:
                entry.users -= 1
                entry.used_at = time.monotonic()
                if entry.value is None and not entry.users and self._entries.get(key) is entry:
                    del self._entries[key]
                self._look_later()

    async def drop(self, key: Hashable) -> None:
        """Close the one for `key`, in use or not."""
        with self._lock:
            entry = self._entries.pop(key, None)
        if entry is not None:
            await close_all([entry.close])

    async def close(self) -> None:
        """Close them all; they may be opened again."""
        with self._lock:
            entries, self._entries = list(self._entries.values()), OrderedDict()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        await close_all([entry.close for entry in entries])

    def _entry(self, key: Hashable) -> "_Entry[T]":
        found = self._entries.get(key)
        nobodys = self._entries.get(None)
        if found is None and nobodys is not None and not nobodys.users:
            found = self._entries.pop(None)
        self._entries[key] = found = found or _Entry()
        self._entries.move_to_end(key)
        return found

    async def _opened(self, entry: "_Entry[T]") -> T:
        async with entry.lock:
            if entry.value is None:
                # Shielded: what was half open when its first user left would belong to nobody.
                with anyio.CancelScope(shield=True):
                    entry.value = await self._open()
            if entry.dropped:
                await entry.close_value()
                raise RuntimeError("The session ended while this was being opened for it.")
            return entry.value

    async def _close_unused(self) -> None:
        with self._lock:
            old = time.monotonic() - self._idle
            unused = [key for key, entry in self._entries.items() if not entry.users]
            surplus = set(unused[: max(0, len(self._entries) - self._most)])
            surplus |= {key for key in unused if self._entries[key].used_at <= old}
            closes = [self._entries.pop(key).close for key in surplus]
        await close_all(closes)

    def _look_later(self) -> None:
        """Look again when the first that is unused will have been idle for long enough."""
        unused = [entry.used_at for entry in self._entries.values() if not entry.users]
        if unused and self._timer is None:
            seconds = max(0.0, min(unused) + self._idle - time.monotonic())
            self._timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        try:
            anyio.run(self._close_unused)
        except Exception:
            logger.exception("Something that was idle could not be closed.")
        with self._lock:
            self._timer = None
            self._look_later()


class _Entry(Generic[T]):
    """One open thing, or the place for it."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.value: T | None = None
        self.users = 0
        self.used_at = time.monotonic()
        self.dropped = False

    async def close(self) -> None:
        self.dropped = True
        # Whoever is opening it right now finds out, and closes it.
        if not self.lock.locked():
            await self.close_value()

    async def close_value(self) -> None:
        value, self.value = self.value, None
        if value is not None:
            await value.close()
