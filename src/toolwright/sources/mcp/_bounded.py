"""What a server sends over HTTP, measured before anybody reads it, as its lines over stdio are."""

import re
from collections.abc import AsyncIterator

import httpx2

from toolwright.sources._measured import measured

__all__ = ["bounded"]

_LINE = re.compile(rb"\r\n|\n|\r")
_END_OF_EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r")


def bounded(http: httpx2.AsyncClient, most: int) -> httpx2.AsyncClient:
    """The same client, which refuses messages of more than `most` bytes, and those costly to read."""
    # Packed, a few bytes could become any number.
    http.headers["accept-encoding"] = "identity"

    async def measure(response: httpx2.Response) -> None:
        packed = response.headers.get("content-encoding", "identity")
        if packed != "identity":
            raise httpx2.DecodingError(
                f"the server packs its answers ({packed}), though it was asked not to",
                request=response.request,
            )
        kind, _, more = response.headers.get("content-type", "").lower().partition(";")
        events = kind.strip() == "text/event-stream"
        if "charset" in more and "utf-8" not in more:
            raise httpx2.DecodingError(
                f"the server writes its answers in{more}, where UTF-8 is expected",
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

    async def __aiter__(self) -> AsyncIterator[bytes]:
        waiting = bytearray()
        async for chunk in self._inner:
            searched = max(0, len(waiting) - 3)
            waiting += chunk
            while self._events and (end := _END_OF_EVENT.search(waiting, searched)):
                yield await self._measured(bytes(waiting[: end.end()]))
                del waiting[: end.end()]
                searched = 0
            if len(waiting) > self._most:
                raise self._refused(f"it has more than {self._most:,} bytes")
        if waiting:
            yield await self._measured(bytes(waiting))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _measured(self, message: bytes) -> bytes:
        try:
            return await self._measured_event(message) if self._events else await measured(message)
        except ValueError as error:
            raise self._refused(str(error)) from None

    async def _measured_event(self, event: bytes) -> bytes:
        """Only what will be read of it is JSON; it may come in pieces, and with comments between."""
        lines = _LINE.split(event)
        data = [line[5:] for line in lines if line.startswith(b"data:")]
        if not data:
            return event
        whole = b"\n".join(data)
        read = await measured(whole)
        if read is whole:
            return event
        others = [line for line in lines if line and not line.startswith(b"data:")]
        return b"\n".join([*others, b"data:" + read.replace(b"\n", b" "), b"", b""])

    def _refused(self, why: str) -> Exception:
        # Each is what the SDK expects there; of others it would not tell whoever waits.
        kind = httpx2.SSEError if self._events else httpx2.StreamError
        return kind(f"the server sent a message that is not read: {why}")
