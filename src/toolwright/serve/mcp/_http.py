"""The MCP server over streamable HTTP: loopback by default, a token and an origin check in front."""

import secrets
from collections.abc import Callable, Sequence

try:
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp
except ImportError as error:
    raise ImportError("MCP needs an extra: pip install 'toolwright[mcp]'") from error

from toolwright._settings import explained
from toolwright.errors import UsageError
from toolwright.serve._listen import address_of, listen
from toolwright.serve._open_files import raise_file_limit
from toolwright.serve._patience import Patience
from toolwright.serve._serve import GRACE_SECONDS, StartedServer
from toolwright.serve._settings import is_loopback
from toolwright.serve.guard import Door, HeadLimit, SameSiteOnly, TokenCheck
from toolwright.serve.mcp._server import McpServer

__all__ = ["mcp_http_app", "new_token", "serve_http"]


@explained
def mcp_http_app(
    server: McpServer, *, token: str | None = None, allowed_hosts: Sequence[str] = ()
) -> ASGIApp:
    """An ASGI application with the server at `/mcp`.

    Requests under a name that is neither loopback nor in `allowed_hosts`, or from another site's
    page, are refused; with a `token`, so are requests without `Authorization: Bearer <token>`.
    """
    # The guards in front do the SDK's check of host and origin, and more.
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: ASGIApp = server.server.streamable_http_app(transport_security=unguarded)
    app = app if token is None else TokenCheck(app, Door(token, realm="mcp"))
    return HeadLimit(SameSiteOnly(app, allowed_hosts))


def new_token() -> str:
    """A token to print for the person who started the server."""
    return secrets.token_urlsafe(24)


@explained
async def serve_http(
    server: McpServer,
    *,
    host: str = "127.0.0.1",
    port: int = 8766,
    token: str | None = None,
    allowed_hosts: Sequence[str] = (),
    say: Callable[[str], object] = lambda address: None,
) -> None:
    """Listen until cancelled or interrupted. Anything but loopback needs a token.

    `say` is told the address once the server is there; port 0 is any free one. Clients hold a
    stream open as long as they are there, so an interrupted server gives their requests a few
    seconds and then ends them.
    """
    if not is_loopback(host) and token is None:
        raise UsageError(
            f"Listening on {host!r} lets others call these tools; give a token, "
            "or listen on 127.0.0.1."
        )
    app = mcp_http_app(server, token=token, allowed_hosts=allowed_hosts)
    with listen(host, port) as bound:
        address = f"{address_of(host, bound.getsockname()[1])}/mcp"
        server_here = StartedServer(
            app,
            lambda: say(address),
            Patience(all_connections=raise_file_limit()),
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        await server_here.serve(sockets=[bound])
