"""Wake others up when something has changed, instead of having them ask again and again."""

import asyncio
import contextlib
import hashlib
import logging
import os
import socket
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

from toolwright._private import is_private, make_private_directory, private_directory
from toolwright.backends import sqlite_path
from toolwright.backends._own_paths import hide_directory
from toolwright.concurrency import begin_anew_after_fork

__all__ = ["LATER", "Bell", "Ear", "Ears", "Kind", "LocalBell", "open_bell"]

Kind = Literal["work", "steer", "task"]
"""There is work; something was left for a task (`steer:ID`); a task has moved (`task:ID`)."""
LATER = "work:later"
"""There is work that starts later."""
_log = logging.getLogger("toolwright")


class Bell(Protocol):
    """Rings in every process that listens at the same address. A ring may be lost: it only saves
    time, so whoever waits also looks by itself now and then."""

    async def open(self) -> None:
        """Begin to listen."""
        ...

    def ring(self, topic: str) -> None:
        """Tell all who listen for this kind of topic. Never blocks, never fails."""
        ...

    def listen(self) -> "contextlib.AbstractContextManager[Ear]":
        """An ear that hears every ring from now on."""
        ...

    async def close(self) -> None:
        """Listen no more."""
        ...


class Ear:
    """Remembers what has rung until it is asked."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._rung = asyncio.Event()

    def hear(self, topic: str) -> None:
        """Something rang."""
        self._topics.add(topic)
        self._rung.set()

    async def wait(self, seconds: float) -> set[str]:
        """The topics that have rung since the last time, at the latest after `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        self._rung.clear()
        topics, self._topics = self._topics, set()
        return topics


class Ears:
    """All that listen through one bell."""

    def __init__(self) -> None:
        self._ears: set[Ear] = set()

    @contextlib.contextmanager
    def listen(self) -> Iterator[Ear]:
        """An ear that hears every ring from now on."""
        ear = Ear()
        self._ears.add(ear)
        try:
            yield ear
        finally:
            self._ears.discard(ear)

    def hear(self, topic: str) -> None:
        """Tell them all."""
        for ear in self._ears:
            ear.hear(topic)


class LocalBell(Ears):
    """For processes on one machine: each listener has a socket in a directory that all know.

    What it listens for is in the socket's name, so that others ring only where it is of use.
    """

    def __init__(self, file: Path, kinds: tuple[Kind, ...] = ()) -> None:
        super().__init__()
        digest = hashlib.sha256(os.fsencode(file)).hexdigest()[:16]
        self._root = _short(tempfile.gettempdir()) / f"toolwright-bell-{os.getuid()}"
        self._directory = self._root / digest
        self._kinds = kinds
        self._path = self._directory
        self._socket: socket.socket | None = None
        begin_anew_after_fork(self)

    def after_fork(self) -> None:
        """Leave the parent its socket, and its name."""
        self._ears.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def open(self) -> None:
        """Begin to listen; in a directory that somebody else has put there, nobody does."""
        hide_directory(self._root)
        if not private_directory(self._root):
            _log.warning(
                "%s is not this user's own; workers look for work by themselves", self._root
            )
            return
        make_private_directory(self._directory)
        self._path = self._directory / ".".join((uuid.uuid4().hex[:12], *self._kinds))
        self._socket = _new_socket()
        self._socket.bind(str(self._path))
        self._path.chmod(0o600)  # Who may not write to it cannot ring.
        asyncio.get_running_loop().add_reader(self._socket, self._receive)

    def ring(self, topic: str) -> None:
        """Tell all who listen for it; sockets that nobody reads any more are taken away."""
        if not is_private(self._root):
            return
        kind = topic.partition(":")[0]
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(self._directory) if kind in name.split(".")]
            # Not kept between rings: whoever rings may never close, and one costs microseconds.
            with _new_socket() as sender:
                for name in names:
                    _send(sender, topic, self._directory / name)

    async def close(self) -> None:
        """Listen no more."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._path.unlink(missing_ok=True)
            self._socket = None

    def _receive(self) -> None:
        assert self._socket is not None
        with contextlib.suppress(BlockingIOError):
            while True:
                self.hear(self._socket.recv(256).decode(errors="replace"))


def _new_socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)


def _send(sender: socket.socket, topic: str, path: Path) -> None:
    try:
        sender.sendto(topic.encode(), str(path))
    except ConnectionRefusedError:
        path.unlink(missing_ok=True)
    except OSError:
        # Its buffer is full: it has plenty to wake up for already.
        return


def _short(directory: str) -> Path:
    """A directory whose sockets' names are not too long for the system, which takes 107 bytes."""
    return Path(directory if len(directory) <= 40 else "/tmp")  # noqa: S108 - a private folder below


def open_bell(url: str, *kinds: Kind) -> Bell:
    """The bell that belongs to a database; it hears these kinds of topics."""
    if (path := sqlite_path(url)) is not None:
        return LocalBell(path.resolve(), kinds)
    from toolwright.tasks._postgres_bell import PostgresBell  # noqa: PLC0415  optional dependency

    return PostgresBell(url, kinds)
