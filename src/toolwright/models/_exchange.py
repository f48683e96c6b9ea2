"""Where the request that is being made went, and how its answer begins: for the errors about it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["Exchange", "exchange", "exchanging"]

_MOST_BYTES = 4_000
"""More than is ever shown: a key that is cut in two would not be found and hidden."""


@dataclass(slots=True)
class Exchange:
    """One request and what has come of its answer."""

    url: object = None
    status: int | None = None
    is_watched: bool = False
    """Whether the bytes are noted as they come in; else whoever reads them does it."""
    close: Callable[[], Awaitable[None]] | None = None
    """Lets go of the connection, for an SDK that would leave that to the garbage collector."""
    _begins: bytes = b""

    @property
    def begins(self) -> str:
        """The first characters of the answer."""
        return self._begins.decode(errors="replace")

    def asked(self, url: object, *, is_watched: bool = False) -> None:
        """A request goes out; after a redirect it is another one."""
        self.url, self.status, self._begins = url, None, b""
        self.is_watched = is_watched

    def answered(self, status: int) -> None:
        """The head of an answer has come."""
        self.status = status

    def came(self, piece: bytes) -> None:
        """More of the answer has come."""
        if len(self._begins) < _MOST_BYTES:
            self._begins += piece[: _MOST_BYTES - len(self._begins)]


_current: ContextVar[Exchange] = ContextVar("exchange")
"""Of the attempt that is being made. Errors are written in many places, and few of them know it."""


def exchange() -> Exchange:
    """What is known about the request that is being made."""
    return _current.get(None) or Exchange()


@contextmanager
def exchanging() -> Iterator[None]:
    """Make one attempt: what is noted inside is forgotten after it."""
    token = _current.set(Exchange())
    try:
        yield
    finally:
        _current.reset(token)
