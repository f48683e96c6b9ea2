"""The MCP server over streamable HTTP: loopback by default, a token and an origin check in front."""

import secrets
from collections.abc import Sequence

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from toolwright.errors import UsageError
from toolwright.serve._settings import is_loopback
from toolwright.serve.guard import SameSiteOnly, TokenCheck
from toolwright.serve.mcp._server import McpServer

__all__ = ["mcp_http_app", "new_token", "serve_http"]


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
    app = TokenCheck(app, token) if token else app
    return SameSiteOnly(app, allowed_hosts)


def new_token() -> str:
    """A token to print for the person who started the server."""
    return secrets.token_urlsafe(24)


async def serve_http(
    server: McpServer,
    *,
    host: str = "127.0.0.1",
    port: int = 8766,
    token: str | None = None,
    allowed_hosts: Sequence[str] = (),
) -> None:
    """Listen until cancelled. Anything but loopback needs a token."""
    if not is_loopback(host) and not token:
        raise UsageError(
            f"Listening on {host!r} lets others call these tools; give a token, "
            "or listen on 127.0.0.1."
        )
    app = mcp_http_app(server, token=token, allowed_hosts=allowed_hosts)
    config = uvicorn.Config(app, host=host, port=port, log_level="warning")
    await uvicorn.Server(config).serve()
