"""A proxy outside the walls that connects only to the hosts it was told of."""

import contextlib
import fnmatch
import re
import ssl
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, ByteStream, SocketStream
from anyio.streams.tls import TLSStream

from toolwright._hosts import is_plainly_local, read_address
from toolwright._special_addresses import (
    NEVER_BY_NAME,
    is_for,
    is_metadata,
    purpose_of,
    unmapped,
)
from toolwright.backends.sandboxes._secrets import Exchange, HostSecret
from toolwright.concurrency import wait_in_thread

if TYPE_CHECKING:
    from toolwright.backends.sandboxes._authority import Authority

__all__ = ["AllowedHosts", "Connect", "HostProxy", "Resolve", "allowed_address"]

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host."""
Connect = Callable[[str, int], Awaitable[ByteStream]]
"""Connects to an address and a port."""
_HEAD_LIMIT = 64 * 1024
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"


class _Refused(Exception):
    """The host or its address is not allowed; the text is for those inside."""


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

    def secrets_for(self, host: str) -> list[HostSecret]:
        """The secrets that this host may be sent."""
        return [secret for secret in self.secrets if _matching(host, secret.hosts)]


class HostProxy:
    """Serves HTTP proxy requests on a unix socket, in a thread of its own, until it is closed.

    Connections to a host that a secret is for are answered here, in the host's name, by an authority
    that only the sandbox trusts; all others are handed on unread.
    """

    def __init__(self, socket: Path, allowed: AllowedHosts) -> None:
        self.socket = socket
        self._allowed = allowed
        self.exchange = Exchange(allowed.secrets)
        self.authority = _authority(allowed.secrets)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=anyio.run, args=(self._serve,), daemon=True)
        self._stop: threading.Event = threading.Event()
        self._thread.start()
        self._ready.wait(10)

    def allows(self, host: str) -> bool:
        """Whether a host is on the list; `*.example.com` stands for all below it."""
        return bool(_matching(host, self._allowed.all))

    def close(self) -> None:
        """End the thread and all connections."""
        self._stop.set()
        self._thread.join(5)

    async def _serve(self) -> None:
        listener = await anyio.create_unix_listener(self.socket, mode=0o600)
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, self._handle)
            self._ready.set()
            await wait_in_thread(self._stop.wait)
            group.cancel_scope.cancel()

    async def _handle(self, client: SocketStream) -> None:
        with contextlib.suppress(
            OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError,
            ValueError,
        ):  # fmt: skip
            async with client:
                head, rest = await _read_head(client)
                method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
                try:
                    host, port, address = await self._destination(method, target)
                except _Refused as refusal:
                    text = f"{refusal}\n".encode()
                    await client.send(_REFUSED % (len(text), text))
                    return
                open_server = partial(self._allowed.connect, address, port)
                if method == "CONNECT" and (secrets := self._allowed.secrets_for(host)):
                    await self._intercept(client, open_server, host, port, secrets)
                    return
                async with await open_server() as server:
                    await _introduce(client, server, method, target, head)
                    await server.send(rest) if rest else None
                    await _join(client, server)

    async def _destination(self, method: str, target: str) -> tuple[str, int, str]:
        """Host, port and the address to connect to; `_Refused` before anything is connected to."""
        named = _address(method, target)
        if named is None or not self.allows(named[0]):
            raise _Refused(f"{named[0] if named else target} is not among the allowed hosts.")
        host, port = named
        listed = _matching(host, self._allowed.all)
        for address in await self._allowed.resolve(host, port):
            if allowed_address(address, host, listed):
                return host, port, address
        raise _Refused(f"{host} has no address that may be reached from a sandbox.")

    async def _intercept(
        self,
        client: SocketStream,
        open_server: Callable[[], Awaitable[ByteStream]],
        host: str,
        port: int,
        secrets: Sequence[HostSecret],
    ) -> None:
        from toolwright.backends.sandboxes._intercept import intercept  # noqa: PLC0415  (optional)

        async def open_securely() -> ByteStream:
            # Made each time: the system's certificates may be renewed while a server runs.
            context = ssl.create_default_context()
            return await TLSStream.wrap(
                await open_server(), hostname=host, ssl_context=context, standard_compatible=False
            )

        assert self.authority is not None
        await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        context = self.authority.context_for(host)
        inside = await TLSStream.wrap(
            client, server_side=True, ssl_context=context, standard_compatible=False
        )
        authority = host if port == 443 else f"{host}:{port}"
        await intercept(inside, open_securely, authority, self.exchange, secrets)


def allowed_address(address: str, host: str, listed: Sequence[str]) -> bool:
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
    return by_name or purpose_of(ip) is None


def _matching(host: str, hosts: Sequence[str]) -> list[str]:
    """The entries of the list that stand for this host."""
    plain = host.lower().rstrip(".")
    return [entry.lower() for entry in hosts if fnmatch.fnmatchcase(plain, entry.lower())]


def _authority(secrets: Sequence[HostSecret]) -> "Authority | None":
    if not secrets:
        return None
    from toolwright.backends.sandboxes._authority import Authority  # noqa: PLC0415  (optional)

    return Authority(host for secret in secrets for host in secret.hosts)


async def _read_head(client: ByteReceiveStream) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await client.receive()
        if len(data) > _HEAD_LIMIT:
            raise ValueError("the request's head is too long")
    head, rest = data.split(b"\r\n\r\n", 1)
    return head, rest


def _address(method: str, target: str) -> tuple[str, int] | None:
    if method == "CONNECT":
        found = re.fullmatch(r"\[?([^\]]+?)\]?:(\d+)", target)
        return (found[1], int(found[2])) if found else None
    parts = urlsplit(target)
    return (parts.hostname, parts.port or 80) if parts.scheme == "http" and parts.hostname else None


async def _introduce(
    client: ByteSendStream, server: ByteSendStream, method: str, target: str, head: bytes
) -> None:
    """Say that the tunnel stands, or hand on the request as the server wants to read it.

    Plain requests are handed on one to a connection, so that the next cannot name another host.
    """
    if method == "CONNECT":
        await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = head.decode("latin-1").split("\r\n")[1:]
    drop = ("proxy-", "connection:", "host:")
    kept = [line for line in lines if not line.lower().startswith(drop)]
    request = [f"{method} {path} HTTP/1.1", f"Host: {parts.netloc}", *kept, "Connection: close"]
    await server.send("\r\n".join([*request, "", ""]).encode("latin-1"))


async def _join(one: ByteStream, other: ByteStream) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_pour, one, other)
        group.start_soon(_pour, other, one)


async def _pour(source: ByteStream, sink: ByteStream) -> None:
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for chunk in source:
            await sink.send(chunk)
        await sink.send_eof()
