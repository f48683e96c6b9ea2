"""HTTP that reaches public addresses only: every connection is checked after DNS, redirects too."""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import anyio

from toolwright._sealed import sealed
from toolwright.errors import ToolError, UsageError

try:
    import httpcore2
    import httpx2
except ImportError as error:
    raise ImportError("Web access needs an extra: pip install 'toolwright[web]'") from error

__all__ = ["Reachable", "guarded_client", "guarded_transport", "is_public"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet, whatever form it is wrapped in."""
    return all(
        ip.is_global and (ip in _GLOBAL_UNICAST or ip.version == 4) and not ip.is_multicast
        for ip in _unwrapped(_parsed(address))
    )


@sealed
@dataclass(frozen=True, slots=True)
class Reachable:
    """Which addresses may be connected to: the public ones, and those that are listed.

    An entry of `allow` is a host name (`"intranet.example"`), an address (`"127.0.0.1"`) or a
    network (`"10.0.0.0/8"`).
    """

    allow: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.allow, str):
            raise UsageError(f"allow is a list of hosts and networks; got the text {self.allow!r}.")

    async def addresses(self, host: str, port: int) -> list[str]:
        """Look `host` up; returns the addresses that may be connected to, or raises `ToolError`."""
        try:
            found = await anyio.getaddrinfo(host, port, proto=6)
        except (OSError, UnicodeError) as error:
            raise ToolError(f"The host {host!r} cannot be found: {error}.") from error
        resolved = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        allowed = [ip for ip in resolved if self._allows(host, ip)]
        if not allowed:
            raise ToolError(
                f"Refused to connect to {host!r}: {', '.join(resolved)} is not a public address. "
                "Use a public address, or have the developer list this one as allowed."
            )
        return allowed

    def _allows(self, host: str, ip: str) -> bool:
        if is_public(ip) or host.lower().rstrip(".") in (name.lower() for name in self.allow):
            return True
        return any(_parsed(ip) in network for network in _networks(self.allow))


def guarded_transport(
    reachable: Reachable | None = None, *, verify: Any = True, retries: int = 0
) -> httpx2.AsyncHTTPTransport:
    """An httpx2 transport that connects to `reachable` addresses only, by default the public ones.

    The address that was checked is the one that is connected to, so a name that resolves
    differently a moment later gains nothing.
    """
    return _GuardedTransport(reachable or Reachable(), verify=verify, retries=retries)


def guarded_client(allow: Sequence[str] = (), **settings: Any) -> httpx2.AsyncClient:
    """An httpx2 client that reaches public addresses and those in `allow`."""
    return httpx2.AsyncClient(transport=guarded_transport(Reachable(allow)), **settings)


class _GuardedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, reachable: Reachable, *, verify: Any, retries: int) -> None:
        context = httpx2.create_ssl_context(verify=verify, trust_env=False)
        super().__init__(verify=context, retries=retries)
        # httpx2 offers no setting for the layer below TLS, where the address is chosen and the
        # certificate is still checked against the name; httpcore2 does.
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            retries=retries,
            network_backend=_GuardedNetwork(reachable),
        )


class _GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects only to addresses that `reachable` has checked."""

    def __init__(self, reachable: Reachable) -> None:
        self._reachable = reachable
        self._network = cast(httpcore2.AsyncNetworkBackend, httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._reachable.addresses(host, port)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._network.connect_tcp(
            addresses[-1], port, timeout, local_address, socket_options
        )

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        raise ToolError("Refused to connect to a local socket.")

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


def _parsed(address: str) -> Address:
    return ipaddress.ip_address(address.split("%")[0])


def _unwrapped(ip: Address) -> list[Address]:
    """The address and any IPv4 addresses that it carries: mapped, 6to4, Teredo, NAT64."""
    if isinstance(ip, ipaddress.IPv4Address):
        return [ip]
    if ip.ipv4_mapped:
        return [ip.ipv4_mapped]
    if ip in _NAT64:
        return [ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)]
    return [ip, *([ip.sixtofour] if ip.sixtofour else []), *(ip.teredo or ())]


def _networks(allow: Iterable[str]) -> list[Network]:
    """The entries of `allow` that are addresses or networks; the others are names."""
    networks: list[Network] = []
    for entry in allow:
        try:
            networks.append(ipaddress.ip_network(entry, strict=False))
        except ValueError:
            continue
    return networks
