"""Where an MCP server is and how long to wait for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from toolwright._expected import shown_address_of, shown_value
from toolwright._sealed import sealed
from toolwright.errors import UsageError
from toolwright.sources._secret_names import digest_of_plain, shown_address
from toolwright.tools import digest_of

try:
    from mcp.client.stdio import StdioServerParameters
except ImportError as error:
    raise ImportError("MCP needs an extra: pip install 'toolwright[mcp]'") from error

__all__ = [
    "ConnectionParams",
    "SseConnectionParams",
    "StdioConnectionParams",
    "StdioServerParameters",
    "StreamableHTTPConnectionParams",
    "connection_params_of",
]


@sealed
@dataclass(frozen=True, slots=True)
class StdioConnectionParams:
    """A server on this machine, started by us and spoken to over its stdin and stdout."""

    server_params: StdioServerParameters
    timeout: float = 30.0
    """Seconds until the server must be ready, and for a listing, all its pages together."""
    max_line: int = 64 * 1024 * 1024
    """The longest message, in bytes, that is read from it."""

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return self.server_params.command

    @property
    def identity(self) -> str:
        """Which server it is; of its arguments, which may hold secrets, only a digest."""
        params = self.server_params
        return f"{params.command}#{digest_of(list(params.args))[:16]}"

    @property
    def variant(self) -> str:
        """What else may make the server list other tools: its variables, but for secrets."""
        return digest_of_plain(self.server_params.env or {})


@sealed
@dataclass(frozen=True, slots=True)
class StreamableHTTPConnectionParams:
    """A server at a URL, spoken to over streamable HTTP."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 30.0
    """Seconds until the server must be ready, for sending one request, and for a listing, all its
    pages together."""
    sse_read_timeout: float = 300.0
    """Seconds without any event until a stream counts as dead."""
    terminate_on_close: bool = True
    max_message: int = 64 * 1024 * 1024
    """Bytes of one message; a longer one is not read, and the call that waits for it fails."""
    httpx_client_factory: Callable[..., Any] | None = None
    """Called with `headers`, `timeout` and `auth`; returns an `httpx2.AsyncClient`."""

    @property
    def label(self) -> str:
        """What it is called in messages; without what may be a secret in its address."""
        return shown_address(self.url)

    @property
    def identity(self) -> str:
        """Which server it is; without what may be a secret in its address."""
        return shown_address(self.url)

    @property
    def variant(self) -> str:
        """What else may make the server list other tools: headers and query, but for secrets."""
        return _variant(self.url, self.headers)


@sealed
@dataclass(frozen=True, slots=True)
class SseConnectionParams:
    """A server at a URL that still speaks the older HTTP with server-sent events."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 30.0
    sse_read_timeout: float = 300.0
    max_message: int = 64 * 1024 * 1024
    httpx_client_factory: Callable[..., Any] | None = None

    @property
    def label(self) -> str:
        """What it is called in messages; without what may be a secret in its address."""
        return shown_address(self.url)

    @property
    def identity(self) -> str:
        """Which server it is; without what may be a secret in its address."""
        return shown_address(self.url)

    @property
    def variant(self) -> str:
        """What else may make the server list other tools: headers and query, but for secrets."""
        return _variant(self.url, self.headers)


ConnectionParams = StdioConnectionParams | SseConnectionParams | StreamableHTTPConnectionParams


def _variant(url: str, headers: Mapping[str, str] | None) -> str:
    given = {name.lower(): value for name, value in (headers or {}).items()}
    fields = {f"?{name}": value for name, value in parse_qsl(urlsplit(url).query)}
    return digest_of_plain({**given, **fields})


def _shown(given: Any) -> str:
    if isinstance(given, str):
        return repr(shown_address_of(given))
    return shown_value("connection_params", given)


def connection_params_of(given: Any) -> ConnectionParams:
    """`given` as connection parameters; bare server parameters and URLs will do."""
    if isinstance(given, ConnectionParams):
        return given
    if isinstance(given, StdioServerParameters):
        return StdioConnectionParams(given)
    if isinstance(given, str) and given.startswith(("http://", "https://")):
        return StreamableHTTPConnectionParams(given)
    raise UsageError(
        f"An MCP server is described by StdioConnectionParams, StreamableHTTPConnectionParams, "
        f"SseConnectionParams or an http(s) URL; got {_shown(given)}."
    )
