"""What a Toolbox server can do to us: nothing beyond its own tools."""

import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest
from tests.sources._calling import run_tool, tool_named

from toolwright.errors import ToolError, UsageError
from toolwright.sources import ToolboxToolset, _toolbox_http
from toolwright.tools import Output

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:This connection is using HTTP"),
]
TOOL = {
    "name": "q",
    "description": "d",
    "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}},
}


class Server(ThreadingHTTPServer):
    """Speaks as much of the protocol as the client needs; `answers` has the bodies by method."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: dict[str, Any] = {"tools/list": {"tools": [TOOL]}}
        self.headers: dict[str, str] = {}
        self.status = 200
        self.seen: list[Any] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    @property
    def _server(self) -> Server:
        assert isinstance(self.server, Server)
        return self.server

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = message.get("method")
        self._server.seen.append((method, dict(self.headers)))
        status, more = (
            (200, {}) if method != "tools/call" else (self._server.status, self._server.headers)
        )
        self.send_response(status)
        body = self._body(message, method)
        fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), **more}
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _body(self, message: Any, method: str) -> bytes:
        answer = self._server.answers.get(method)
        if isinstance(answer, bytes):
            return answer
        if method == "initialize":
            about = {"name": "x", "version": "1"}
            version = message["params"]["protocolVersion"]
            answer = {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": about,
            }
        said = {"error": {"code": -32601, "message": "unsupported protocol version"}}
        if answer is not None or method.startswith("notifications/"):
            said = {"result": answer or {}}
        return json.dumps({"jsonrpc": "2.0", "id": message.get("id"), **said}).encode()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


async def called(server: Server, **settings: Any) -> Output:
    toolset = ToolboxToolset(server.url, **settings)
    try:
        return await run_tool(await tool_named(toolset, "q"), {"word": "bob"})
    finally:
        await toolset.close()


def texts(*texts: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in texts]}


async def test_a_usual_answer_is_read(server: Server) -> None:
    server.answers["tools/call"] = texts("Grüße \ud800")
    assert (await called(server)).text == "Grüße \ufffd"
    assert {headers["Accept-Encoding"] for _, headers in server.seen} == {"identity"}


@pytest.mark.row("004-TB6")
async def test_a_token_of_ones_own_is_sent_with_every_request(server: Server) -> None:
    server.answers["tools/call"] = texts("found")
    tokens = iter(range(1, 100))
    await called(server, credentials=lambda: f"token-{next(tokens)}")
    sent = [headers["Authorization"] for _, headers in server.seen]
    assert all(token.startswith("Bearer token-") for token in sent)
    assert len(set(sent)) == len(sent) > 1


LONG = b'{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"%s"}]}}'
COSTLY = {
    "packed": (zlib.compress(LONG % b"x"), {"Content-Encoding": "Deflate"}, "packs its answers"),
    "long": (LONG % (b"x" * 70_000), {}, "more than 65,536 bytes"),
    "values": (b'{"result":{"x":[' + b"1," * 1_100_000 + b"1]}}", {}, "values"),
    "deep": (b'{"result":' + b"[" * 5_000 + b"]" * 5_000 + b"}", {}, "levels deep"),
    "no JSON": (b"<html>", {}, "cannot be read"),
    "other letters": (LONG.decode().encode("utf-16"), {"Content-Type": "application/json; charset=utf-16"},
                      "cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("kind", COSTLY)
async def test_an_answer_that_is_costly_to_read_is_refused(
    server: Server, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, server.headers, why = COSTLY[kind]
    server.answers["tools/call"] = body
    if kind == "long":
        monkeypatch.setattr(_toolbox_http, "_MOST_BYTES", 65_536)
    with pytest.raises(ToolError, match=why):
        await called(server)


async def test_texts_that_are_costly_to_read_are_refused(server: Server) -> None:
    """The client reads each as JSON when there are several."""
    server.answers["tools/call"] = texts("[" + "1," * 1_100_000 + "1]", "{}")
    with pytest.raises(ToolError, match="values"):
        await called(server)


async def test_only_so_many_parts_are_read(server: Server) -> None:
    server.answers["tools/call"] = texts(*["x"] * 3000)
    assert (await called(server)).text == "x" * 1000 + "(2,000 more parts are left out.)"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(server: Server, status: int) -> None:
    """Whoever is named there would get the tokens."""
    with serving() as other:
        server.status, server.headers = status, {"Location": other.url}
        server.answers["tools/call"] = {}
        with pytest.raises(ToolError, match="redirect"):
            await called(server, additional_headers={"X-Api-Key": "correct-horse"})
        assert other.seen == []


def odd(**parts: Any) -> dict[str, Any]:
    return {"name": "odd", "inputSchema": {"type": "object", "properties": {"x": parts}}}


ODD: dict[str, Any] = {
    "no object": 7,
    "no name": {"inputSchema": {}},
    "no schema": {"name": "odd"},
    "kind of a parameter": odd(type=7),
    "unknown kind": odd(type="null"),
    "description": odd(type="string", description=[1]),
    "parameter": {"name": "odd", "inputSchema": {"properties": {"x": 1}}},
    "name of a parameter": {
        "name": "odd",
        "inputSchema": {"properties": {"a b": {"type": "string"}}},
    },
    "properties": {"name": "odd", "inputSchema": {"properties": [1]}},
    "sign-in": TOOL | {"name": "odd", "_meta": {"toolbox/authParam": {"word": 7}}},
    "sign-in for the call": TOOL | {"name": "odd", "_meta": {"toolbox/authInvoke": [{}]}},
}


@pytest.mark.parametrize("kind", ODD)
async def test_an_odd_tool_is_left_out_and_the_others_stay(
    server: Server, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers["tools/list"] = {"tools": [ODD[kind], TOOL]}
    toolset = ToolboxToolset(server.url)
    try:
        assert [tool.name for tool in await toolset.list_tools()] == ["q"]
    finally:
        await toolset.close()
    assert "is left out" in caplog.text


@pytest.mark.parametrize("first", ["the server changes", "a misspelling"])
def test_a_server_that_renames_a_bound_parameter_has_no_tools_and_the_run_goes_on(
    server: Server, first: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each event loop asks the server anew."""
    toolset = ToolboxToolset(server.url, bound_params={"word": "ada"})

    async def listed() -> list[str]:
        try:
            return [tool.name for tool in await toolset.list_tools()]
        finally:
            await toolset.close()

    other = TOOL | {"inputSchema": {"type": "object", "properties": {"words": {"type": "string"}}}}
    if first == "a misspelling":
        server.answers["tools/list"] = {"tools": [other]}
        with pytest.raises(UsageError, match=r"'word', which no tool of the server has.*words"):
            anyio.run(listed)
        return
    assert anyio.run(listed) == ["q"]
    server.answers["tools/list"] = {"tools": [other]}
    assert anyio.run(listed) == []
    assert "'word', which no tool of the server has" in caplog.text
    server.answers["tools/list"] = {"tools": [TOOL]}
    assert anyio.run(listed) == ["q"]


async def test_a_server_without_tools_says_nothing_about_what_is_bound(server: Server) -> None:
    server.answers["tools/list"] = {"tools": []}
    toolset = ToolboxToolset(server.url, bound_params={"word": "ada"})
    try:
        assert await toolset.list_tools() == []
    finally:
        await toolset.close()
