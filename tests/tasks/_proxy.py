"""A way to a Postgres server that can be cut, or swallow what is sent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from sqlalchemy.engine import make_url


class Proxy:
    """Listens on loopback and passes on to the server's socket."""

    def __init__(self, url: str) -> None:
        given = make_url(url)
        self._socket = str(Path(str(given.query["host"])) / ".s.PGSQL.5432")
        self._database = given.database
        self.url = ""
        self.loses_commit_of = b""
        """The next transaction with these bytes is committed, and its client never learns of it."""
        self.lost = asyncio.Event()
        self._swallows = False
        self._loser: asyncio.StreamWriter | None = None
        self._clients: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._silent: set[asyncio.StreamWriter] = set()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator["Proxy"]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{port}/{self._database}?connect_timeout=2"
        try:
            yield self
        finally:
            server.close()
            for client in self._clients.values():
                client.close()
            await asyncio.wait_for(asyncio.gather(*self._clients), 10)

    def swallow(self) -> None:
        """Answer nothing more: what is connected stays so, and so does who connects now."""
        self._swallows = True
        self._silent.update(self._clients.values())

    def pass_on(self) -> None:
        """Serve those who connect from now on; who was connected before hears nothing any more."""
        self._swallows = False

    def _accept(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if self._swallows:
            self._silent.add(client)
        self._clients[asyncio.create_task(self._serve(reader, client))] = client

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            answers, server = await asyncio.open_unix_connection(self._socket)
            answering = asyncio.create_task(self._answer(answers, client))
            with contextlib.suppress(OSError):
                await self._ask(reader, server, client)
            client.close()
            server.close()
            await answering

    async def _answer(self, answers: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while said := await answers.read(65536):
                if client not in self._silent:
                    client.write(said)
                elif client is self._loser:
                    self.lost.set()  # Committed, and nobody is told.
        if client not in self._silent:
            client.close()

    async def _ask(
        self,
        reader: asyncio.StreamReader,
        server: asyncio.StreamWriter,
        client: asyncio.StreamWriter,
    ) -> None:
        is_marked = False
        while said := await reader.read(65536):
            is_marked = is_marked or bool(self.loses_commit_of and self.loses_commit_of in said)
            if is_marked and b"COMMIT" in said:
                self.loses_commit_of = b""
                self._silent.add(client)
                self._loser = client
                server.write(said)
                await self.lost.wait()
                return
            if client not in self._silent:
                server.write(said)
