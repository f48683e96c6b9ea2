"""One lock for each path, for as long as somebody holds or waits for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import anyio

__all__ = ["PathLocks"]


class PathLocks:
    """Lets one task at a time change a path."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, path: str) -> AsyncIterator[None]:
        """Wait for the path, then have it to oneself."""
        lock = self._locks.get(path)
        if lock is None:
            lock = self._locks[path] = anyio.Lock()
        async with lock:
            yield
