"""A proxy outside the walls that connects only to the hosts it was told of."""

import logging
import re
import ssl
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteReceiveStream, ByteStream, SocketListener, SocketStream, TaskGroup
from anyio.streams.tls import TLSStream

from toolwright._hosts import read_host
from toolwright.backends.sandboxes._allowed_hosts import AllowedHosts, allowed_address
from toolwright.backends.sandboxes._secrets import Exchange, HostSecret
from toolwright.concurrency import wait_in_thread
from toolwright.errors import StoreError

if TYPE_CHECKING:
    from toolwright.backends.sandboxes._authority import Authority

__all__ = ["MOST_CONNECTIONS", "HostProxy"]

_log = logging.getLogger(__name__)
MOST_CONNECTIONS = 100
"""At a time and for one sandbox: each takes two descriptors of this program."""
_HEAD_BYTES = 64 * 1024
_HEAD_SECONDS = 60
_PAUSE = 0.05
_STANDS = b"HTTP/1.1 200 Connection established\r\n\r\n"
_REASONS = {400: "Bad Request", 403: "Forbidden", 408: "Request Timeout",
            431: "Request Header Fields Too Large", 502: "Bad Gateway",
            503: "Service Unavailable"}  # fmt: skip
_FIRST_LINE = re.compile(r"([A-Za-z-]{1,20}) ([!-~]+) HTTP/1\.[01]")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\0\r\n]*")
_TUNNEL = re.compile(r"(\[[^\[\]]+\]|[^\[\]:]+):([0-9]{1,5})")


