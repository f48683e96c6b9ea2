"""What a server sends over HTTP, measured before anybody reads it, as its lines over stdio are."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx2

from toolwright.concurrency import in_io_thread
from toolwright.sources._measured import LONG, measured

__all__ = ["bounded"]

_UTF_8 = (None, "utf-8", "utf8")
_MOST_LINES = 200_000
"""Lines of one event: as many as a message may have values."""
_MOST_STRAYS = 100
"""Events of one stream that are no messages, each of which the SDK logs at length."""
_LONGEST_FIELD = 1_000
_SHORTEST_PAUSE, _LONGEST_PAUSE = 500, 60_000
"""Milliseconds, between which a server may choose after how long a stream is opened again."""


def bounded(http: httpx2.AsyncClient, most: int) -> httpx2.AsyncClient:
    """The same client, which refuses messages of more than `most` bytes, and those costly to read."""
    # Packed, a few bytes could become any number.
    http.headers["accept-encoding"] = "identity"

    async def measure(response: httpx2.Response) -> None:
        packed = response.headers.get("content-encoding", "identity").strip().lower()
        if packed != "identity":
            raise httpx2.DecodingError(
                f"the server packs its answers ({packed}), though it was asked not to",
                request=response.request,
            )
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        events = kind == "text/event-stream"
        charset = response.charset_encoding  # As whoever reads it will find it.
        if charset not in _UTF_8:
            raise httpx2.DecodingError(
                f"the server writes its answers in {charset!r:.100}, where UTF-8 is expected",
                request=response.request,
            )
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Measured(response.stream, most, events=events)

    http.event_hooks["response"].append(measure)
    return http


class _Measured(httpx2.AsyncByteStream):
    """Hands on whole messages: the body, or each event of a stream."""

    def __init__(self, inner: httpx2.AsyncByteStream, most: int, *, events: bool) -> None:
        self._inner = inner
        self._most = most
        self._events = events
        self._strays = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        waiting = bytearray()
        async for chunk in self._plain_lines() if self._events else self._inner:
            searched = max(0, len(waiting) - 1)
            waiting += chunk
            while self._events and (end := waiting.find(b"\n\n", searched)) >= 0:
                message = await self._measured(bytes(waiting[: end + 2]))
                del waiting[: end + 2]
                searched = 0
                if message:
                    yield message
            if len(waiting) > self._most:
                raise self._refused(f"it has more than {self._most:,} bytes")
        # An event without its end is none.
        if waiting and not self._events:
            yield await self._measured(bytes(waiting))

    async def _plain_lines(self) -> AsyncIterator[bytes]:
        """The stream with one way to end a line instead of three, so that nobody splits it otherwise."""
        after_return = False
        async for chunk in self._inner:
            rest = chunk[1:] if after_return and chunk.startswith(b"\n") else chunk
            after_return = chunk.endswith(b"\r") if chunk else after_return
            yield rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _measured(self, message: bytes) -> bytes:
        try:
            return await self._measured_event(message) if self._events else await measured(message)
        except ValueError as error:
            raise self._refused(str(error)) from None

    async def _measured_event(self, event: bytes) -> bytes:
        """What will be read of it, each field once; empty if that is nothing.

        Its data is JSON, which may come in pieces, and with comments between.
        """
        far = len(event) > LONG
        fields = await in_io_thread(_fields, event) if far else _fields(event)
        if fields.data is not None:
            self._count(fields)
            fields.data = await measured(fields.data)
        return await in_io_thread(fields.written) if far else fields.written()

    def _count(self, fields: "_Fields") -> None:
        named = fields.others.get(b"event") in (None, b"", b"message")
        if fields.data and not (named and b'"jsonrpc"' in fields.data):
            self._strays += 1
        if self._strays > _MOST_STRAYS:
            raise ValueError(f"more than {_MOST_STRAYS} events of this stream are no messages")

    def _refused(self, why: str) -> Exception:
        # Each is what the SDK expects there; of others it would not tell whoever waits.
        kind = httpx2.SSEError if self._events else httpx2.StreamError
        return kind(f"the server sent a message that is not read: {why}")


@dataclass(slots=True)
class _Fields:
    """What an event says: its data in one piece, and of each other field what came last."""

    data: bytes | None
    others: dict[bytes, bytes]

    def written(self) -> bytes:
        """The event anew, in as few lines as there can be."""
        lines = [b"%s: %s\n" % field for field in self.others.items()]
        if self.data is not None:
            # A line may end where JSON has blanks, and nowhere else.
            lines.append(b"data: %s\n" % self.data.replace(b"\n", b" "))
        return b"".join([*lines, b"\n"]) if lines else b""


def _fields(event: bytes) -> _Fields:
    if event.count(b"\n") > _MOST_LINES:
        raise ValueError(f"it has more than {_MOST_LINES:,} lines")
    data: list[bytes] = []
    others: dict[bytes, bytes] = {}
    for line in event.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                data.append(value)
            case b"retry" if value.isdigit():
                others[name] = b"%d" % _pause(value)
            case b"event" | b"id" if len(value) <= _LONGEST_FIELD:
                others[name] = value
    return _Fields(b"\n".join(data) if data else None, others)


def _pause(asked: bytes) -> int:
    """Milliseconds; a number of many digits takes long to be read."""
    wanted = int(asked) if len(asked) < 10 else _LONGEST_PAUSE
    return min(max(wanted, _SHORTEST_PAUSE), _LONGEST_PAUSE)
