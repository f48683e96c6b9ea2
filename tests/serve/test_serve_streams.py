"""Event streams: one address never has them all."""

from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from toolwright.serve.live import Streams

pytestmark = pytest.mark.anyio


async def frames() -> AsyncGenerator[bytes, None]:
    yield b"data: 1\n\n"
    await anyio.sleep_forever()


async def test_a_quarter_of_the_streams_is_for_others_and_one_that_ends_makes_room() -> None:
    streams, statuses = Streams(4), list[tuple[str, int]]()

    async def open_stream(client: str, ready: anyio.Event, gone: anyio.Event) -> None:
        async def receive() -> dict[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append((client, message["status"]))
                ready.set()

        scope = {"type": "http", "client": (client, 1), "method": "GET", "path": "/", "headers": []}
        await streams.response(frames())(scope, receive, send)

    async with anyio.create_task_group() as tasks:
        leaving = anyio.Event()
        for client, gone in [("a", leaving), *[("a", anyio.Event())] * 3, ("b", anyio.Event())]:
            ready = anyio.Event()
            tasks.start_soon(open_stream, client, ready, gone)
            with anyio.fail_after(10):
                await ready.wait()
        assert statuses == [*[("a", 200)] * 3, ("a", 503), ("b", 200)]
        leaving.set()
        with anyio.fail_after(10):
            while len(streams._opened) == 4:  # noqa: ASYNC110 - it has no event for that
                await anyio.sleep(0.001)
        ready = anyio.Event()
        tasks.start_soon(open_stream, "a", ready, anyio.Event())
        with anyio.fail_after(10):
            await ready.wait()
        assert statuses[-1] == ("a", 200)
        tasks.cancel_scope.cancel()
