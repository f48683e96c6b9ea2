"""A real server on a free port, and clients for it."""

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette

from toolwright.serve import ServeSettings, _serve, serve_app
from toolwright.serve._serve import StoppingServer

__all__ = [
    "ServerThread",
    "events_of",
    "listening",
    "new_session",
    "say",
    "served_as_by_the_command",
    "serving",
    "until",
]

PATIENCE = 20.0


class ServerThread:
    """Runs an application in a thread until it is told to stop."""

    def __init__(self, app: Starlette, port: int = 0) -> None:
        self.server = _server(
            app, port=port, log_level="error", timeout_graceful_shutdown=5, lifespan="on"
        )
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        original = self.server.startup

        async def startup(*args: Any, **settings: Any) -> None:
            await original(*args, **settings)
            self.ready.set()

        self.server.startup = startup  # type: ignore[method-assign]
        self.server.run()

    def start(self) -> str:
        self.thread.start()
        assert self.ready.wait(PATIENCE), "the server did not start"
        port = self.server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE)


def _server(app: Starlette, **settings: Any) -> uvicorn.Server:
    """Ours, or a plain one for an application that only has ours mounted."""
    if hasattr(app.state, "streams"):
        return StoppingServer(app, **settings)
    return uvicorn.Server(uvicorn.Config(app, **settings))


@contextmanager
def serving(app: Starlette, port: int = 0) -> Iterator[str]:
    """The address of `app` while it is served."""
    server = ServerThread(app, port)
    address = server.start()
    try:
        yield address
    finally:
        server.stop()


@contextmanager
def served_as_by_the_command(
    make_app: Callable[[ServeSettings], Starlette], settings: ServeSettings
) -> Iterator[tuple[str, StoppingServer]]:
    """The address of a server that `serve_app` started, as `toolwright serve` does, and the server."""
    told: list[str] = []
    made: list[StoppingServer] = []
    ready = threading.Event()

    class Noted(StoppingServer):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            made.append(self)

    def say(text: str) -> None:
        told.append(text)
        ready.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_serve, "StoppingServer", Noted)
        thread = threading.Thread(target=serve_app, args=(make_app, settings, say), daemon=True)
        thread.start()
        assert ready.wait(PATIENCE), "the server did not start"
    try:
        yield told[0].rpartition(" ")[2], made[0]
    finally:
        made[0].should_exit = True
        thread.join(PATIENCE)


async def new_session(http: httpx2.AsyncClient, **fields: Any) -> str:
    reply = await http.post("/api/sessions", json=fields)
    assert reply.status_code == 201, reply.text
    return reply.json()["id"]


async def say(http: httpx2.AsyncClient, session_id: str, message: str) -> None:
    reply = await http.post(f"/api/sessions/{session_id}/runs", json={"message": message})
    assert reply.status_code == 202, reply.text


async def events_of(http: httpx2.AsyncClient, session_id: str) -> list[dict[str, Any]]:
    return (await http.get(f"/api/sessions/{session_id}/events")).json()


@asynccontextmanager
async def listening(
    http: httpx2.AsyncClient, path: str, last_id: str | None = None
) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """The frames of an event stream: `{"id": …, "event": …, "data": …}`."""
    headers = {"Last-Event-ID": last_id} if last_id else {}
    async with http.stream("GET", path, headers=headers, timeout=PATIENCE) as reply:
        assert reply.status_code == 200, await reply.aread()
        yield _frames(reply)


async def _frames(reply: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    frame: dict[str, Any] = {}
    async for line in reply.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "data":
            frame["data"] = json.loads(value)
        elif name in ("id", "event"):
            frame[name] = value
        elif not line and "data" in frame:
            yield frame
            frame = {}
        elif not line:
            frame = {}


async def until(
    frames: AsyncIterator[dict[str, Any]], kind: str, **fields: Any
) -> list[dict[str, Any]]:
    """Frames up to the first event of a kind (and with these fields), that one included."""
    seen = []
    with anyio.fail_after(PATIENCE):
        async for frame in frames:
            seen.append(frame)
            data = frame["data"].get("event", frame["data"])
            if data.get("type") == kind and all(data.get(k) == v for k, v in fields.items()):
                return seen
    raise AssertionError(f"the stream ended before {kind!r}: {seen}")
