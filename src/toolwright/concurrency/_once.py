"""Something that is looked up or opened when it is first needed, by one caller for all."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["Once"]

T = TypeVar("T")


class Once(Generic[T]):
    """What `open_it` gives, kept; when it fails or its caller is cancelled, the next one tries."""

    def __init__(self, open_it: Callable[[], Awaitable[T]]) -> None:
        self._open = open_it
        self._kept: list[T] = []
        # Of each event loop its own: a lock cannot wake a waiter in another one.
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    @property
    def opened(self) -> T | None:
        """What there is so far."""
        return self._kept[0] if self._kept else None

    async def get(self) -> T:
        """What there is, opening it if need be; of two first callers one waits for the other."""
        if not self._kept:
            async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                if not self._kept:
                    self._kept.append(await self._open())
        return self._kept[0]
