"""A connection to Postgres whose every byte is counted before the driver reads it.

The driver's library reads a message whole, and one value, or one error that quotes it, can be a
gigabyte. So a pair of sockets is put between it and the server, and passed on is what may come.
"""

import os
import select
import socket
import threading
import time
from dataclasses import dataclass
from typing import Any

try:
    import psycopg
    from psycopg.waiting import Ready, Wait
except ImportError as error:
    raise ImportError(
        "SQL tools on Postgres need an extra: pip install 'toolwright[postgres]'"
    ) from error

__all__ = ["CountedConnection", "Watch"]

_CHUNK = 64 * 1024
_TICK = 100
"""Milliseconds after which somebody who waits looks up."""


@dataclass(slots=True)
class Watch:
    """What one use of a connection may still take."""

    deadline: float
    """By the monotonic clock."""
    bytes: int
    abandoned: threading.Event
    """Set when nobody waits for it any more."""

    def check(self) -> None:
        """Raise when it is over."""
        if self.bytes < 0:
            raise psycopg.OperationalError(
                "the answer is too large; select fewer rows and columns, or parts of long values"
            )
        if self.abandoned.is_set() or time.monotonic() > self.deadline:
            raise psycopg.OperationalError("the query took too long")


class CountedConnection(psycopg.Connection[Any]):
    """Ends a wait for the server when it takes too long, gives too much, or nobody wants it.

    After that it is in the middle of an answer, and can only be closed.
    """

    watch: Watch | None = None
    _pair: "_Pair | None" = None

    def interpose(self) -> None:
        """Put the pair of sockets between; once, as soon as it is connected."""
        self._pair = _Pair(self.pgconn.socket)

    def wait(self, gen: Any, *args: Any, **settings: Any) -> Any:
        """What `gen`, a step of the driver's that waits for its socket, comes to."""
        if self._pair is None:
            return super().wait(gen, *args, **settings)
        try:
            wanted = next(gen)
            while True:
                ready, received = self._pair.pass_on(self.pgconn.socket, wanted)
                if self.watch is not None:
                    self.watch.bytes -= received
                    self.watch.check()
                if ready:
                    wanted = gen.send(ready)
        except StopIteration as end:
            return end.value

    def close(self) -> None:
        """Close it, and the sockets between."""
        super().close()
        if self._pair is not None:
            self._pair.close()


class _Pair:
    """Takes the place of a connected socket, and passes on what the two sides send."""

    def __init__(self, number: int) -> None:
        self._server = socket.socket(fileno=os.dup(number))
        self._driver, theirs = socket.socketpair()
        for end in (self._server, self._driver, theirs):
            end.setblocking(False)
        os.dup2(theirs.fileno(), number, inheritable=False)
        theirs.close()
        self._to_driver = self._to_server = b""
        self._is_open = True
        """Whether the server may send something yet."""

    def pass_on(self, number: int, wanted: int) -> tuple[Ready, int]:
        """What the driver can do with its socket, and how much has come; waits for a tick at most."""
        poller = select.poll()
        poller.register(number, _events(wanted & Wait.R, wanted & Wait.W))
        poller.register(self._driver, _events(not self._to_server, self._to_driver))
        if self._is_open:
            poller.register(self._server, _events(not self._to_driver, self._to_server))
        found = dict(poller.poll(_TICK))
        received = self._take_from_server() if self._server.fileno() in found else 0
        if not self._to_server:
            self._to_server = _received(self._driver) or b""
        self._to_server = _unsent(self._server, self._to_server)
        self._to_driver = _unsent(self._driver, self._to_driver)
        # A lost connection can be read from and written to: that is how the driver notices.
        state = found.get(number, 0)
        readable = Ready.R if wanted & Wait.R and state & ~select.POLLOUT else Ready.NONE
        writable = Ready.W if wanted & Wait.W and state & ~select.POLLIN else Ready.NONE
        return Ready(readable | writable), received

    def close(self) -> None:
        """Close both ends; the driver's library has written its farewell by now."""
        _unsent(self._server, _received(self._driver) or b"")
        self._server.close()
        self._driver.close()

    def _take_from_server(self) -> int:
        if self._to_driver:
            return 0
        data = _received(self._server)
        if data == b"":
            self._is_open = False
            self._driver.shutdown(socket.SHUT_WR)
        self._to_driver = data or b""
        return len(self._to_driver)


def _events(reading: object, writing: object) -> int:
    return (select.POLLIN if reading else 0) | (select.POLLOUT if writing else 0)


def _received(source: socket.socket) -> bytes | None:
    """What has come, None if there is nothing yet, nothing at the end."""
    try:
        return source.recv(_CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _unsent(target: socket.socket, data: bytes) -> bytes:
    """What is left of `data` once as much was sent as there is room for."""
    try:
        return data[target.send(data) :] if data else b""
    except BlockingIOError:
        return data
    except OSError:  # It has gone, which reading will tell.
        return b""
