"""However much a server sends, the SDK is given so much as it can read in no time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from toolwright.sources.mcp._listings import Listings

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def streams() -> AsyncIterator[tuple[Any, Any, Any, Any]]:
    """What the server writes and reads, and what the SDK reads and writes."""
    to_client, from_server = anyio.create_memory_object_stream[Any](10_000)
    to_server, from_client = anyio.create_memory_object_stream[Any](10_000)

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        yield from_server, to_server

    with to_client, from_server, to_server, from_client:
        async with Listings("Server 's'").over(transport()) as (reading, writing):
            yield to_client, from_client, reading, writing


def ping(number: int) -> SessionMessage:
    return SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=number, method="ping"))


def pong(number: int) -> SessionMessage:
    return SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=number, result={}))


async def test_a_server_that_asks_without_taking_the_answers_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with streams() as (to_client, _, reading, _):
        for number in range(5000):
            to_client.send_nowait(ping(number))
        assert len([item async for item in reading]) == 1000
    assert "asks without taking the answers" in caplog.text


async def test_one_that_takes_them_may_ask_for_ever() -> None:
    async with streams() as (to_client, _, reading, writing):
        for number in range(3000):
            to_client.send_nowait(ping(number))
            await reading.receive()
            await writing.send(pong(number))


@pytest.mark.parametrize("key", ["content", "contents", "messages"])
async def test_a_crowd_of_parts_is_cut_before_it_is_read(key: str) -> None:
    parts = [{"type": "text", "text": "x"}] * 5000
    async with streams() as (to_client, _, reading, _):
        for count in (1000, 5000):
            result = {key: parts[:count]}
            response = types.JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
            to_client.send_nowait(SessionMessage(response))
        assert len((await reading.receive()).message.result[key]) == 1000
        cut = (await anext(reading)).message.result[key]
    noted = [{"type": "text", "text": "(4,000 more parts are left out.)"}]
    assert cut == parts[:1000] + (noted if key == "content" else [])
