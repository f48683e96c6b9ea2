"""What is sent to a server as a secret header does not come back in what it answers."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from toolwright import Agent, Runner, Toolset
from toolwright.messages import ToolEnded
from toolwright.sources import McpToolset, StreamableHTTPConnectionParams, ToolboxToolset
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

SECRET = "correct-horse-battery"
TOOL = {
    "name": "q",
    "description": "Ask.",
    "inputSchema": {"type": "object", "properties": {}},
}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}


class _Echo(BaseHTTPRequestHandler):
    """An MCP server whose tool gives back the headers of its call."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in asked:
            return self._send(202, b"")
        echoed = "; ".join(f"{name}={value}" for name, value in self.headers.items())
        results = {
            "initialize": HELLO,
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": echoed}]},
        }
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] in results:
            answer["result"] = results[asked["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "unsupported protocol version"}
        return self._send(200, json.dumps(answer).encode())

    def do_GET(self) -> None:
        self._send(405, b"")

    do_DELETE = do_GET

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


async def token() -> str:
    return SECRET


WAYS: dict[str, Callable[[str], Toolset]] = {
    "headers of an MCP server": lambda url: McpToolset(
        StreamableHTTPConnectionParams(f"{url}/mcp", headers={"X-Api-Key": SECRET})
    ),
    "a header provider of an MCP server": lambda url: McpToolset(
        StreamableHTTPConnectionParams(f"{url}/mcp"),
        header_provider=lambda ctx: {"Authorization": f"Bearer {SECRET}"},
    ),
    "credentials of a Toolbox server": lambda url: ToolboxToolset(url, credentials=token),
    "headers of a Toolbox server": lambda url: ToolboxToolset(
        url, additional_headers={"X-Api-Key": lambda: SECRET}
    ),
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_secret_that_a_server_gives_back_is_in_no_event_and_no_history(
    way: str, address: str
) -> None:
    model = ScriptedModel(call("q"), "done")
    async with Runner(Agent(name="a", model=model, tools=[WAYS[way](address)])) as runner:
        result = await runner.run("go", session_id="s")
        history = await runner.history("s")
    [answer] = [event.result for event in result.events if isinstance(event, ToolEnded)]
    assert "=[redacted]" in answer.text.replace("Bearer ", "")
    assert SECRET not in f"{result.events}{history}{model.requests}"
