"""Wake others up on other machines, with the database's own notifications."""

import asyncio
import contextlib
import logging

try:
    import psycopg
except ImportError as error:
    raise ImportError(
        "Tasks on Postgres need an extra: pip install 'toolwright[postgres]'"
    ) from error

__all__ = ["PostgresBell"]

_CHANNEL = "toolwright_tasks"
logger = logging.getLogger("toolwright")


class PostgresBell:
    """Listens with one connection; a lost one is opened again."""

    def __init__(self, url: str) -> None:
        self._url = url.replace("postgresql+psycopg://", "postgresql://")
        self._task: asyncio.Task[None] | None = None
        self._rung = asyncio.Event()
        self._topics: set[str] = set()
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        self._sender: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin to listen; returns when it does."""
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._listen(ready))
        self._sender = asyncio.create_task(self._send())
        await ready.wait()

    def ring(self, topic: str) -> None:
        """Tell all listeners about `topic`."""
        self._outgoing.put_nowait(topic)

    async def wait(self, seconds: float) -> set[str]:
        """The topics that have rung since the last time, at the latest after `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        self._rung.clear()
        topics, self._topics = self._topics, set()
        return topics

    async def close(self) -> None:
        """Listen no more; what was rung before is still sent."""
        for task in (self._sender, self._task):
            if task is None:
                continue
            if task is self._sender:
                await self._drain()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._task = self._sender = None

    async def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2):
                await self._outgoing.join()

    async def _listen(self, ready: asyncio.Event) -> None:
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._url, autocommit=True
                ) as connection:
                    await connection.execute(f"LISTEN {_CHANNEL}")
                    ready.set()
                    self._hear("reconnected")
                    async for notice in connection.notifies():
                        self._hear(notice.payload)
            except psycopg.Error as error:
                logger.warning("listening for tasks failed, trying again: %s", type(error).__name__)
                ready.set()
                await asyncio.sleep(0.5)

    async def _send(self) -> None:
        connection: psycopg.AsyncConnection | None = None
        while True:
            topic = await self._outgoing.get()
            try:
                if connection is None or connection.closed:
                    connection = await psycopg.AsyncConnection.connect(self._url, autocommit=True)
                await connection.execute("SELECT pg_notify(%s, %s)", (_CHANNEL, topic))
            except psycopg.Error:
                # A ring only saves time; those who wait look by themselves as well.
                connection = None
            finally:
                self._outgoing.task_done()

    def _hear(self, topic: str) -> None:
        self._topics.add(topic)
        self._rung.set()
