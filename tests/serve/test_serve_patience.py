"""Clients that say half of something and then wait: the server does not wait with them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from unittest.mock import Mock

import anyio
import anyio.lowlevel
import pytest
import uvicorn
from anyio.abc import SocketStream
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from toolwright.serve._listen import listen
from toolwright.serve._patience import Patience, waiting_with
from toolwright.serve._serve import StartedServer

pytestmark = pytest.mark.anyio
SHORT = Patience(head=0.3, body=0.3, reading=0.3, connections=5)
GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"


@asynccontextmanager
async def serving(patience: Patience = SHORT) -> AsyncIterator[tuple[int, anyio.Event]]:
    """Its port, and what is set when an answer without an end has ended."""
    gone = anyio.Event()

    async def slowly(request: Request) -> PlainTextResponse:
        await anyio.sleep(4 * patience.head)
        return PlainTextResponse("at last")

    async def body(request: Request) -> PlainTextResponse:
        try:
            return PlainTextResponse(str(len(await request.body())))
        except ClientDisconnect:
            gone.set()
            raise

    async def endless(request: Request) -> StreamingResponse:
        async def pieces() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"x" * 65536
                    await anyio.lowlevel.checkpoint()
            finally:
                gone.set()

        return StreamingResponse(pieces())

    def here(request: Request) -> PlainTextResponse:
        return PlainTextResponse("here")

    paths: dict[str, Any] = {"/": here, "/slowly": slowly, "/endless": endless}
    routes = [
        *(Route(path, handler) for path, handler in paths.items()),
        Route("/body", body, methods=["POST"]),
    ]
    with listen("127.0.0.1", 0) as bound:
        server = StartedServer(Starlette(routes=routes), patience=patience)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [bound])
            yield bound.getsockname()[1], gone
            server.should_exit = True


async def connect(port: int) -> SocketStream:
    return await anyio.connect_tcp("127.0.0.1", port)


async def closed(client: SocketStream) -> bytes:
    """What the server says until it closes."""
    said = b""
    with anyio.fail_after(10):
        try:
            while True:
                said += await client.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            await client.aclose()
            return said


@pytest.mark.parametrize(
    "sent", [b"", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nhost: x\r\nx: "], ids=range(4)
)
async def test_half_a_head_is_not_waited_for(sent: bytes) -> None:
    async with serving() as (port, _):
        client = await connect(port)
        if sent:
            await client.send(sent)
        assert await closed(client) == b""


async def test_a_head_that_comes_byte_by_byte_is_not_waited_for() -> None:
    async with serving() as (port, _):
        client = await connect(port)
        await client.send(b"GET / HTTP/1.1\r\nx: ")
        with anyio.fail_after(10), suppress(anyio.BrokenResourceError):
            while True:
                await client.send(b"x")
                await anyio.sleep(0.01)
        assert await closed(client) == b""


async def test_a_head_without_an_end_is_not_read_for_long() -> None:
    patient = Patience(head=60.0, body=60.0, reading=60.0, connections=5)
    async with serving(patient) as (port, _):
        client = await connect(port)
        with anyio.fail_after(10), suppress(anyio.BrokenResourceError):
            await client.send(b"GET / HTTP/1.1\r\n")
            while True:
                await client.send(b"x: y\r\n" * 1000)
        assert b"200" not in await closed(client)


async def test_half_of_the_next_request_is_not_waited_for_either() -> None:
    async with serving() as (port, _):
        client = await connect(port)
        await client.send(GET)
        said = await client.receive()
        await client.send(b"GET / HT")
        said += await closed(client)
    assert said.count(b"HTTP/1.1 200") == 1


async def test_at_the_limit_new_ones_are_refused_in_words_and_those_there_are_answered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    patient = Patience(connections=50, all_connections=3)
    async with serving(patient) as (port, _):
        first = [await connect(port) for _ in range(3)]
        for client in first:
            await client.send(GET)
            assert b"200 OK" in await client.receive()
        for _ in range(5):
            refused = await connect(port)
            assert b"503 Service Unavailable" in await closed(refused)
        await first[0].send(GET)
        assert b"200 OK" in await first[0].receive()
        await first[0].aclose()
        with anyio.fail_after(10):
            while True:
                again = await connect(port)
                with suppress(anyio.BrokenResourceError, anyio.EndOfStream):
                    await again.send(GET)
                    if b"200 OK" in await again.receive():
                        break
                await again.aclose()
        for client in (*first[1:], again):
            await client.aclose()
    told = [r.getMessage() for r in caplog.records if "connections are open" in r.getMessage()]
    assert 1 <= len(told) <= 3
    assert told[0].startswith("3 connections are open, as many as this process may have")


async def test_half_a_body_is_not_waited_for_and_whoever_reads_it_is_told() -> None:
    async with serving() as (port, gone):
        client = await connect(port)
        await client.send(POST % 100 + b"x" * 50)
        assert await closed(client) == b""
        with anyio.fail_after(10):
            await gone.wait()


async def test_a_body_that_keeps_coming_is_taken_however_long_it_takes() -> None:
    async with serving() as (port, _):
        client = await connect(port)
        await client.send(POST % (6 * 20_000))
        for _ in range(6):
            await anyio.sleep(SHORT.body / 3)
            await client.send(b"x" * 20_000)
        assert b"120000" in await client.receive()
        await client.aclose()


async def test_an_answer_may_take_longer_than_a_request() -> None:
    async with serving() as (port, _):
        client = await connect(port)
        await client.send(GET.replace(b"GET /", b"GET /slowly"))
        with anyio.fail_after(10):
            assert b"200 OK" in await client.receive()
        await client.aclose()


async def test_an_answer_that_nobody_reads_is_given_up() -> None:
    async with serving() as (port, gone):
        client = await connect(port)
        await client.send(GET.replace(b"GET /", b"GET /endless"))
        with anyio.fail_after(10):
            await gone.wait()
        await client.aclose()


async def test_one_address_has_a_share_of_connections_and_gets_it_back() -> None:
    async with serving(Patience(connections=3)) as (port, _):
        held = [await connect(port) for _ in range(3)]
        for client in held:
            await client.send(GET)
            assert b"here" in await client.receive()
        assert await closed(await connect(port)) == b""
        await held.pop().aclose()
        with anyio.fail_after(10):
            while True:  # The server hears of it a moment later.
                again = await connect(port)
                try:
                    await again.send(GET)
                    assert b"here" in await again.receive()
                    break
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    await again.aclose()
        for client in (*held, again):
            await client.aclose()


@pytest.mark.parametrize(
    ("left", "aborted"),
    [([9, 9], True), ([9, 8], False), ([0, 0], False)],
    ids=["no", "slowly", "all"],
)
async def test_what_is_left_of_a_closed_connection_is_read_or_given_up(
    left: list[int], aborted: bool
) -> None:
    """How much fits into the system's own buffers differs, so the transport is a stand-in here."""
    made: Any = waiting_with(SHORT)
    config = uvicorn.Config(Starlette())
    protocol = made(config=config, server_state=uvicorn.server.ServerState(), app_state={})
    protocol.transport = Mock(is_closing=lambda: True, get_write_buffer_size=lambda: left.pop(0))
    protocol.loop = Mock()
    protocol._watch()
    protocol._watch()
    assert protocol.transport.abort.called is aborted
