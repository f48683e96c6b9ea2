"""Where a server listens: its port is checked and taken, and its address is written."""

import errno
import os
import socket
from typing import Any

from toolwright.errors import UsageError

__all__ = ["address_of", "check_port", "listen"]

_BACKLOG = 2048
_HOSTS = (
    "Give a name or an address of this machine: 127.0.0.1 for this machine alone, 0.0.0.0 for all "
    "its networks."
)
_NOT_OURS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
_HIGHEST_PORT = 65535


def check_port(port: Any) -> None:
    """`UsageError` for what is no port."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= _HIGHEST_PORT:
        raise UsageError(
            f"A port is a number from 0 to {_HIGHEST_PORT}, and 0 is any free one; got {port!r}."
        )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; `UsageError` where it cannot. Port 0 is any free one."""
    check_port(port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (socket.gaierror, UnicodeError) as error:
        raise UsageError(f"Cannot listen on {host!r}: no such host is known. {_HOSTS}") from error
    except OSError as error:
        if (
            error.errno is not None and error.errno < 0
        ):  # From a lookup: others have no such numbers.
            raise UsageError(
                f"Cannot listen on {host!r}: no such host is known. {_HOSTS}"
            ) from error
        why = os.strerror(error.errno) if error.errno else str(error)
        cure = _HOSTS if error.errno in _NOT_OURS else "Choose another port, or 0 for any free one."
        raise UsageError(f"Cannot listen on {host}, port {port}: {why}. {cure}") from error
    # Named as TCP, which `create_server` leaves open: asyncio turns Nagle's algorithm off only for
    # what says so, and with it every answer on a kept connection waits 40 ms for an acknowledgement.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, made.detach())


def address_of(host: str, port: int) -> str:
    """The address that a person on this machine opens."""
    reached = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # noqa: S104
    return f"http://{f'[{reached}]' if ':' in reached else reached}:{port}"
