"""No request costs more than its length, and without the token none costs much."""

import gc
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

import anyio
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from tests.serve._agents import chatting

from toolwright import Runner
from toolwright.backends import MemoryArtifacts
from toolwright.backends.files import FilesystemBackend
from toolwright.serve import Links, ServeSettings, create_app

pytestmark = pytest.mark.anyio
HEAD = 16_000
BODY = 100_000
LARGER = 8
"""How many times as long the second of two requests is."""
SLACK = 0.05
"""Seconds: far below what a quadratic step takes, far above what another process can add."""


@asynccontextmanager
async def served(**settings: Any) -> AsyncIterator[Starlette]:
    app = create_app(
        Runner(chatting().agent, app_name="test", artifacts=MemoryArtifacts()),
        settings=ServeSettings(requests_per_second=0, agui=True, **settings),
        files=FilesystemBackend("."),
        links=Links("0123456789abcdef", "http://127.0.0.1"),
    )
    async with app.router.lifespan_context(app):
        yield app


async def ask(
    app: Starlette,
    method: str,
    path: str,
    query: str = "",
    headers: tuple[tuple[str, str], ...] = (),
    body: bytes = b"",
) -> tuple[int, float]:
    """The status, and the processor time that it took; a stream is left after its first frame."""
    first = {"host": "127.0.0.1", "content-type": "application/json"} | dict(headers)
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "scheme": "http", "root_path": "",
        "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in first.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    left = [{"type": "http.request", "body": body}]
    answered, statuses = anyio.Event(), list[int]()

    async def receive() -> Any:
        if left:
            return left.pop()
        await answered.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
        else:
            answered.set()

    gc.disable()
    try:
        began = time.process_time()
        await app(scope, receive, send)
        return statuses[0], time.process_time() - began
    finally:
        gc.enable()


