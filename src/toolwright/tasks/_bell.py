"""Wake others up when something has changed, instead of having them ask again and again."""

import asyncio
import contextlib
import hashlib
import os
import socket
import tempfile
import threading
import uuid
from pathlib import Path
from typing import Protocol

__all__ = ["Bell", "LocalBell", "open_bell"]


class Bell(Protocol):
    """Rings in every process that listens at the same address. A ring may be lost: it only saves
    time, so whoever waits also looks by itself now and then."""

    async def open(self) -> None:
        """Begin to listen."""
        ...

    def ring(self, topic: str) -> None:
        """Tell all listeners about `topic`. Never blocks, never fails."""
        ...

    async def wait(self, seconds: float) -> set[str]:
        """The topics that have rung since the last time, at the latest after `seconds`."""
        ...

    async def close(self) -> None:
        """Listen no more."""
        ...


class LocalBell:
    """For processes on one machine: each listener has a socket in a directory that all know."""

    def __init__(self, address: str) -> None:
        digest = hashlib.sha256(address.encode()).hexdigest()[:16]
        self._directory = Path(tempfile.gettempdir()) / f"toolwright-bell-{os.getuid()}" / digest
        self._path = self._directory / uuid.uuid4().hex[:12]
        self._socket: socket.socket | None = None
        self._rung = asyncio.Event()
        self._topics: set[str] = set()
        self._lock = threading.Lock()

    async def open(self) -> None:
        """Begin to listen."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(self._path))
        asyncio.get_running_loop().add_reader(self._socket, self._hear)

    def ring(self, topic: str) -> None:
        """Tell all listeners about `topic`; sockets that nobody reads any more are taken away."""
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
        ):
            sender.setblocking(False)
            for path in self._directory.iterdir():
                try:
                    sender.sendto(topic.encode(), str(path))
                except ConnectionRefusedError:
                    path.unlink(missing_ok=True)
                except OSError:
                    # Its buffer is full: it has plenty to wake up for already.
                    continue

    async def wait(self, seconds: float) -> set[str]:
        """The topics that have rung since the last time, at the latest after `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        self._rung.clear()
        topics, self._topics = self._topics, set()
        return topics

    async def close(self) -> None:
        """Listen no more."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._path.unlink(missing_ok=True)
            self._socket = None

    def _hear(self) -> None:
        assert self._socket is not None
        with contextlib.suppress(BlockingIOError):
            while True:
                self._topics.add(self._socket.recv(256).decode(errors="replace"))
                self._rung.set()


def open_bell(url: str) -> Bell:
    """The bell that belongs to a database."""
    if url.startswith("sqlite"):
        return LocalBell(str(Path(url.partition("///")[2]).resolve()))
    from toolwright.tasks._postgres_bell import PostgresBell  # noqa: PLC0415  optional dependency

    return PostgresBell(url)
