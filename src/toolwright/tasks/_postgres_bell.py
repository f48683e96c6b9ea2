"""Wake others up on other machines, with the database's own notifications."""

import asyncio
import contextlib
import logging
import os
import socket
from typing import Any

from toolwright.backends.sql import POSTGRES_OPTIONS
from toolwright.concurrency import begin_anew_after_fork
from toolwright.tasks._bell import Ears, Kind

try:
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as error:
    raise ImportError(
        "Tasks on Postgres need an extra: pip install 'toolwright[postgres]'"
    ) from error

__all__ = ["PostgresBell"]

_CHANNEL = "toolwright_"
_SEND = "SELECT pg_notify(%s || split_part(topic, ':', 1), topic) FROM unnest(%s::text[]) AS topic"
_AGAIN_SECONDS = 0.5
_ANSWER_SECONDS = 5.0
_INHERITED: list[object] = []
"""What ran in the parent of this process."""
logger = logging.getLogger("toolwright")


class PostgresBell(Ears):
    """Listens with one connection and rings with another; a lost one is opened again."""

    def __init__(self, url: str, kinds: tuple[Kind, ...] = ()) -> None:
        super().__init__()
        self._url = url.replace("postgresql+psycopg://", "postgresql://")
        self._kinds = kinds
        self._listener: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None
        self._outgoing: set[str] = set()
        self._connection: psycopg.AsyncConnection | None = None
        self._listening: psycopg.AsyncConnection | None = None
        begin_anew_after_fork(self)

    def after_fork(self) -> None:
        """Leave the parent its connections: what is written to the child's copies goes nowhere."""
        for connection in (self._connection, self._listening):
            if connection is not None and not connection.closed:
                with open(os.devnull, "r+b") as nowhere:
                    os.dup2(nowhere.fileno(), connection.fileno())
        # Kept: they would be ended, with a warning, by whoever collects them.
        _INHERITED.append((self._listener, self._sender))
        self._listener = self._sender = self._connection = self._listening = None
        self._ears.clear()
        self._outgoing.clear()

    async def open(self) -> None:
        """Begin to listen; returns when it does."""
        ready = asyncio.Event()
        self._listener = asyncio.create_task(self._listen(ready))
        await ready.wait()

    def ring(self, topic: str) -> None:
        """Tell all who listen for it; what rings at the same time is sent together."""
        self._outgoing.add(topic)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def close(self) -> None:
        """Listen no more; what was rung before is still sent."""
        if self._sender is not None:
            await asyncio.wait([self._sender], timeout=2)
            if not self._sender.done() and self._connection is not None:
                _shut_down(self._connection)
        for task in (self._sender, self._listener):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        self._sender = self._listener = None
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _listen(self, ready: asyncio.Event) -> None:
        while True:
            try:
                async with await self._connect() as connection:
                    for kind in self._kinds:
                        await connection.execute(
                            sql.SQL("LISTEN {}").format(sql.Identifier(_CHANNEL + kind))
                        )
                    self._listening = connection
                    ready.set()
                    # Rings may have been missed: whoever waits is to look.
                    self.hear("work")
                    async for notice in connection.notifies():
                        self.hear(notice.payload)
            except (psycopg.Error, OSError) as error:
                logger.warning("listening for tasks failed, trying again: %s", type(error).__name__)
                ready.set()
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _send(self) -> None:
        while self._outgoing:
            topics, self._outgoing = self._outgoing, set()
            # A ring only saves time; those who wait look by themselves as well.
            with contextlib.suppress(psycopg.Error, OSError):
                connection = await self._connected()
                loop = asyncio.get_running_loop()
                silence = loop.call_later(_ANSWER_SECONDS, _shut_down, connection)
                try:
                    await connection.execute(_SEND, (_CHANNEL, sorted(topics)))
                finally:
                    silence.cancel()

    async def _connected(self) -> psycopg.AsyncConnection:
        if self._connection is None or self._connection.closed:
            self._connection = await self._connect()
        return self._connection

    async def _connect(self) -> psycopg.AsyncConnection:
        settings: dict[str, Any] = {**POSTGRES_OPTIONS, **conninfo_to_dict(self._url)}
        return await psycopg.AsyncConnection.connect(make_conninfo(**settings), autocommit=True)


def _shut_down(connection: psycopg.AsyncConnection) -> None:
    """End what waits for a server that does not answer: cancelled, it would ask that server first."""
    with (
        contextlib.suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as connected,
    ):
        connected.shutdown(socket.SHUT_RDWR)
