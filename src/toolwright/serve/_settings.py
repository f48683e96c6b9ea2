"""How the server listens and what it refuses."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from toolwright._hosts import is_plainly_local, read_host
from toolwright._sealed import sealed
from toolwright.errors import UsageError
from toolwright.serve._listen import address_of, check_port

__all__ = ["ServeSettings", "check_hosts", "check_token", "host_name", "is_loopback"]

_MB = 1024 * 1024


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Loopback without a token, or any address with one."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    """Asked of every request to the API. Made and printed when `host` is not loopback."""
    allowed_hosts: tuple[str, ...] = ()
    """Names the server may be called by, besides loopback names, without scheme and port; `*`
    allows any."""
    user_id: str = "local"
    """Whose sessions are made when a request names nobody."""
    max_body: int = 1 * _MB
    """Bytes of a JSON request; uploads have `max_upload`."""
    max_upload: int = 25 * _MB
    requests_per_second: float = 50.0
    """Sustained rate for one client address; 0 turns the limit off."""
    burst: int = 200
    max_connections: int = 500
    """Connections open at once from one client address; mounted elsewhere, requests."""
    max_streams: int = 2000
    """Event streams open at once."""
    work: bool = False
    """Also work on tasks in this process."""
    agui: bool = False
    """Also speak the AG-UI protocol, at `/agui`."""
    public_url: str = ""
    """Where people reach this server; by default the address it listens on."""

    def __post_init__(self) -> None:
        check_port(self.port)
        check_token(self.token)
        check_hosts(self.allowed_hosts)

    @property
    def address(self) -> str:
        """The address a person opens."""
        return self.public_url or address_of(self.host, self.port)


def check_token(token: str | None) -> None:
    """Refuse a token that everybody knows, or that no `Authorization` header can hold."""
    if token is not None and (not token or token != token.strip()):
        what = "has space around it" if token.strip() else "is blank"
        raise UsageError(
            f"The token {what}, so it would keep nobody out or nobody could send it. Give another "
            "one, or leave it out: whatever listens on this machine alone needs none."
        )


def check_hosts(names: Iterable[str]) -> None:
    """Refuse what no request is ever compared with: all but names alone, and `*`."""
    for name in names:
        if name != "*" and _as_requested(name) != name.lower():
            bare = host_name(name.rpartition("//")[2]).replace("*", "shop").strip()
            meant = _as_requested(bare) or "shop.example"
            raise UsageError(
                f"allowed_hosts has {name!r}, which is never a request's host; write each name in "
                f"full, without scheme and port, such as {meant!r}, or '*' for any."
            )


def _as_requested(name: str) -> str | None:
    """A name as browsers ask for it; None for what is none."""
    try:
        return str(read_host(name))
    except ValueError:
        return None


def host_name(host: str) -> str:
    """The name in a `Host` header, without its port and the dot that may end it."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower().removesuffix(".")
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    return is_plainly_local(host)
