"""What a server sends over HTTP, measured before anybody reads it, as its lines over stdio are."""

from collections.abc import AsyncIterator

import httpx2

from toolwright.sources._measured import measured

__all__ = ["bounded"]

_UTF_8 = (None, "utf-8", "utf8")


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

    async def __aiter__(self) -> AsyncIterator[bytes]:
        waiting = bytearray()
        async for chunk in self._plain_lines() if self._events else self._inner:
            searched = max(0, len(waiting) - 1)
            waiting += chunk
            while self._events and (end := waiting.find(b"\n\n", searched)) >= 0:
                yield await self._measured(bytes(waiting[: end + 2]))
                del waiting[: end + 2]
                searched = 0
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
        """Only what will be read of it is JSON; it may come in pieces, and with comments between."""
        lines = event.split(b"\n")
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
