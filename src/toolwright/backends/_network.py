"""HTTP that reaches public addresses only: every connection is judged after DNS, redirects too."""

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import ip_network
from typing import Any, cast

import anyio

from toolwright._hosts import read_address, read_host
from toolwright._sealed import sealed
from toolwright._special_addresses import (
    METADATA_NAMES,
    NEVER_BY_NAME,
    Address,
    Network,
    is_for,
    is_metadata,
    purpose_of,
    unmapped,
)
from toolwright._tls import certificates
from toolwright.errors import ToolError, UsageError

try:
    import httpcore2
    import httpx2
except ImportError as error:
    raise ImportError("Web access needs an extra: pip install 'toolwright[web]'") from error

__all__ = ["Reachable", "guarded_client", "guarded_transport"]

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host name, for a port."""
_GUARDED = ("mounts", "proxy", "transport")


async def _resolve(host: str, port: int) -> list[str]:
    found = await anyio.getaddrinfo(host, port, proto=6)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _connector() -> httpcore2.AsyncNetworkBackend:
    return cast(httpcore2.AsyncNetworkBackend, httpcore2.AnyIOBackend())


@sealed
@dataclass(frozen=True, slots=True)
class Reachable:
    """Which addresses may be connected to: the public ones, and those that are listed.

    An entry of `allow` is a host name (`"intranet.example"`), an address (`"127.0.0.1"`) or a
    network (`"10.0.0.0/8"`). A name that is listed may lead into private networks and to this
    machine, `localhost` to this machine alone, no name to link-local addresses. Where a cloud's
    machines get their credentials nothing connects to, unless that very address is listed.
    """

    allow: Sequence[str] = ()
    resolve: Resolve = field(default=_resolve, repr=False)
    """Asked for the addresses of a name, at each connection."""
    network: httpcore2.AsyncNetworkBackend = field(default_factory=_connector, repr=False)
    """Connects to the addresses that may be connected to."""

    def __post_init__(self) -> None:
        if isinstance(self.allow, str):
            raise UsageError(f"allow is a list of hosts and networks; got the text {self.allow!r}.")
        for entry in self.allow:
            _read_entry(entry)

    @classmethod
    def of(cls, allow: "Sequence[str] | Reachable", *more: str) -> "Reachable":
        """What a setting like `allow_private` stands for, and `more` entries."""
        if isinstance(allow, Reachable):
            return replace(allow, allow=(*allow.allow, *more))
        return cls(allow if isinstance(allow, str) else (*allow, *more))

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of `host`; `ToolError` unless every one may be connected to.

        A single one that may not is enough: whoever has a name lead to the internet and to a
        private network at once wants to be judged by the one and connected to the other.
        """
        if not 0 < port < 65536:
            raise ToolError(
                f"Refused to connect to {host!r}: {port} is not a port; use 1 to 65535."
            )
        try:
            meant = read_host(host)
        except ValueError as error:
            raise ToolError(f"Refused to connect to {host!r}: {error}.") from error
        found = await self._look_up(meant, port) if isinstance(meant, str) else [unmapped(meant)]
        for ip in found:
            if not self._allows(meant, ip):
                raise ToolError(
                    f"Refused to connect to {host!r}: {ip} is not a public address "
                    f"({purpose_of(ip)}). Use a public address, or have the developer list this "
                    "one as allowed."
                )
        return [str(ip) for ip in found]

    async def _look_up(self, name: str, port: int) -> list[Address]:
        if name in METADATA_NAMES and name not in self._entries():
            raise ToolError(
                f"Refused to connect to {name!r}: a cloud's machines get their credentials there, "
                "so it is not a public address. Use another one."
            )
        try:
            found = await self.resolve(name, port)
        except (OSError, UnicodeError) as error:
            raise ToolError(f"The host {name!r} cannot be found: {error}.") from error
        read = [ip for text in found if (ip := read_address(text))]
        if not read or len(read) != len(found):
            raise ToolError(f"The host {name!r} cannot be found: its addresses are {found!r}.")
        return [unmapped(ip) for ip in read]

    def _allows(self, meant: Address | str, ip: Address) -> bool:
        entries = self._entries()
        networks = [entry for entry in entries if not isinstance(entry, str)]
        if is_metadata(ip):
            return any(ip in network for network in networks if network.num_addresses == 1)
        if purpose_of(ip) is None or any(ip in network for network in networks):
            return True
        if meant == "localhost":
            return meant in entries and is_for(ip, "loopback")
        return meant in entries and not is_for(ip, *NEVER_BY_NAME)

    def _entries(self) -> list[str | Network]:
        return [_read_entry(entry) for entry in self.allow]


def guarded_transport(
    reachable: Reachable | None = None, *, verify: Any = True, retries: int = 0
) -> httpx2.AsyncHTTPTransport:
    """An httpx2 transport that connects to `reachable` addresses only, by default the public ones.

    The address that was judged is the one that is connected to, so a name that resolves
    differently a moment later gains nothing.
    """
    return _GuardedTransport(reachable or Reachable(), verify=verify, retries=retries)


def guarded_client(allow: Sequence[str] | Reachable = (), **settings: Any) -> httpx2.AsyncClient:
    """An httpx2 client that reaches public addresses and those in `allow`."""
    for name in _GUARDED:
        if settings.get(name) is not None:
            raise UsageError(
                f"guarded_client({name}=…) would go around the guard; make an httpx2.AsyncClient of "
                "your own, with guarded_transport() where it should hold."
            )
    return httpx2.AsyncClient(transport=guarded_transport(Reachable.of(allow)), **settings)


class _GuardedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, reachable: Reachable, *, verify: Any, retries: int) -> None:
        context = certificates() if verify is True else httpx2.create_ssl_context(verify=verify)
        super().__init__(verify=context, retries=retries)
        # httpx2 offers no setting for the layer below TLS, where the address is chosen and the
        # certificate is still checked against the name; httpcore2 does.
        if not isinstance(vars(self).get("_pool"), httpcore2.AsyncConnectionPool):
            raise RuntimeError(
                f"httpx2 {httpx2.__version__} keeps its connections where they cannot be guarded; "
                "install another version."
            )
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            retries=retries,
            network_backend=_GuardedNetwork(reachable),
        )


class _GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects only to addresses that `reachable` has judged."""

    def __init__(self, reachable: Reachable) -> None:
        self._reachable = reachable

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            with anyio.fail_after(timeout) as scope:
                addresses = await self._reachable.addresses(host, port)
                for untried in range(len(addresses), 1, -1):
                    # Its share of the time: one that never answers must not use up all of it.
                    share = (scope.deadline - anyio.current_time()) / untried if timeout else None
                    with contextlib.suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                        return await self._reachable.network.connect_tcp(
                            addresses[-untried], port, share, local_address, socket_options
                        )
                return await self._reachable.network.connect_tcp(
                    addresses[-1], port, timeout, local_address, socket_options
                )
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(f"no connection within {timeout:g} s") from error

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        raise ToolError("Refused to connect to a local socket.")

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


@lru_cache(maxsize=1000)
def _read_entry(entry: str) -> str | Network:
    """A network, also of a single address, or a name."""
    try:
        if "/" in entry:
            return ip_network(entry, strict=False)
        meant = read_host(entry)
    except ValueError as error:
        raise UsageError(
            f"{entry!r} cannot be allowed: wanted a host name, an address or a network, without "
            f"scheme and port ({error})."
        ) from error
    return meant if isinstance(meant, str) else ip_network(unmapped(meant))
