"""No test reaches beyond this machine but for the registries, and one that would is told so."""

import ipaddress
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["may_reach", "stay_on_loopback"]

_permitted: set[str] = set()
"""Names, and the addresses that they were found to have."""


def stay_on_loopback() -> None:
    """From here on, sockets and lookups of this process refuse every other machine."""
    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **settings: Any) -> Any:
        if not _is_near(host) and _text(host) not in _permitted:
            raise AssertionError(_refusal("look up", host))
        found = look_up(host, *args, **settings)
        if _text(host) in _permitted:
            _permitted.update(str(sockaddr[0]) for *_, sockaddr in found)
        return found

    socket.getaddrinfo = getaddrinfo


@contextmanager
def may_reach(hosts: Iterable[str]) -> Iterator[None]:
    """Registries that packages are fetched from, meanwhile."""
    _permitted.update(hosts)
    try:
        yield
    finally:
        _permitted.clear()


def _guarded(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = address[0]
            if not _is_near(host) and _text(host) not in _permitted:
                raise AssertionError(_refusal("connect to", host))
        return connect(self, address)

    return guarded


def _text(host: Any) -> Any:
    return host.decode() if isinstance(host, bytes) else host


def _is_near(host: Any) -> bool:
    name = _text(host)
    if name in (None, "", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refusal(what: str, host: Any) -> str:
    return f"a test wanted to {what} {host!r}: tests assert the decision, and reach loopback alone"
