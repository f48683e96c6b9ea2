"""Hand on HTTP requests one by one, changing their headers and searching their answers."""

from collections.abc import Awaitable, Callable, Sequence

import anyio
from anyio.abc import ByteStream

from toolwright.backends.sandboxes._secrets import Exchange, Filter, HostSecret

try:
    import h11
except ImportError as error:
    raise ImportError(
        "Secrets for a sandbox need an extra: pip install 'toolwright[sandbox]'"
    ) from error

__all__ = ["intercept"]

_NOT_HANDED_ON = (b"connection", b"proxy-connection", b"keep-alive", b"upgrade", b"host", b"te",
                  b"accept-encoding", b"expect", b"range", b"if-range")  # fmt: skip
"""What belongs to one connection, and what would have a secret sent in pieces or packed."""
_PARTIAL = 206
_UNSEARCHED = "The host could not be reached, or its answer could not be searched for secrets."
_CHUNK = 65536
Headers = list[tuple[bytes, bytes]]


async def intercept(
    client: ByteStream,
    open_server: Callable[[], Awaitable[ByteStream]],
    authority: str,
    exchange: Exchange,
    secrets: Sequence[HostSecret],
) -> None:
    """Serve requests on `client` until it closes; each goes to a server of its own connection.

    Whatever host a request names, it goes to `authority`.
    """
    ours = h11.Connection(h11.SERVER)
    while True:
        try:
            request = await _next(ours, client)
        except h11.RemoteProtocolError:
            await _fail(ours, client, 400, "The request is not HTTP/1.1.")
            return
        if not isinstance(request, h11.Request):
            return
        if not request.target.startswith(b"/") and request.target != b"*":
            await _fail(
                ours, client, 400, "The request names a host in its first line; name a path."
            )
            return
        try:
            async with await open_server() as server:
                await _exchange(ours, client, server, request, authority, exchange, secrets)
        except (OSError, anyio.BrokenResourceError, anyio.EndOfStream, h11.RemoteProtocolError):
            await _fail(ours, client, 502, "" if request.method == b"HEAD" else _UNSEARCHED)
            return
        if ours.our_state is not h11.DONE or ours.their_state is not h11.DONE:
            return
        ours.start_next_cycle()


async def _exchange(
    ours: h11.Connection,
    client: ByteStream,
    server: ByteStream,
    request: h11.Request,
    authority: str,
    exchange: Exchange,
    secrets: Sequence[HostSecret],
) -> None:
    theirs = h11.Connection(h11.CLIENT)
    headers = [
        (name, exchange.put_in(name, value, secrets))
        for name, value in request.headers
        if name.lower() not in _NOT_HANDED_ON
    ]
    headers += [(b"host", authority.encode()), (b"connection", b"close")]
    # An answer must be readable here, so that it can be searched.
    headers += [(b"accept-encoding", b"identity")]
    asked = h11.Request(method=request.method, target=request.target, headers=headers)
    await _send(theirs, server, asked)
    while isinstance(event := await _next(ours, client), h11.Data):
        await _send(theirs, server, event)
    await _send(theirs, server, h11.EndOfMessage())
    await _hand_back(theirs, server, ours, client, exchange.filter())


async def _hand_back(
    theirs: h11.Connection,
    server: ByteStream,
    ours: h11.Connection,
    client: ByteStream,
    searched: Filter,
) -> None:
    while True:
        event = await _next(theirs, server)
        match event:
            case h11.InformationalResponse():
                continue
            case h11.Response():
                await _send(ours, client, _answer(event, searched))
            case h11.Data():
                if data := searched.feed(bytes(event.data)):
                    await _send(ours, client, h11.Data(data=data))
            case h11.EndOfMessage():
                if rest := searched.end():
                    await _send(ours, client, h11.Data(data=rest))
                await _send(ours, client, h11.EndOfMessage())
                return
            case _:
                raise anyio.EndOfStream


def _answer(response: h11.Response, searched: Filter) -> h11.Response:
    """The head of the answer; its length may change, so it goes without one."""
    encodings = {value.lower() for name, value in response.headers if name == b"content-encoding"}
    if encodings - {b"identity"} or response.status_code == _PARTIAL:
        raise h11.RemoteProtocolError("the answer is packed or in pieces, and cannot be searched")
    left_out = (b"content-length", b"transfer-encoding", b"connection", b"keep-alive")
    headers: Headers = [
        (searched.whole(name), searched.whole(value))
        for name, value in response.headers
        if name not in left_out
    ]
    return h11.Response(
        status_code=response.status_code,
        reason=searched.whole(bytes(response.reason)),
        headers=headers,
    )


async def _fail(ours: h11.Connection, client: ByteStream, status: int, reason: str) -> None:
    """Say what failed, unless an answer has begun."""
    if ours.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    text = f"{reason}\n".encode() if reason else b""
    headers = [(b"content-length", str(len(text)).encode()), (b"connection", b"close")]
    await _send(ours, client, h11.Response(status_code=status, headers=headers))
    if text:
        await _send(ours, client, h11.Data(data=text))
    await _send(ours, client, h11.EndOfMessage())


async def _next(connection: h11.Connection, stream: ByteStream) -> h11.Event | None:
    """The next event; None when the other side does what comes only after this exchange."""
    while (event := connection.next_event()) is h11.NEED_DATA:
        if connection.our_role is h11.SERVER and connection.they_are_waiting_for_100_continue:
            go_on = h11.InformationalResponse(status_code=100, headers=[])
            await _send(connection, stream, go_on)
        try:
            data = await stream.receive(_CHUNK)
        except anyio.EndOfStream:
            data = b""
        connection.receive_data(data)
    return event if isinstance(event, h11.Event) else None


async def _send(connection: h11.Connection, stream: ByteStream, event: h11.Event) -> None:
    data = connection.send(event)
    if data:
        await stream.send(data)
