"""How long the server waits for a client, and how many connections one may have."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from toolwright.serve._log_limit import FewLines

__all__ = ["MAX_HEAD", "PROGRESS", "Patience", "waiting_with"]

MAX_HEAD = 32 * 1024
"""Bytes of a request before its body; what is longer is refused."""
PROGRESS = 16 * 1024
"""Bytes of a body with which a client shows that it is still there."""
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-length: 0\r\n\r\n"
)
_log = logging.getLogger(__name__)
_log.addFilter(FewLines(most=1))
_Protocol: Any = AutoHTTPProtocol
"""One of two, with h11 or httptools; both have what is used here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """What one client address may hold, and for how long it may do nothing with it."""

    head: float = 10.0
    """Seconds for the first line and headers of a request, from the connection's first moment on."""
    body: float = 20.0
    """Seconds for each 16 KB of a request's body, and for what is left of it."""
    reading: float = 60.0
    """Seconds without reading anything of an answer that waits to be read."""
    connections: int = 500
    """Open at once from one address."""
    all_connections: int = 10_000
    """Open at once."""


def waiting_with(patience: Patience) -> Callable[..., asyncio.Protocol]:
    """uvicorn's protocol, which closes connections of clients that wait for its patience to end."""
    held: Counter[str | None] = Counter()
    """Connections that are open, by address."""

    class Impatient(_Protocol):  # type: ignore[misc]
        def __init__(self, *args: Any, **settings: Any) -> None:
            super().__init__(*args, **settings)
            self._coming: asyncio.TimerHandle | None = None
            """Ends the connection when the request does not come."""
            self._going: asyncio.TimerHandle | None = None
            """Ends it when the answer does not go."""
            self._since = 0
            """Bytes of the body since the clock was set."""
            self._head = 0
            """Bytes of a head that has not ended."""
            self._left = 0
            self._watching: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            held[_address(self)] += 1
            if len(self.connections) > patience.all_connections:
                _log.warning(
                    "%d connections are open, as many as this process may have; others are refused",
                    patience.all_connections,
                )
                transport.write(_FULL)
                transport.close()
            elif held[_address(self)] > patience.connections:
                transport.abort()
            else:
                self._expect(patience.head)
            self._watch()

        def data_received(self, data: bytes) -> None:
            if not self._is_answering and self._coming is None:
                self._expect(patience.head)  # The next request on a connection that was kept.
            was_answering = self._is_answering
            is_head = self.cycle is None or not self.cycle.more_body
            super().data_received(data)
            if not self._is_answering:
                self._head += len(data) if is_head else 0
                # What is not much longer is refused in words, once it has come.
                if self._head > 2 * MAX_HEAD:
                    self.transport.abort()
                return
            self._head = 0
            self._since += len(data)
            if not self.cycle.more_body:
                self._expect(None)
            elif not was_answering or self._since >= PROGRESS:
                self._expect(patience.body)

        def connection_lost(self, exc: Exception | None) -> None:
            self._expect(None)
            if self._watching is not None:
                self._watching.cancel()
            self.resume_writing()
            address = _address(self)
            held[address] -= 1
            if not held[address]:
                del held[address]
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._going = self.loop.call_later(patience.reading, self.transport.abort)

        def resume_writing(self) -> None:
            if self._going is not None:
                self._going.cancel()
                self._going = None
            super().resume_writing()

        def _watch(self) -> None:
            """End a connection that is closed here and of which the other side reads nothing."""
            left = self.transport.get_write_buffer_size() if self.transport.is_closing() else 0
            if left and left == self._left:
                self.transport.abort()
                return
            self._left = left
            self._watching = self.loop.call_later(patience.reading, self._watch)

        @property
        def _is_answering(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _expect(self, seconds: float | None) -> None:
            """Set the clock for what must come; None when nothing must."""
            if self._coming is not None:
                self._coming.cancel()
            self._since = 0
            self._coming = None if seconds is None else self.loop.call_later(seconds, self._late)

        def _late(self) -> None:
            self._coming = None
            if self._is_answering and (self.flow.read_paused or not self.cycle.more_body):
                return  # It is we who do not read, or all has come meanwhile.
            self.transport.abort()

    return Impatient


def _address(connection: Any) -> str | None:
    return connection.client[0] if connection.client else None
