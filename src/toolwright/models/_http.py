"""Hold a provider's HTTP client to bounds: replies of its protocol, of a size that can be kept."""

import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import httpx2

from toolwright.errors import ModelError
from toolwright.models._errors import broken_off, model_error, not_a_reply, unreachable
from toolwright.models._exchange import exchange
from toolwright.models._secrets import Secrets
from toolwright.models._sent_errors import refuse_error
from toolwright.models._sse import Event, EventDecoder

__all__ = ["Response", "connection_error", "transport_errors", "watching"]

Response = httpx2.Response

MOST_BYTES = 64 * 2**20
"""Of one reply, unpacked. A page of images has a third of this; what is endless reaches it."""
_SHOWN_BYTES = 400
_FIELDS = (b"data", b"event", b"id", b"retry")
_BEGINNINGS = (
    b"{",
    b"[",
    b":",
    *(field + end for field in _FIELDS for end in (b":", b"\n", b"\r")),
)
"""Of JSON, and of server-sent events."""
_PACKINGS = frozenset({"", "identity", "gzip", "deflate"})
"""A small piece of these cannot become a huge one in a single step."""
_BREAKS = {char.encode(): f"\\u{ord(char):04x}".encode() for char in "\x85\u2028\u2029"}
"""Google's SDK takes these for ends of lines, in the middle of a text; JSON can write them so."""
_BOM = b"\xef\xbb\xbf"
_IN_CIRCLES = "a redirect that leads to another one, and so on"
_KEEPS_THE_METHOD = frozenset({307, 308})

Hook = Callable[[Any], Awaitable[None]]


def watching(name: str, secrets: Secrets, *, plainly: bool = False) -> dict[str, list[Hook]]:
    """The `event_hooks` with which an HTTP client refuses what is no reply, as a `ModelError`.

    What a request is signed with is added to the `secrets`. `plainly` is for an SDK that reads the
    body by itself, and only the simplest form of it.
    """

    async def on_request(request: httpx2.Request) -> None:
        exchange().asked(request.url, is_watched=True)
        request.headers["accept-encoding"] = "gzip, deflate"
        secrets.hold_headers(request.headers)

    async def on_response(response: httpx2.Response) -> None:
        exchange().answered(response.status_code)
        if response.has_redirect_location:
            _check_redirect(name, response)
        _check_packing(name, response)
        response.stream = watched = _Watched(name, response)
        if response.is_success:
            await watched.look()
            if plainly:
                response.stream = _Plain(name, watched)

    return {"request": [on_request], "response": [on_response]}


@contextmanager
def transport_errors(name: str) -> Iterator[None]:
    """Turn what the HTTP client itself raises into `ModelError`; some SDKs let it through."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise model_error(
            name, f"timed out: {error!r}", reason="timeout", url=_url(error)
        ) from error
    except httpx2.ConnectError as error:
        raise unreachable(name, _url(error), str(error)) from error
    except httpx2.TooManyRedirects as error:
        raise not_a_reply(name, _IN_CIRCLES) from error
    except httpx2.HTTPError as error:
        raise broken_off(name, str(error) or repr(error), url=_url(error)) from error


def connection_error(name: str, url: object, error: Exception) -> ModelError:
    """The error for what an SDK reports as a connection's, by what it has wrapped."""
    cause = error.__cause__
    if isinstance(cause, ModelError):
        error.__cause__ = None  # it is raised in place of the error that it has caused
        return cause
    if isinstance(cause, httpx2.TooManyRedirects):
        return not_a_reply(name, _IN_CIRCLES)
    if cause is None or isinstance(cause, httpx2.ConnectError):
        return unreachable(name, url, f"{error} {cause or ''}".strip())
    return broken_off(name, str(cause) or repr(cause), url=url)


def _url(error: Any) -> object:
    return getattr(error, "_request", None) and error.request.url


def _check_redirect(name: str, response: httpx2.Response) -> None:
    """Only to the same server, and with the same method, is a request sent on.

    Keys stand in headers of the providers' own, which a client would take along to any address.
    """
    here = response.url
    try:
        there = here.join(response.headers["location"])
    except (httpx2.InvalidURL, ValueError) as error:
        what = "a redirect to what is no address"
        raise not_a_reply(name, what, response.headers["location"]) from error
    # Each port is a server of its own; only that of the web has its other half at another one.
    encrypts = (here.scheme, there.scheme, here.port, there.port) == ("http", "https", None, None)
    same = (there.scheme, there.port) == (here.scheme, here.port)
    if there.host == here.host and (same or encrypts) and response.status_code in _KEEPS_THE_METHOD:
        return
    raise not_a_reply(name, f"a redirect to {there.scheme}://{there.host}, which is not followed")


