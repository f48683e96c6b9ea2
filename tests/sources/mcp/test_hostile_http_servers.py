"""Servers over HTTP that mean harm: their answers are measured before the SDK reads them."""

import gzip
import json
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from tests.sources._calling import run_tool, tool_named

from toolwright.errors import StoreError, ToolError
from toolwright.sources import McpToolset, StreamableHTTPConnectionParams, discover_sign_in

pytestmark = pytest.mark.anyio
FINE = {"content": [{"type": "text", "text": "fine"}]}
DEEP = b"[" * 100_000 + b"]" * 100_000
DENSE = b"[" + b"[]," * 300_000 + b"[]]"


def answer(
    body: bytes, kind: str = "application/json", more: str = "", status: str = "200 OK"
) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}"
    return f"{head}connection: close\r\n\r\n".encode() + body


def reply(request: dict[str, Any], result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()


def around(request: dict[str, Any], inner: bytes) -> bytes:
    """A result of which one part is `inner`."""
    return reply(request, FINE | {"structuredContent": {"x": "HERE"}}).replace(b'"HERE"', inner)


def hostile(how: str, request: dict[str, Any]) -> bytes:
    """The answer to a call."""
    match how:
        case "deep":
            return answer(around(request, DEEP))
        case "dense":
            return answer(around(request, DENSE))
        case "huge":
            return answer(around(request, b'"' + b"x" * 3_000_000 + b'"'))
        case "packed":
            packed = gzip.compress(around(request, b'"' + b"x" * 50_000_000 + b'"'))
            return answer(packed, more="content-encoding: gzip\r\n")
        case "deepevent":
            return answer(b"data: " + around(request, DEEP) + b"\n\n", "text/event-stream")
        case "denseevent":
            return answer(b"data: " + around(request, DENSE) + b"\r\n\r\n", "text/event-stream")
        case "hugeevent":
            body = b"data: " + around(request, b'"' + b"x" * 3_000_000 + b'"')
            return answer(body + b"\n\n", "text/event-stream")
        case "packedevent":
            packed = gzip.compress(b"data: " + b" " * 50_000_000 + b"\n\n")
            return answer(packed, "text/event-stream", "content-encoding: gzip\r\n")
        case "comment":
            body = b': "\ndata: ' + around(request, DENSE) + b"\n\n"
            return answer(body, "text/event-stream")
        case "pieces":
            body = around(request, DENSE).replace(b",", b",\ndata: ")
            return answer(b'x"\ndata: ' + body + b"\n\n", "text/event-stream")
        case "charset":
            body = b"data: " + reply(request, FINE) + b"\n\n"
            return answer(body, "text/event-stream; charset=utf-7")
        case "noevent":
            return answer(b": nothing\n\n", "text/event-stream")
        case "kind":
            return answer(b"<p>Hello</p>", "text/html")
        case "none":
            return answer(b"this is no JSON")
        case "half":
            return answer(reply(request, FINE))[:-10]
        case "error":
            return answer(b"<p>Sorry</p>", "text/html", status="500 Internal Server Error")
        case "away":
            return answer(b"", more="location: http://127.0.0.1:9/\r\n", status="307 Go")
        case "other":
            return answer(reply({"id": 999_999}, FINE))
    return answer(reply(request, FINE))


@asynccontextmanager
async def serving(how: str) -> AsyncIterator[str]:
    """A server at the address, which is hostile to calls and else as it should be."""

    async def handle(client: SocketStream) -> None:
        # A client that gives up closes its connection.
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await handle_request(client)

    async def handle_request(client: SocketStream) -> None:
        async with client:
            data = b""
            while b"\r\n\r\n" not in data:
                data += await client.receive()
            head, _, body = data.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
            while len(body) < length:
                body += await client.receive()
            request = json.loads(body or b"{}")
            if head.startswith(b"DELETE") and how == "nogoodbye":
                await anyio.sleep_forever()
            with anyio.move_on_after(20):
                await client.send(respond(request))

    def respond(request: dict[str, Any]) -> bytes:
        match request.get("method"):
            case "initialize":
                return answer(reply(request, {
                    "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "hostile", "version": "1"},
                }), more="mcp-session-id: 1\r\n" if how == "nogoodbye" else "")  # fmt: skip
            case "tools/list":
                schema = {"type": "object", "properties": {}}
                body = reply(request, {"tools": [
                    {"name": "bad", "inputSchema": schema | {"default": "HERE"}},
                    {"name": "go", "inputSchema": schema},
                ]})  # fmt: skip
                return answer(body.replace(b'"HERE"', DEEP if how == "deeplisting" else b"{}"))
            case "tools/call":
                return hostile(how, request)
            case "ping" if how == "bigrefusal":
                return answer(b"x" * 3_000_000, status="401 Unauthorized")
            case "ping" if how == "packedrefusal":
                packed = gzip.compress(b"x" * 50_000_000)
                return answer(packed, more="content-encoding: gzip\r\n", status="401 Unauthorized")
            case method if "id" in request:
                error = {"code": -32601, "message": f"no {method}"}
                return answer(
                    json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode()
                )
        return answer(b"", status="202 Accepted" if request else "405 Method Not Allowed")

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        yield f"http://127.0.0.1:{listener.extra_attributes[SocketAttribute.local_port]()}/mcp"
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("deep", "nested more than 64 levels"),
        ("dense", "more than 200,000 values"),
        ("huge", "more than 1,000,000 bytes"),
        ("packed", "stopped|packs its answers"),
        ("deepevent", "nested more than 64 levels"),
        ("denseevent", "more than 200,000 values"),
        ("hugeevent", "more than 1,000,000 bytes"),
        ("packedevent", "stopped|packs its answers"),
        ("comment", "more than 200,000 values"),
        ("pieces", "more than"),
        ("charset", "stopped|UTF-8 is expected"),
        ("noevent", "SSE stream ended"),
        ("kind", "Unexpected content type"),
        ("none", "Failed to parse"),
        ("half", "stopped while 'go' was called"),
        ("error", "error response"),
        ("away", "Redirect to .* not followed"),
        ("other", "timed out"),
    ],
)
async def test_a_hostile_answer_ends_the_call_with_the_reason_in_time_and_memory(
    how: str, said: str
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    async with serving(how) as url:
        params = StreamableHTTPConnectionParams(url, timeout=5, max_message=1_000_000)
        toolset = McpToolset(params, name=how, call_timeout=1 if how == "other" else 10)
        try:
            with anyio.fail_after(15), pytest.raises(ToolError, match=said):
                await run_tool(await tool_named(toolset, "go"))
            assert await tool_named(toolset, "go")  # The server is still of use.
        finally:
            await toolset.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before < 150


async def test_a_schema_without_a_bottom_takes_no_other_tool_down(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serving("deeplisting") as url:
        toolset = McpToolset(url, name="deeplisting", required=True)
        try:
            assert [tool.name for tool in await toolset.list_tools()] == ["go"]
        finally:
            await toolset.close()
    assert "'bad' cannot be used: it is nested more than 50 levels deep" in caplog.text


@pytest.mark.parametrize(
    ("how", "said"), [("bigrefusal", "more than 1,048,576 bytes"), ("packedrefusal", "packs its")]
)
async def test_how_to_sign_in_is_found_out_with_bounds(how: str, said: str) -> None:
    async with serving(how) as url:
        with anyio.fail_after(15), pytest.raises(StoreError, match=said):
            await discover_sign_in(url, redirect_uri="http://127.0.0.1:9/callback")


async def test_a_server_that_does_not_say_goodbye_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwright.sources._owned._GOODBYE", 0.01)
    async with serving("nogoodbye") as url:
        toolset = McpToolset(url)
        assert await tool_named(toolset, "go")
        with anyio.fail_after(20):
            await toolset.close()
