"""Which hosts a sandbox may reach, and at which addresses."""

import fnmatch
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

import anyio
from anyio.abc import ByteStream

from toolwright._hosts import is_plainly_local, read_address, read_host
from toolwright._special_addresses import (
    NEVER_BY_NAME,
    Address,
    carried_by,
    is_for,
    is_metadata,
    purpose_of,
    unmapped,
)
from toolwright.backends.sandboxes._secrets import HostSecret

__all__ = ["AllowedHosts", "Connect", "Resolve", "allowed_address", "is_own_address"]

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host."""
Connect = Callable[[str, int], Awaitable[ByteStream]]
"""Connects to an address and a port."""
_ANY_PORT = 9
_OTHERS: dict[int, Address] = {4: IPv4Address("240.0.0.1"), 6: IPv6Address("3fff::1")}
"""Reserved addresses, which no machine has."""


async def _resolve(host: str, port: int) -> list[str]:
    found = await anyio.getaddrinfo(host, port, proto=6)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Hosts that may be reached, the secrets for some of them, and the way to all of them.

    `resolve` and `connect` are asked only for what was decided to be allowed, in that order.
    """

    hosts: Sequence[str] = ()
    secrets: Sequence[HostSecret] = ()
    resolve: Resolve = _resolve
    connect: Connect = field(default=anyio.connect_tcp)

    @property
    def all(self) -> tuple[str, ...]:
        """Those that were named, and those that a secret is for."""
        return (*self.hosts, *(host for secret in self.secrets for host in secret.hosts))

    def entries_for(self, host: str) -> list[str]:
        """The entries that stand for a host; `*.example.com` stands for all below it."""
        return _matching(host, self.all)

    def secrets_for(self, host: str) -> list[HostSecret]:
        """The secrets that this host may be sent."""
        return [secret for secret in self.secrets if _matching(host, secret.hosts)]


def is_own_address(ip: Address) -> bool:
    """Whether this machine itself answers at an address, as at those of its network interfaces."""
    if not _binds(ip):
        return False
    # A machine may be set to let any address be bound to, others' too.
    return not _binds(_OTHERS[ip.version]) or _source_to(ip) == ip


def _binds(ip: Address) -> bool:
    try:
        with _udp(ip) as one:
            one.bind((str(ip), 0))
            return True
    except OSError:
        return False


def _source_to(ip: Address) -> Address | None:
    """The address that would be sent from; nothing is sent to find that out."""
    try:
        with _udp(ip) as one:
            one.connect((str(ip), _ANY_PORT))
            return read_address(one.getsockname()[0])
    except OSError:
        return None


def _udp(ip: Address) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ip.version == 6 else socket.AF_INET, socket.SOCK_DGRAM)


def allowed_address(
    address: str,
    host: str,
    listed: Sequence[str],
    is_own: Callable[[Address], bool] = is_own_address,
) -> bool:
    """Whether a host that is allowed may have this address.

    A name must not lead to this machine itself or to a link's own services unless it was listed as
    an address or as `localhost`, nor to where clouds keep their machines' credentials; a pattern,
    not to private networks either.
    """
    ip, meant = read_address(address), read_address(host)
    if ip is None:
        return False
    by_name = host.lower().removesuffix(".") in listed
    if by_name and meant is not None:
        return unmapped(ip) == unmapped(meant)
    if by_name and is_plainly_local(host):
        return is_for(ip, "loopback")
    if is_metadata(ip) or is_for(ip, "loopback", *NEVER_BY_NAME):
        return False
    if any(is_own(one) for one in (ip, *carried_by(ip))):
        return False
    return by_name or purpose_of(ip) is None


def _matching(host: str, hosts: Sequence[str]) -> list[str]:
    """The entries of the list that stand for this host, written as hosts are read."""
    plain = host.lower().rstrip(".")
    return [entry for entry in map(_read_entry, hosts) if fnmatch.fnmatchcase(plain, entry)]


def _read_entry(entry: str) -> str:
    try:
        return str(read_host(entry))
    except ValueError:
        return entry.lower()  # A pattern.
