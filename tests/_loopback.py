"""No test reaches beyond this machine, and a test that would is told so."""

import ipaddress
import socket
from typing import Any

__all__ = ["stay_on_loopback"]


def stay_on_loopback() -> None:
    """From here on, sockets and lookups of this process refuse every other machine."""
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **settings: Any) -> Any:
        if not _is_near(host):
            raise AssertionError(_refusal("look up", host))
        return look_up(host, *args, **settings)

    socket.getaddrinfo = getaddrinfo


def _guarded(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_near(address[0]):
            raise AssertionError(_refusal("connect to", address[0]))
        return connect(self, address)

    return guarded


def _is_near(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost") or name == socket.gethostname():
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refusal(what: str, host: Any) -> str:
    return f"a test wanted to {what} {host!r}: tests assert the decision, and reach loopback alone"
