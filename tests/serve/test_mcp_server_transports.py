"""The MCP server over stdio and HTTP, used by our own client and by the MCP inspector."""

import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from tests._npm import npm_program
from tests.serve.mcp_tools import add
from tests.sources._calling import run_tool, tool_named

from toolwright.errors import UsageError
from toolwright.serve._serve import StartedServer
from toolwright.serve.mcp import McpServer, _http, mcp_http_app, serve_http
from toolwright.sources import (
    McpToolset,
    StdioConnectionParams,
    StdioServerParameters,
    StreamableHTTPConnectionParams,
)

pytestmark = pytest.mark.anyio
PROGRAM = [sys.executable, str(Path(__file__).parent / "mcp_tools.py")]
INSPECTOR = ("@modelcontextprotocol/inspector", "2.12.0")
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
UNFINISHED = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{"
)
JSON = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def listening(token: str | None = None) -> AsyncIterator[str]:
    """Our server on a free port."""
    app = mcp_http_app(McpServer([add]), token=token)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [taken])
            with anyio.fail_after(10):
                while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
                    await anyio.sleep(0.01)
            yield f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
            server.should_exit = True


async def test_our_client_calls_our_server_over_stdio_and_confirms() -> None:
    server = StdioServerParameters(command=PROGRAM[0], args=PROGRAM[1:])
    toolset = McpToolset(StdioConnectionParams(server))
    try:
        added = await run_tool(await tool_named(toolset, "add"), {"a": 2, "b": 3})
        wipe = await tool_named(toolset, "wipe")
        asked = await run_tool(wipe, {"disk": "sda"})
        wiped = await run_tool(wipe, {"disk": "sda"}, answers=[(asked, {"approve": True})])
    finally:
        await toolset.close()
    assert added.text == "5"
    assert asked.status == "pending"
    assert wiped.text == "sda is empty"


async def test_our_client_calls_our_server_over_http_with_a_token() -> None:
    async with listening(token="s3cret-token") as url:
        headers = {"Authorization": "Bearer s3cret-token"}
        toolset = McpToolset(StreamableHTTPConnectionParams(url, headers=headers))
        try:
            added = await run_tool(await tool_named(toolset, "add"), {"a": 2, "b": 3})
        finally:
            await toolset.close()
    assert added.text == "5"


async def test_requests_without_the_token_or_from_another_site_are_refused() -> None:
    async with listening(token="s3cret-token") as url, httpx2.AsyncClient(headers=JSON) as http:
        bare = await http.post(url, json=HELLO)
        bearer = {"Authorization": "Bearer s3cret-token"}
        good = await http.post(url, json=HELLO, headers=bearer)
        foreign = await http.post(
            url, json=HELLO, headers={**bearer, "Origin": "https://evil.test"}
        )
        rebound = await http.post(url, json=HELLO, headers={**bearer, "Host": "evil.test"})
    assert (bare.status_code, good.status_code) == (401, 200)
    assert (foreign.status_code, rebound.status_code) == (403, 403)


async def test_an_interrupted_server_does_not_wait_for_a_client_that_never_ends_its_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers: list[uvicorn.Server] = []

    class Noted(_http.StartedServer):
        def __init__(self, *given: Any, **settings: Any) -> None:
            super().__init__(*given, **settings)
            servers.append(self)

    monkeypatch.setattr(_http, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(_http, "StartedServer", Noted)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(serve_http, McpServer([add]), port=port))
            while not (servers and servers[0].started):  # noqa: ASYNC110 - uvicorn has no event
                await anyio.sleep(0.01)
            client = await anyio.connect_tcp("127.0.0.1", port)
            await client.send(UNFINISHED)
            while not servers[0].server_state.tasks:  # noqa: ASYNC110 - nor for this
                await anyio.sleep(0.01)
            servers[0].should_exit = True
    await client.aclose()


async def test_a_server_that_was_interrupted_cuts_no_stream_of_a_later_one() -> None:
    interrupted = StartedServer(mcp_http_app(McpServer([add])))
    interrupted.handle_exit(signal.SIGINT, None)
    assert interrupted.should_exit
    async with listening() as url, httpx2.AsyncClient(headers=JSON) as http:
        greeted = await http.post(url, json=HELLO)
    assert '"protocolVersion"' in greeted.text


async def test_listening_to_the_world_without_a_token_is_refused() -> None:
    with pytest.raises(UsageError, match="give a token"):
        await serve_http(McpServer([add]), host="0.0.0.0")


async def test_a_blank_token_is_refused_rather_than_taken_for_none_or_for_one() -> None:
    for blank in ("", " "):
        with pytest.raises(UsageError, match="leave it out"):
            mcp_http_app(McpServer([add]), token=blank)
        for host in ("0.0.0.0", "127.0.0.1"):
            with pytest.raises(UsageError, match="leave it out"):
                await serve_http(McpServer([add]), host=host, token=blank)


@pytest.mark.npm
async def test_the_mcp_inspector_reads_our_server() -> None:
    inspector = [*npm_program(*INSPECTOR), "--cli", *PROGRAM, "--method"]
    listed = await anyio.run_process([*inspector, "tools/list"])
    called = await anyio.run_process(
        [*inspector, "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3"]
    )
    names = [tool["name"] for tool in json.loads(listed.stdout)["tools"]]
    assert names == ["add", "wipe"]
    assert json.loads(called.stdout)["content"] == [{"type": "text", "text": "5"}]
