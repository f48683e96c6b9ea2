"""Listen: start the server, say where it is, and let it stop in its own time."""

import logging
import secrets
import sys
from collections.abc import Callable
from dataclasses import replace

from starlette.applications import Starlette

from toolwright.serve._settings import ServeSettings, is_loopback

try:
    import uvicorn
except ImportError as error:
    raise ImportError("The server needs an extra: pip install 'toolwright[serve]'") from error

__all__ = ["serve_app", "with_token"]

_STREAMS_END_SECONDS = 2


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
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    uvicorn.run(
        make_app(settings),
        host=settings.host,
        port=settings.port,
        # Addresses of signed links are keys; they have no place in a log.
        access_log=False,
        log_level="warning",
        server_header=False,
        # Event streams never end by themselves.
        timeout_graceful_shutdown=_STREAMS_END_SECONDS,
    )
