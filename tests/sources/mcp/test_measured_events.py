"""What is measured of a server's event stream is what is read of it, however its lines end."""

import json
from collections.abc import AsyncIterator
from itertools import product

import httpx2
import pytest

from toolwright.sources.mcp._bounded import _Measured, bounded

pytestmark = pytest.mark.anyio
ENDS = [b"\n", b"\r", b"\r\n"]
# A return and a line feed after it are one end of a line, and no end of an event.
TWO_ENDS = [pair for pair in product(ENDS, repeat=2) if b"".join(pair) != b"\r\n"]
DEEP = b"[" * 70 + b"]" * 70


class Body(httpx2.AsyncByteStream):
    """Sends `data` in pieces of `size` bytes."""

    def __init__(self, data: bytes, size: int) -> None:
        self._pieces = [data[at : at + size] for at in range(0, len(data), size)]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def events(
    data: bytes, size: int = 1000, charset: str = "", most: int = 10_000
) -> list[tuple[str, str]]:
    """The events that the SDK would read of such a stream."""
    return [(event.event, event.data) for event in await whole_events(data, size, charset, most)]


async def whole_events(
    data: bytes, size: int = 1000, charset: str = "", most: int = 10_000
) -> list[httpx2.ServerSentEvent]:
    headers = {"content-type": f"text/event-stream{charset}"}
    answer = httpx2.Response(200, headers=headers, stream=Body(data, size))
    plain = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda request: answer))
    async with (
        bounded(plain, most) as http,
        http.stream("GET", "http://server.example") as response,
    ):
        return [event async for event in httpx2.EventSource(response)]


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("ends", TWO_ENDS, ids=repr)
async def test_no_way_to_end_a_line_gets_a_message_past_the_measure(
    ends: tuple[bytes, bytes], size: int
) -> None:
    # To whoever takes both for one event, the quotes make a text of what is between them.
    opened = b'event: x%sdata: "%s%s' % (ends[0], *ends)
    fine = opened + b'data: {"a": 1}\n\ndata: [2]' + ends[0] + ends[1] + b"data: 3\n\n"
    read = [("x", '"'), ("message", '{"a": 1}'), ("message", "[2]"), ("message", "3")]
    assert await events(fine, size) == read
    with pytest.raises(httpx2.SSEError, match="nested more than 64"):
        await events(opened + b"data: " + DEEP + b'\n\n: "\n\n', size)


@pytest.mark.parametrize("charset", ["utf-16-le; x=utf-8", "utf-7", '"utf-16"; charset=utf-8'])
async def test_a_stream_in_another_encoding_is_not_read(charset: str) -> None:
    with pytest.raises(httpx2.DecodingError, match="where UTF-8 is expected"):
        await events(b"data: 1\n\n", charset=f"; charset={charset}")


@pytest.mark.parametrize("charset", ["", "; charset=UTF-8", '; charset="utf-8"', "; x=utf-16"])
async def test_utf_8_is_read_by_any_of_its_names(charset: str) -> None:
    assert await events("data: ü\n\n".encode(), charset=charset) == [("message", "ü")]


async def test_an_event_without_its_end_is_none() -> None:
    assert await events(b"data: 1\n\ndata: 2\n") == [("message", "1")]


async def test_the_encoding_of_an_answer_is_read_in_any_case() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"Content-Encoding": "Identity"}, text="{}")

    async with bounded(httpx2.AsyncClient(transport=httpx2.MockTransport(answer)), 100) as http:
        assert (await http.get("http://127.0.0.1")).text == "{}"


@pytest.mark.parametrize("line", [b"data:\n", b": a comment\n", b"id: 1\n", b"x\n"])
async def test_an_event_of_very_many_lines_is_not_read(line: bytes) -> None:
    lines = b'data: {"a": 1}\n' + line * 200_000
    with pytest.raises(httpx2.SSEError, match="more than 200,000 lines"):
        await events(lines + b"\n", size=100_000, most=10_000_000)


async def test_an_event_is_handed_on_in_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    measure = _Measured._measured

    async def measured(self: _Measured, message: bytes) -> bytes:
        seen.append(await measure(self, message))
        return seen[-1]

    monkeypatch.setattr(_Measured, "_measured", measured)
    many = b"data: {\n" + b": no\nid: 1\nretry: 700\nx: y\ndata:\n" * 20_000 + b'data: "a": 1}\n\n'
    [event] = await whole_events(many, size=100_000, most=10_000_000)
    assert (json.loads(event.data), event.id, event.retry) == ({"a": 1}, "1", 700)
    assert seen[0].count(b"\n") == 4


@pytest.mark.parametrize("nothing", [b"\n\n", b": ping\n\n", b"x: y\n\n", b"retry: soon\n\n"])
async def test_what_says_nothing_is_not_handed_on(nothing: bytes) -> None:
    assert await events(nothing * 1000 + b"data: 1\n\n") == [("message", "1")]


@pytest.mark.parametrize(
    ("asked", "pause"),
    [(b"0", 500), (b"1", 500), (b"2000", 2000), (b"60001", 60_000), (b"9" * 9000, 60_000)],
)
async def test_a_server_chooses_when_its_stream_is_opened_again_within_bounds(
    asked: bytes, pause: int
) -> None:
    [event] = await whole_events(b"retry: " + asked + b"\ndata: 1\n\n")
    assert event.retry == pause


@pytest.mark.parametrize("field", ["event", "id"])
async def test_fields_that_would_be_logged_and_sent_back_have_a_length(field: str) -> None:
    def one(length: int) -> bytes:
        return f"{field}: {'x' * length}\ndata: 1\n\n".encode()

    fits, cut = await whole_events(one(1000), most=10_000) + await whole_events(one(1001))
    assert (getattr(fits, field), getattr(cut, field)) == (
        "x" * 1000,
        {"event": "message", "id": ""}[field],
    )


MESSAGE = b'data: {"jsonrpc": "2.0", "method": "x"}\n\n'


@pytest.mark.parametrize("stray", [b"data: x\n\n", b'data: {"a": 1}\n\n', b"event: y\n" + MESSAGE])
async def test_a_stream_with_many_events_that_are_no_messages_ends(stray: bytes) -> None:
    assert len(await events(stray * 100 + MESSAGE * 1000)) == 1100
    with pytest.raises(httpx2.SSEError, match="are no messages"):
        await events(stray * 101)
