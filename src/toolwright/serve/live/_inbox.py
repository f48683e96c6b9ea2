"""What one listener has yet to read: bounded, so that a slow one costs nothing but itself."""

from collections import deque
from typing import Generic, TypeVar

import anyio

__all__ = ["Inbox"]

T = TypeVar("T")


class Inbox(Generic[T]):
    """Items wait here until the listener takes them; when too many wait, all are dropped.

    A listener that is told of a drop reads what it missed from where it is stored.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._items: deque[T] = deque()
        self._news = anyio.Event()
        self._dropped = False

    def put(self, item: T) -> None:
        """Hand over an item; never waits."""
        if len(self._items) >= self._room:
            self._items.clear()
            self._dropped = True
        self._items.append(item)
        self._news.set()

    def drop(self) -> None:
        """Send the listener back to where items are stored."""
        self._items.clear()
        self._dropped = True
        self._news.set()

    async def news(self) -> bool:
        """Wait until something is here; False when items were dropped before it."""
        await self._news.wait()
        return not self._dropped

    def drain(self) -> list[T]:
        """Take all that is here, at once."""
        items = list(self._items)
        self._items.clear()
        self._dropped = False
        self._news = anyio.Event()
        return items
