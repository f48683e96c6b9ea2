"""A proxy outside the walls that connects only to the hosts it was told of."""

import contextlib
import fnmatch
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, ByteStream, SocketStream

__all__ = ["HostProxy"]

_HEAD_LIMIT = 64 * 1024
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"


class HostProxy:
    """Serves HTTP proxy requests on a unix socket, in a thread of its own, until it is closed."""

    def __init__(self, socket: Path, hosts: Sequence[str]) -> None:
        self.socket = socket
        self._hosts = tuple(host.lower() for host in hosts)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=anyio.run, args=(self._serve,), daemon=True)
        self._stop: threading.Event = threading.Event()
        self._thread.start()
        self._ready.wait(10)

    def allows(self, host: str) -> bool:
        """Whether a host is on the list; `*.example.com` stands for all below it."""
        return any(fnmatch.fnmatchcase(host.lower().rstrip("."), known) for known in self._hosts)

    def close(self) -> None:
        """End the thread and all connections."""
        self._stop.set()
        self._thread.join(5)

    async def _serve(self) -> None:
        listener = await anyio.create_unix_listener(self.socket, mode=0o600)
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, self._handle)
            self._ready.set()
            await anyio.to_thread.run_sync(self._stop.wait)
            group.cancel_scope.cancel()

    async def _handle(self, client: SocketStream) -> None:
        with contextlib.suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError, ValueError):
            async with client:
                head, rest = await _read_head(client)
                method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
                address = _address(method, target)
                if address is None or not self.allows(address[0]):
                    host = address[0] if address else target
                    text = f"{host} is not among the allowed hosts.\n".encode()
                    await client.send(_REFUSED % (len(text), text))
                    return
                async with await anyio.connect_tcp(*address) as server:
                    await _introduce(client, server, method, target, head)
                    await server.send(rest) if rest else None
                    await _join(client, server)


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
