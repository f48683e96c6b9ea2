"""One SDK client for each event loop, because open connections belong to the loop that made them."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from anyio.lowlevel import current_token

__all__ = ["PerLoop"]

C = TypeVar("C")


class PerLoop(Generic[C]):
    """Makes a client when a loop first needs one; `run_sync` starts a new loop each time.

    Clients that are not `owned` are somebody else's to close.
    """

    def __init__(self, make: Callable[[], C], *, owned: bool = True) -> None:
        self._make = make
        self._owned = owned
        self._clients: dict[Any, C] = {}

    def get(self) -> C:
        """The running loop's client."""
        loop = current_token().native_token
        client = self._clients.get(loop)
        if client is None:
            self._forget_closed_loops()
            client = self._clients[loop] = self._make()
        return client

    def forget(self) -> C | None:
        """Take the running loop's client out, to be closed; None when there is none to close."""
        client = self._clients.pop(current_token().native_token, None)
        return client if self._owned else None

    def _forget_closed_loops(self) -> None:
        # Of a copy, and gone is gone: other threads add theirs and forget the same ones.
        for loop in list(self._clients):
            if _is_closed(loop):
                self._clients.pop(loop, None)


def _is_closed(loop: Any) -> bool:
    """Only asyncio's loops can say; other libraries' are never reused."""
    return hasattr(loop, "is_closed") and loop.is_closed()