HEADS: dict[str, Callable[[int], dict[str, Any]]] = {
    "a query field again and again": lambda n: {"query": "&".join(["a"] * (n // 2))},
    "many query fields": lambda n: {"query": "&".join(f"a{i:x}" for i in range(n // 5))},
    "a long number": lambda n: {"query": "since=" + "9" * n},
    "a long path in the query": lambda n: {"query": "path=/" + "../" * (n // 3)},
    "half an escape": lambda n: {"query": "%" * n},
    "a long cookie": lambda n: {"headers": (("cookie", "x" * n),)},
    "a quoted cookie": lambda n: {"headers": (("cookie", 'x="' + "\\1" * (n // 2) + '"'),)},
    "many cookies": lambda n: {"headers": (("cookie", "a=b;" * (n // 4)),)},
    "a long event id": lambda n: {"headers": (("last-event-id", "9" * n),)},
    "a long token": lambda n: {"headers": (("authorization", "Bearer " + "x" * n),)},
    "a long host": lambda n: {"headers": (("host", "1." * (n // 2)),)},
    "a long origin": lambda n: {"headers": (("origin", "http://" + "a:" * (n // 2)),)},
    "a long length": lambda n: {"headers": (("content-length", "9" * n),)},
    "many headers": lambda n: {"headers": tuple((f"x{i}", "1") for i in range(n // 6))},
    "a long id": lambda n: {"at": "x" * n},
    "dots for an id": lambda n: {"at": "../" * (n // 3)},
}  # fmt: skip
BODIES: dict[str, Callable[[int], dict[str, Any]]] = {
    "brackets": lambda n: {"body": b"[" * n},
    "a field again and again": lambda n: {"body": b"{" + b",".join([b'"a":1'] * (n // 6)) + b"}"},
    "many fields": lambda n: {
        "body": b"{" + b",".join(b'"a%x":1' % i for i in range(n // 10)) + b"}"
    },
    "a long number": lambda n: {"body": b'{"upto":' + b"9" * n + b"}"},
    "a long text": lambda n: {"body": b'{"title":"' + b"a" * n + b'"}'},
    "half letters": lambda n: {"body": b'{"title":"' + b"\\ud800" * (n // 6) + b'"}'},
    "a long id": lambda n: {"body": b'{"session_id":"' + b"a" * n + b'!"}'},
    "a deep call": lambda n: {"body": b'{"call_id":"' + b"a/" * (n // 2) + b'","answer":{}}'},
    "space": lambda n: {"body": b" " * n},
}


def operations(app: Starlette) -> list[tuple[str, str]]:
    routes = [route for route in app.routes if isinstance(route, Route)]
    found = [(method, route.path) for route in routes for method in sorted(route.methods or ())]
    return [*(one for one in found if one[0] != "HEAD"), ("GET", "/{name}")]


def address(path: str, name: str) -> str:
    for part in ("{session_id}", "{name:path}", "{name}", "{token}"):
        path = path.replace(part, name)
    return path


async def too_dear(
    app: Starlette,
    method: str,
    path: str,
    make: Callable[[int], dict[str, Any]],
    length: int,
) -> bool:
    costs = []
    for size in (length // LARGER, length):
        fields = make(size)
        at = address(path, fields.pop("at", "s"))
        costs.append((await ask(app, method, at, **fields))[1])
    return costs[1] > 3 * LARGER * costs[0] + SLACK


@pytest.mark.parametrize("token", ["0123456789abcdef", None], ids=["a stranger", "no token"])
async def test_no_head_costs_more_than_its_length(token: str | None) -> None:
    async with served(token=token) as app:
        found = [
            (method, path, name)
            for method, path in operations(app)
            for name, make in HEADS.items()
            if await too_dear(app, method, path, make, HEAD)
        ]
    assert found == []


async def test_no_body_costs_more_than_its_length() -> None:
    async with served() as app:
        await ask(app, "POST", "/api/sessions", body=b'{"session_id": "s"}')
        found = [
            (method, path, name)
            for method, path in operations(app)
            for name, make in BODIES.items()
            if method not in ("GET", "DELETE") and await too_dear(app, method, path, make, BODY)
        ]
    assert found == []


async def test_a_head_that_is_too_long_is_refused_before_anything_reads_it() -> None:
    async with served(token="0123456789abcdef") as app:
        assert (await ask(app, "GET", "/api/health", query="a" * 40_000))[0] == 431
        long = (("x-long", "a" * 40_000),)
        assert (await ask(app, "GET", "/api/health", headers=long))[0] == 431
        assert (await ask(app, "GET", "/" + "a" * 40_000))[0] == 431


async def test_of_a_stranger_no_long_body_is_read() -> None:
    async with served(token="0123456789abcdef") as app:
        long = b'{"token": "' + b"a" * 5000 + b'"}'
        assert (await ask(app, "POST", "/api/sign-in", body=long))[0] == 413
        assert (await ask(app, "POST", "/api/sign-in", body=b'{"token": "a"}'))[0] == 403


@pytest.mark.parametrize("declared", [True, False], ids=["by its length", "in pieces"])
async def test_a_body_that_is_too_long_is_refused_in_words_either_way(declared: bool) -> None:
    async with served(max_body=1000) as app:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:

            async def pieces() -> AsyncIterator[bytes]:
                yield b"x" * 2000

            headers = {"content-type": "application/json"}
            content = b"x" * 2000 if declared else pieces()
            reply = await http.post("/api/sessions", content=content, headers=headers)
    assert reply.status_code == 413
    assert reply.headers["content-type"] == "application/problem+json"
    assert "longer than 1000 bytes" in reply.json()["detail"]


async def test_a_stream_that_is_asked_for_with_a_body_is_a_stream() -> None:
    async with served() as app:
        long = (("content-length", "9" * 12),)
        assert (await ask(app, "GET", "/api/stream", headers=long))[0] == 200


async def test_very_many_unknown_fields_are_counted() -> None:
    async with served() as app:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            many = {f"a{number}": 1 for number in range(51)}
            for reply in (
                await http.post("/api/sessions", json=many),
                await http.get("/api/health", params=many),
            ):
                assert (reply.status_code, reply.json()["detail"]) == (
                    422,
                    "There are 51 unknown fields.",
                )
