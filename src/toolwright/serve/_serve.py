"""Listen: start the server, say where it is, and let it stop in its own time."""

import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import uvicorn
from starlette.applications import Starlette

from toolwright.errors import UsageError
from toolwright.serve._settings import ServeSettings, is_loopback
from toolwright.serve.live import Streams

__all__ = ["GRACE_SECONDS", "StoppingServer", "serve_app", "with_token"]

GRACE_SECONDS = 5
"""How long requests may go on when the server is told to stop."""
_BACKLOG = 2048


class StoppingServer(uvicorn.Server):
    """Ends event streams when it is told to stop; they would not end by themselves."""

    def __init__(self, app: Starlette, **settings: Any) -> None:
        super().__init__(uvicorn.Config(app, **settings))
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
    bound = _listen(settings.host, settings.port)
    settings = with_token(replace(settings, port=bound.getsockname()[1]))
    server = StoppingServer(
        make_app(settings),
        # Addresses of signed links are keys; they have no place in a log.
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    say(f"Toolwright is at {settings.address}")
    if known:
        say("Sign in with the token that was set.")
    elif settings.token is not None:
        say(f"Sign in with this token: {settings.token}")
    with suppress(KeyboardInterrupt):
        server.run(sockets=[bound])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(
            f"Cannot listen on {host}, port {port}: {error.strerror}. Choose another port, or 0 "
            "for any free one."
        ) from error