def _check_packing(name: str, response: httpx2.Response) -> None:
    packing = response.headers.get("content-encoding", "").strip().lower()
    if packing not in _PACKINGS:
        what = f"a body packed as {packing!r}, which was not asked for"
        raise not_a_reply(name, what)


def _without_breaks(piece: bytes) -> bytes:
    for char, escape in _BREAKS.items():
        piece = piece.replace(char, escape)
    return piece


class _Watched(httpx2.AsyncByteStream):
    """The unpacked body of a response, measured, and looked at where it begins."""

    def __init__(self, name: str, response: httpx2.Response) -> None:
        self._name = name
        self._response = response
        self._exchange = exchange()
        self._exchange.close = self.aclose
        self._packed = httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=response.stream,
            request=response.request,
        )
        self._pieces = cast(AsyncGenerator[bytes, None], self._packed.aiter_bytes())
        self._size = 0
        self._head = b""
        for header in ("content-encoding", "content-length"):
            response.headers.pop(header, None)

    async def look(self) -> None:
        """Read until the beginning tells what this is; raises `ModelError` if that is no reply."""
        async for piece in self._pieces:
            self._measure(piece)
            # Blanks mean nothing there, and would be looked at again with each piece.
            self._head = head = (self._head + piece).lstrip()
            if _BOM.startswith(head):
                continue
            # The SDKs would take it for a part of the first line.
            self._head = head = head.removeprefix(_BOM).lstrip()
            if head.startswith(_BEGINNINGS):
                # The SDKs go by the header, and servers send JSON as text, or as nothing at all.
                kind = "application/json" if head[:1] in b"{[" else "text/event-stream"
                self._response.headers["content-type"] = kind
                return
            if not any(beginning.startswith(head) for beginning in _BEGINNINGS):
                raise self._refused(f"{self._kind()} that begins with", head)
        what = "the body ends where it begins" if self._head.strip() else "the body is empty"
        raise broken_off(self._name, what)

    def __aiter__(self) -> AsyncIterator[bytes]:
        # No generator: one that an SDK leaves unfinished would be closed at some later time.
        return self

    async def __anext__(self) -> bytes:
        if self._head:
            head, self._head = self._head, b""
            return head
        piece = await anext(self._pieces)
        self._measure(piece)
        return piece

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._pieces.aclose()
        await self._packed.aclose()

    def _measure(self, piece: bytes) -> None:
        self._exchange.came(piece)
        self._size += len(piece)
        if self._size > MOST_BYTES:
            raise self._refused(f"more than {MOST_BYTES // 1024:,} KB without an end")

    def _kind(self) -> str:
        return self._response.headers.get("content-type", "no content type").partition(";")[0]

    def _refused(self, what: str, shown: bytes | None = None) -> ModelError:
        text = None if shown is None else shown[:_SHOWN_BYTES].decode(errors="replace")
        return not_a_reply(self._name, what, text)

    @property
    def is_stream(self) -> bool:
        """Whether events come; known after a look."""
        return "event-stream" in self._response.headers["content-type"]


class _Plain(httpx2.AsyncByteStream):
    """A body for Google's SDK, which knows only lines of data, and in them no errors but its own."""

    def __init__(self, name: str, watched: _Watched) -> None:
        self._name = name
        self._watched = watched
        self._decoder = EventDecoder()
        self._lines: deque[bytes] = deque()
        self._ended = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._lines:
            if self._ended:
                raise StopAsyncIteration
            self._lines.extend(await (self._more() if self._watched.is_stream else self._whole()))
        return self._lines.popleft()

    async def _more(self) -> list[bytes]:
        piece = await anext(self._watched, None)
        self._ended = piece is None
        events = self._decoder.end() if piece is None else self._decoder.feed(piece)
        return [self._line(event) for event in events if not event.data.startswith(b"[DONE]")]

    async def _whole(self) -> list[bytes]:
        self._ended = True
        body = b"".join([piece async for piece in self._watched])
        self._look(body)
        return [body]

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._watched.aclose()

    def _line(self, event: Event) -> bytes:
        self._look(event.data, event.name)
        return b"data: " + _without_breaks(event.data.replace(b"\n", b" ")) + b"\n\n"

    def _look(self, data: bytes, event: str = "") -> None:
        if b'"error"' in data or b'"message"' in data or event == "error":
            with suppress(ValueError, RecursionError):  # which the SDK will find out
                answer = json.loads(data)
                refuse_error(answer[0] if _is_one(answer) else answer, self._name, event)


def _is_one(answer: Any) -> bool:
    """Google wraps an error into a list where it was asked for a stream."""
    return isinstance(answer, list) and len(answer) == 1
