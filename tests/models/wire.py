"""A loopback HTTP server that answers as a model provider would, and shows what it was sent."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer: a JSON body, or server-sent events; `hang` keeps the stream open after them."""

    body: Any = None
    events: Sequence[Any] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    done: str = ""
    """What OpenAI's older protocol sends after the last event."""
    stays: bool = False
    """Whether it is the answer to everything that is still asked."""
    raw: bytes | None = None
    """The body byte for byte, in place of JSON or events."""


def sse(*events: Any, **options: Any) -> Reply:
    """A streamed answer; events with a `type` are named by it."""
    return Reply(events=events, **options)


class Wire:
    """The provider: answers with `replies` in order."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.requests: list[Received] = []
        self.disconnected = anyio.Event()
        """Set when the client closes the connection during a stream."""
        self.url = ""
        self.models: dict[str, Any] = {}
        """Those that were made to ask this provider, by a name of the test's."""

    def will(self, *replies: Any) -> None:
        """Answer with these next; a dict is a JSON body."""
        self.replies += [r if isinstance(r, Reply) else Reply(body=r) for r in replies]

    @property
    def bodies(self) -> list[Any]:
        """The JSON of the requests so far."""
        return [request.body for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's one request."""
        try:
            self.requests.append(await _read(reader))
            reply = self.replies[0] if self.replies[0].stays else self.replies.pop(0)
            writer.write(_head(reply))
            for event in reply.events:
                writer.write(_event(event))
                await writer.drain()
            if reply.hang:
                await reader.read()
                self.disconnected.set()
            writer.write(_tail(reply))
            await writer.drain()
        except ConnectionError:
            self.disconnected.set()
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    headers = {name.lower(): value for name, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(path=head[0].split()[1], headers=headers, body=json.loads(raw or b"null"))


def _head(reply: Reply) -> bytes:
    kind = "text/event-stream" if reply.events else "application/json"
    if reply.raw is not None:
        kind = "text/html"
    headers = {"content-type": kind, "connection": "close", **reply.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {reply.status} Status\r\n{lines}\r\n".encode()


def _event(event: Any) -> bytes:
    name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def _tail(reply: Reply) -> bytes:
    if reply.raw is not None:
        return reply.raw
    if reply.events:
        return f"data: {reply.done}\n\n".encode() if reply.done else b""
    return json.dumps(reply.body).encode()


@asynccontextmanager
async def running(port: int = 0) -> AsyncIterator[Wire]:
    """A wire that listens on loopback, on a free port unless told."""
    wire = Wire()
    server = await asyncio.start_server(wire.serve, "127.0.0.1", port)
    wire.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield wire
    finally:
        server.close()
