"""What the page on MCP servers shows, works. Its sign-in runs in the MCP conformance suite."""

import runpy
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from tests.sources._ports import wait_for_port

from toolwright.agent import Runner
from toolwright.sources import StdioConnectionParams, StdioServerParameters

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "mcp"


def run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(SNIPPETS / f"{name}.py"))


def answers(result: Any) -> list[Any]:
    return [answer for m in result.history if m.kind == "tool" for answer in m.results]


def test_a_server_is_started_filtered_and_prefixed() -> None:
    (answer,) = answers(run("stdio")["result"])
    assert (answer.name, answer.data["timezone"]) == ("clock_get_current_time", "Europe/Oslo")


def test_an_mcp_json_of_another_client_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (answer,) = answers(run("config_file")["result"])
    assert answer.data["timezone"] == "UTC"


def test_a_question_of_the_server_is_answered_and_the_call_goes_on() -> None:
    booking = [str(Path(__file__).parent / "booking_server.py")]
    server = StdioConnectionParams(StdioServerParameters(command=sys.executable, args=booking))
    (answer,) = answers(anyio.run(run("question")["book"], server))
    assert answer.text == "Maaemo: a table for 4."


@pytest.fixture
def tracker() -> Iterator[str]:
    """A remote server that says who asked it."""
    server = MCPServer("tracker")

    @server.tool()
    def open_ticket(title: str, ctx: Context) -> str:
        """Open a ticket."""
        headers: Any = ctx.request_context.request.headers  # type: ignore[union-attr]
        return f"{title} ({headers['x-client']}, {headers['x-user']})"

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        web = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning"))
        thread = threading.Thread(target=web.run, args=([taken],))
        thread.start()
        port = taken.getsockname()[1]
        wait_for_port(port)
        yield f"http://127.0.0.1:{port}/mcp"
        web.should_exit = True
        thread.join()


def test_a_remote_server_gets_the_headers_of_its_user(tracker: str) -> None:
    async def ask() -> Any:
        async with Runner(run("remote")["tracker_agent"](tracker)) as runner:
            return await runner.run("Paint the door", user_id="ada")

    (answer,) = answers(anyio.run(ask))
    assert answer.text == "paint the door (toolwright, ada)"
