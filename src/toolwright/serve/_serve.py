"""Listen: start the server, say where it is, and let it stop in its own time."""

import asyncio
import logging
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import FrameType
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from toolwright.errors import ToolwrightError
from toolwright.serve._listen import listen
from toolwright.serve._log_limit import FewLines
from toolwright.serve._open_files import raise_file_limit
from toolwright.serve._patience import MAX_HEAD, Patience, waiting_with
from toolwright.serve._settings import ServeSettings, is_loopback
from toolwright.serve.live import Streams

__all__ = ["GRACE_SECONDS", "StartedServer", "StoppingServer", "serve_app", "with_token"]

GRACE_SECONDS = 5
"""How long requests may go on when the server is told to stop."""
_PATIENCE = Patience()
_FEW = FewLines()
_SELDOM = FewLines(most=1)
_log = logging.getLogger(__name__)


class StartedServer(uvicorn.Server):
    """Says when it has started; a start that fails is an error, not the end of the program."""

    def __init__(
        self,
        app: ASGIApp,
        started: Callable[[], object] = lambda: None,
        patience: Patience = _PATIENCE,
        **settings: Any,
    ) -> None:
        # Where the log goes is for the program to say. Addresses of signed links are keys: they
        # have no place in it.
        quiet: dict[str, Any] = {"access_log": False, "log_config": None, "log_level": "warning"}
        http: Any = waiting_with(patience)
        quiet["h11_max_incomplete_event_size"] = 2 * MAX_HEAD
        super().__init__(uvicorn.Config(app, http=http, ws="none", **{**quiet, **settings}))
        self._started = started

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop."""
        loop = asyncio.get_running_loop()
        if loop.get_exception_handler() is not None:
            await super().serve(sockets)
            return
        loop.set_exception_handler(_on_loop_error)
        try:
            await super().serve(sockets)
        finally:
            loop.set_exception_handler(None)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; who interrupts twice does not wait for requests."""
        # Not uvicorn's own: sse-starlette, which the MCP SDK brings, replaces that by one after
        # which every event stream of every later server in this process is cut.
        self._captured_signals.append(sig)
        self.force_exit = self.force_exit or (self.should_exit and sig == signal.SIGINT)
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application and listen."""
        # Versions of uvicorn differ in what they do about an application that does not start.
        with suppress(SystemExit):
            await super().startup(sockets)
        if not self.started:
            raise ToolwrightError("The server could not start; the log has the reason.")
        self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, let requests finish and the application close what it has open."""
        await super().shutdown(sockets)
        if self.force_exit:
            # Who interrupts twice does not wait for requests; uvicorn would then cut off the
            # application as well, which tells the log of it as of an error.
            with anyio.move_on_after(GRACE_SECONDS):
                await self.lifespan.shutdown()


class StoppingServer(StartedServer):
    """Ends event streams when it is told to stop; they would not end by themselves."""

    def __init__(
        self,
        app: Starlette,
        started: Callable[[], object] = lambda: None,
        patience: Patience = _PATIENCE,
        **settings: Any,
    ) -> None:
        super().__init__(app, started, patience, **settings)
        self._streams: Streams = app.state.streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, end the streams, let the other requests finish."""
        self._streams.close()
        await super().shutdown(sockets)


def with_token(settings: ServeSettings) -> ServeSettings:
    """The settings with a token, when more than this machine can reach the server."""
    if settings.token is None and not is_loopback(settings.host):
        return replace(settings, token=secrets.token_urlsafe(24))
    return settings


def serve_app(
    make_app: Callable[[ServeSettings], Starlette],
    settings: ServeSettings,
    say: Callable[[str], object] = lambda text: print(text, file=sys.stderr),  # noqa: T201
) -> None:
    """Serve until interrupted; the address, and the token if one was made, are told to `say`.

    The token is told once and never written to a log; one that was set is not repeated. Port 0 is
    any free one.
    """
    known = settings.token is not None
    bound = listen(settings.host, settings.port)
    settings = with_token(replace(settings, port=bound.getsockname()[1]))

    def started() -> None:
        say(f"Toolwright is at {settings.address}")
        if known:
            say("Sign in with the token that was set.")
        elif settings.token is not None:
            say(f"Sign in with this token: {settings.token}")

    server = StoppingServer(
        make_app(settings),
        started,
        Patience(connections=settings.max_connections, all_connections=raise_file_limit()),
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    _limit_log()
    with suppress(KeyboardInterrupt):
        server.run(sockets=[bound])


def _limit_log() -> None:
    uvicorn_log = logging.getLogger("uvicorn.error")
    uvicorn_log.addFilter(_is_news)
    # Whoever sends what is no request, or asks for what fails, must not fill the disk by it.
    for log in (uvicorn_log, logging.getLogger("toolwright.serve._problems")):
        log.addFilter(_FEW)


def _on_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell of it; asyncio says that there are no files left thousands of times in a second."""
    if "out of system resource" not in context.get("message", ""):
        loop.default_exception_handler(context)
    elif _SELDOM.admit(("accept", None)) is not None:
        _log.error(
            "No connection can be taken: %s. Those that are open are answered; raise the limit of "
            "open files (ulimit -n), or have fewer clients",
            context.get("exception"),
        )


def _is_news(record: logging.LogRecord) -> bool:
    """False for uvicorn's own record of a request that failed: ours names the request."""
    return not record.getMessage().startswith("Exception in ASGI application")
