"""One lock for each path, for as long as somebody holds or waits for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import anyio
from anyio.lowlevel import RunVar

__all__ = ["PathLocks"]

# Of each event loop its own: a lock must not be waited for in two. Writers in different loops are
# still told apart by the version they expect.
_LOCKS: RunVar[WeakValueDictionary[tuple[str, str], anyio.Lock]] = RunVar("toolwright_path_locks")


class PathLocks:
    """Lets one task at a time change a path; paths of another `scope` are others."""

    def __init__(self, scope: str) -> None:
        self._scope = scope

    @asynccontextmanager
    async def hold(self, path: str) -> AsyncIterator[None]:
        """Wait for the path, then have it to oneself."""
        async with self._lock(path):
            yield

    def _lock(self, path: str) -> anyio.Lock:
        try:
            locks = _LOCKS.get()
        except LookupError:
            locks = WeakValueDictionary()
            _LOCKS.set(locks)
        lock = locks.get((self._scope, path))
        if lock is None:
            lock = locks[self._scope, path] = anyio.Lock()
        return lock
