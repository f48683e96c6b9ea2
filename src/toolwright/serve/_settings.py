"""How the server listens and what it refuses."""

import ipaddress
from dataclasses import dataclass

__all__ = ["ServeSettings", "is_loopback"]

_MB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Loopback without a token, or any address with one."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    """Asked of every request to the API. Made and printed when `host` is not loopback."""
    allowed_hosts: tuple[str, ...] = ()
    """Names the server may be called by, besides loopback names; `*` allows any."""
    user_id: str = "local"
    """Whose sessions are made when a request names nobody."""
    max_body: int = 1 * _MB
    """Bytes of a JSON request; uploads have `max_upload`."""
    max_upload: int = 25 * _MB
    requests_per_second: float = 50.0
    """Sustained rate for one client address; 0 turns the limit off."""
    burst: int = 200
    max_streams: int = 2000
    """Event streams open at once."""
    work: bool = False
    """Also work on tasks in this process."""
    agui: bool = False
    """Also speak the AG-UI protocol, at `/agui`."""
    public_url: str = ""
    """Where people reach this server; by default the address it listens on."""

    @property
    def address(self) -> str:
        """The address a person opens."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host  # noqa: S104
        return self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
