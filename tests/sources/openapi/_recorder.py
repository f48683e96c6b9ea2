"""An HTTP server on loopback that remembers what it was sent and answers what it is told to."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send


@dataclass(kw_only=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Recorder:
    """The server: `seen` has the requests, `replies` the answers still to give."""

    seen: list[Seen] = field(default_factory=list)
    replies: list[Response] = field(default_factory=list)
    url: str = ""
    answer: Callable[[Seen], Response] = field(default=lambda seen: JSONResponse({"ok": True}))
    """What is answered when no reply is waiting."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        self.seen.append(
            Seen(
                method=request.method,
                path=scope["raw_path"].decode(),
                query=scope["query_string"].decode(),
                headers=dict(request.headers),
                body=await request.body(),
            )
        )
        reply = self.replies.pop(0) if self.replies else self.answer(self.last)
        await reply(scope, receive, send)

    @property
    def last(self) -> Seen:
        return self.seen[-1]

    @contextmanager
    def running(self, certificate: str | None = None) -> Iterator["Recorder"]:
        """Serve on a free port, in a thread of its own; encrypted, with a certificate and its key."""
        config = uvicorn.Config(
            self,
            port=0,
            log_level="warning",
            lifespan="off",
            ssl_certfile=certificate,
            # A client that was given up may still hold a request open.
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        started = threading.Event()
        thread = threading.Thread(target=anyio.run, args=[_serve, server, started], daemon=True)
        thread.start()
        started.wait(20)
        scheme = "https" if certificate else "http"
        self.url = f"{scheme}://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.should_exit = True
            # A simulation in this process may have moved the clock that the server sleeps by.
            thread.join(5)


async def _serve(server: uvicorn.Server, started: threading.Event) -> None:
    original = server.startup

    async def startup(sockets: list | None = None) -> None:
        await original(sockets)
        started.set()

    server.startup = startup  # type: ignore[method-assign]
    await server.serve()
