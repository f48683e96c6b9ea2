"""Notice an object that is shared by two simulated processes: real ones cannot share it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

from anyio._backends import _asyncio as anyio_asyncio

from toolwright.errors import UsageError
from toolwright.testing.simulation._process import Process, current_process

__all__ = ["watched_locks"]


@contextmanager
def watched_locks() -> Iterator[list[str]]:
    """Refuse to wait for a lock whose holder is dead, since nobody will ever give it back.

    Yields what was refused: an agent may take the error for that of a tool, and go on.
    """
    holders: WeakKeyDictionary[Any, Process | None] = WeakKeyDictionary()
    refused: list[str] = []

    def watched(original: Any) -> Any:
        async def acquire(self: Any) -> Any:
            holder = holders.get(self)
            if holder is not None and not holder.alive and self.locked():
                refused.append(_refusal(holder.name))
                raise UsageError(refused[-1])
            taken = await original(self)
            holders[self] = current_process()
            return taken

        return acquire

    with patch.object(asyncio.Lock, "acquire", watched(asyncio.Lock.acquire)):
        kind = anyio_asyncio.Lock
        with patch.object(kind, "acquire", watched(kind.acquire)):
            yield refused


def _refusal(holder: str) -> str:
    process = current_process()
    here = "the scenario" if process is None else repr(process.name)
    return (
        f"{here} waits for a lock that {holder!r} had when it was killed: an object of one process "
        "is used in another, where real processes have their own. Make the agent, its tools and the "
        "runner inside the function that the process runs."
    )
