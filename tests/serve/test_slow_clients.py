"""What one client can hold of an application that is mounted, where the server is not ours."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolwright import Agent, Runner
from toolwright.serve import ServeSettings, create_app
from toolwright.serve._patience import PROGRESS, Patience
from toolwright.serve.guard import SlowClients
from toolwright.serve.guard import _slow as slow
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio


def scope(path: str = "/", client: str = "192.0.2.1", method: str = "POST") -> Scope:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "client": (client, 1),
        "server": ("localhost", 80),
    }


def coming(*pieces: bytes, ends: bool = True) -> Receive:
    """A body in pieces; without an end, the rest is waited for."""
    left = [
        {"type": "http.request", "body": piece, "more_body": not ends or number < len(pieces)}
        for number, piece in enumerate(pieces, 1)
    ]

    async def receive() -> Message:
        await anyio.lowlevel.checkpoint()
        if not left:
            await anyio.sleep_forever()
        return left.pop(0)

    return receive


async def answer(app: ASGIApp, given: Scope, receive: Receive) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    with anyio.fail_after(10):
        await app(given, receive, send)
    return sent


async def size(given: Scope, receive: Receive, send: Send) -> None:
    response = PlainTextResponse(str(len(await Request(given, receive).body())))
    await response(given, receive, send)


async def test_half_a_body_is_not_waited_for() -> None:
    app = SlowClients(size, Patience(body=0.01))
    start, _ = await answer(app, scope(), coming(b"half", ends=False))
    assert start["status"] == 408
    assert (b"connection", b"close") in start["headers"]
    start, body = await answer(app, scope(), coming(b"a", b"b"))
    assert (start["status"], body["body"]) == (200, b"2")


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets time pass, for the guard alone."""
    now = [0.0]
    monkeypatch.setattr(slow.anyio, "current_time", lambda: now[0])
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


@pytest.mark.parametrize(("piece", "status"), [(PROGRESS, 200), (PROGRESS // 4, 408)])
async def test_a_body_must_make_progress_while_it_is_waited_for(
    passing: Callable[[float], None], piece: int, status: int
) -> None:
    inner = coming(*[b"x" * piece] * 8)

    async def receive() -> Message:
        passing(15)
        return await inner()

    start, *_ = await answer(SlowClients(size, Patience(body=20)), scope(), receive)
    assert start["status"] == status


async def test_what_the_application_does_in_between_is_not_held_against_the_client(
    passing: Callable[[float], None],
) -> None:
    async def slowly(given: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            passing(100)
        await PlainTextResponse("all")(given, receive, send)

    start, *_ = await answer(SlowClients(slowly, Patience(body=20)), scope(), coming(*[b"x"] * 5))
    assert start["status"] == 200


async def test_an_answer_that_nobody_reads_is_given_up() -> None:
    ended: list[bool] = []

    async def pieces() -> AsyncIterator[bytes]:
        while True:
            yield b"x"

    async def unread(message: Message) -> None:
        if message["type"] == "http.response.body":
            await anyio.sleep_forever()

    async def endless(given: Scope, receive: Receive, send: Send) -> None:
        try:
            await StreamingResponse(pieces())(given, receive, send)
        finally:
            ended.append(True)

    app = SlowClients(endless, Patience(reading=0.01))
    with anyio.fail_after(10):
        await app(scope(), coming(b""), unread)
    assert ended == [True]


async def test_mistakes_of_the_application_are_not_taken_for_slowness() -> None:
    async def broken(given: Scope, receive: Receive, send: Send) -> None:
        raise ConnectionError("of its own")

    with pytest.raises(ConnectionError, match="of its own"):
        await answer(SlowClients(broken, Patience()), scope(), coming(b""))


async def test_mounted_one_address_has_a_share_of_requests_and_gets_it_back() -> None:
    runner = Runner(Agent(name="a", model=ScriptedModel("hi")))
    agent = create_app(runner, settings=ServeSettings(max_connections=2))
    app = Starlette(routes=[Mount("/agent", agent)])

    async def status(client: str) -> int:
        given = scope("/agent/api/health", client, "GET")
        start, *_ = await answer(app, given, coming(b""))
        return start["status"]

    waiting: list[anyio.Event] = []

    async def half() -> Message:
        waiting.append(anyio.Event())
        arrived.set()
        await waiting[-1].wait()
        return {"type": "http.disconnect"}

    async def hold(given: Scope) -> None:
        try:
            await answer(app, given, half)
        except Exception as error:
            left.append(error)

    left: list[Any] = []
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            arrived = anyio.Event()
            tasks.start_soon(hold, scope("/agent/api/sessions"))
            with anyio.fail_after(10):
                await arrived.wait()
        assert await status("192.0.2.1") == 503
        assert await status("192.0.2.2") == 200
        for event in waiting:
            event.set()
    assert await status("192.0.2.1") == 200