class _Refused(Exception):
    """No connection is made for a request; the text is for those inside."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status

    @property
    def answer(self) -> bytes:
        body = f"{self}\n"
        head = f"HTTP/1.1 {self.status} {_REASONS[self.status]}\r\nConnection: close\r\n"
        length = len(body.encode("utf-8", "replace"))
        return f"{head}Content-Length: {length}\r\n\r\n{body}".encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class _Request:
    """What those inside ask of the proxy: a tunnel, or one plain request to be handed on."""

    host: str
    port: int
    plain: bytes | None
    """The request as its server wants to read it; None for a tunnel."""


class HostProxy:
    """Serves HTTP proxy requests on a unix socket, in a thread of its own, until it is closed.

    Connections to a host that a secret is for are answered here, in the host's name, by an authority
    that only the sandbox trusts; all others are handed on unread. A connection that fails, in
    whatever way, ends alone.
    """

    def __init__(self, socket: Path, allowed: AllowedHosts) -> None:
        self.socket = socket
        self._allowed = allowed
        self.exchange = Exchange(allowed.secrets)
        self.authority = _authority(allowed.secrets)
        self._connections = 0
        self._listens = False
        self._ready = threading.Event()
        self._stop = threading.Event()
        self._problem: OSError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(10)
        if not self._listens:
            self._stop.set()
            raise StoreError(
                f"The proxy for the sandbox's hosts cannot listen on {str(socket)!r}: "
                f"{self._problem or 'it did not start in time'}. Make sure that there is room for "
                "temporary files, under a path that is not too long (TMPDIR)."
            ) from self._problem

    def close(self) -> None:
        """End the thread and all connections."""
        self._stop.set()
        self._thread.join(5)

    def _run(self) -> None:
        try:
            anyio.run(self._serve)
        except OSError as error:
            self._problem = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        listener = await anyio.create_unix_listener(self.socket, mode=0o600)
        async with listener, anyio.create_task_group() as group:
            group.start_soon(self._accept, listener, group)
            self._listens = True
            self._ready.set()
            await wait_in_thread(self._stop.wait)
            group.cancel_scope.cancel()

    async def _accept(self, listener: SocketListener, group: TaskGroup) -> None:
        busy = _Refused(503, f"There are {MOST_CONNECTIONS} connections already; close some.")
        while True:
            try:
                client = await listener.accept()
            except (OSError, anyio.BrokenResourceError):
                # The program has no descriptor left for it: not for the proxy to die of.
                await anyio.sleep(_PAUSE)
                continue
            full = self._connections >= MOST_CONNECTIONS
            self._connections += 1
            group.start_soon(self._handle, client, busy if full else None)

    async def _handle(self, client: SocketStream, refusal: _Refused | None) -> None:
        try:
            async with client:
                try:
                    await self._answer_or_refuse(client, refusal)
                finally:
                    self._connections -= 1
        except Exception as error:  # noqa: BLE001  (whatever it is, the other connections live on)
            _log.debug("A connection of a sandbox ended: %r", error)

    async def _answer_or_refuse(self, client: SocketStream, refusal: _Refused | None) -> None:
        try:
            if refusal:
                raise refusal
            await self._answer(client)
        except _Refused as refused:
            await client.send(refused.answer)

    async def _answer(self, client: SocketStream) -> None:
        head, rest = await _read_head(client)
        request = _read_request(head)
        address = await self._address(request)
        secrets = self._allowed.secrets_for(request.host)
        open_server = partial(self._allowed.connect, address, request.port)
        if secrets and request.plain is None:
            await self._intercept(client, open_server, request.host, request.port, secrets)
            return
        try:
            server = await open_server()
        except OSError as error:
            raise _Refused(502, f"{request.host} cannot be reached: {error}.") from error
        async with server:
            if request.plain is None:
                await client.send(_STANDS)
            if begun := (request.plain or b"") + rest:
                await server.send(begun)
            await _join(client, server)

    async def _address(self, request: _Request) -> str:
        """The address to connect to; `_Refused` before anything is connected to."""
        host = request.host
        listed = self._allowed.entries_for(host)
        if not listed:
            raise _Refused(403, f"{host} is not among the allowed hosts.")
        try:
            found = await self._allowed.resolve(host, request.port)
        except (OSError, UnicodeError) as error:
            raise _Refused(502, f"{host} cannot be found: {error}.") from error
        for address in found:
            if allowed_address(address, host, listed):
                return address
        raise _Refused(403, f"{host} has no address that may be reached from a sandbox.")

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
        await client.send(_STANDS)
        context = self.authority.context_for(host)
        inside = await TLSStream.wrap(
            client, server_side=True, ssl_context=context, standard_compatible=False
        )
        authority = host if port == 443 else f"{host}:{port}"
        await intercept(inside, open_securely, authority, self.exchange, secrets)


def _authority(secrets: Sequence[HostSecret]) -> "Authority | None":
    if not secrets:
        return None
    from toolwright.backends.sandboxes._authority import Authority  # noqa: PLC0415  (optional)

    return Authority(host for secret in secrets for host in secret.hosts)


async def _read_head(client: ByteReceiveStream) -> tuple[bytes, bytes]:
    data = bytearray()
    with anyio.move_on_after(_HEAD_SECONDS):
        while b"\r\n\r\n" not in data:
            data += await client.receive()
            if len(data) > _HEAD_BYTES:
                raise _Refused(431, f"The request's head is longer than {_HEAD_BYTES} bytes.")
        head, rest = bytes(data).split(b"\r\n\r\n", 1)
        return head, rest
    raise _Refused(408, f"The request did not come within {_HEAD_SECONDS} seconds.")


def _read_request(head: bytes) -> _Request:
    first, *headers = head.decode("latin-1").split("\r\n")
    found = _FIRST_LINE.fullmatch(first)
    if not found or not all(map(_HEADER.fullmatch, headers)):
        raise _Refused(400, "The request is not one that HTTP/1.1 has for a proxy.")
    try:
        if found[1] == "CONNECT":
            return _tunnel(found[2])
        return _plain(found[1], found[2], headers)
    except ValueError as error:
        raise _Refused(
            400, f"{found[2]!r} is not an address for a proxy: {error}; use host:port or http://…."
        ) from error


def _tunnel(target: str) -> _Request:
    found = _TUNNEL.fullmatch(target)
    if not found:
        raise ValueError("not a host and a port")
    return _Request(str(read_host(found[1])), _checked_port(int(found[2])), None)


def _plain(method: str, target: str, headers: Sequence[str]) -> _Request:
    """One request, after which the connection ends, so that the next cannot name another host."""
    parts = urlsplit(target)
    if parts.scheme != "http" or parts.hostname is None:
        raise ValueError("not of the form http://host/path")
    host = str(read_host(parts.hostname))
    port = _checked_port(80 if parts.port is None else parts.port)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    named = f"[{host}]" if ":" in host else host
    drop = ("proxy-", "connection:", "host:")
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {named}" if port == 80 else f"Host: {named}:{port}",
        *(line for line in headers if not line.lower().startswith(drop)),
        "Connection: close",
    ]
    return _Request(host, port, "\r\n".join([*lines, "", ""]).encode("latin-1"))


def _checked_port(port: int) -> int:
    if not 0 < port < 65536:
        raise ValueError("a port is a number from 1 to 65535")
    return port


async def _join(one: ByteStream, other: ByteStream) -> None:
    """Hand on in both directions until both have ended, or one side is gone."""
    async with anyio.create_task_group() as group:
        group.start_soon(_pour, one, other, group.cancel_scope)
        group.start_soon(_pour, other, one, group.cancel_scope)


async def _pour(source: ByteStream, sink: ByteStream, both: anyio.CancelScope) -> None:
    try:
        async for chunk in source:
            await sink.send(chunk)
        await sink.send_eof()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        both.cancel()
