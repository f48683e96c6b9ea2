"""Listen: start the server, say where it is, and let it stop in its own time."""

import secrets
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import uvicorn
from starlette.applications import Starlette

from toolwright.serve._settings import ServeSettings, is_loopback
from toolwright.serve.live import Streams

__all__ = ["StoppingServer", "serve_app", "with_token"]

_GRACE_SECONDS = 5


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
    """Serve until interrupted; the address, and the token if there is one, are told to `say`.

    The token is told once and never written to a log.
    """
    settings = with_token(settings)
    say(f"Toolwright is at {settings.address}")
    if settings.token is not None:
        say(f"Sign in with this token: {settings.token}")
    server = StoppingServer(
        make_app(settings),
        host=settings.host,
        port=settings.port,
        # Addresses of signed links are keys; they have no place in a log.
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server.run()
