"""What the page on serving tools over MCP shows, works."""

import runpy
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from tests.sources._calling import run_tool, tool_named

from toolwright.sources import McpToolset, StdioConnectionParams, StdioServerParameters

pytestmark = pytest.mark.anyio
SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "mcp-server"


async def test_tools_are_served_over_stdin_and_stdout() -> None:
    program = [str(SNIPPETS / "serve.py")]
    served = McpToolset(
        StdioConnectionParams(StdioServerParameters(command=sys.executable, args=program))
    )
    try:
        weather = await tool_named(served, "weather")
        output = await run_tool(weather, {"city": "Oslo"})
        asked = await run_tool(await tool_named(served, "wipe"), {"disk": "sda"})
    finally:
        await served.close()
    assert (weather.effects, output.data) == ("read", {"city": "Oslo", "degrees": 21.5})
    assert asked.status == "pending"


async def test_an_agent_is_one_tool_behind_a_token() -> None:
    found: dict[str, Any] = await anyio.to_thread.run_sync(
        runpy.run_path, str(SNIPPETS / "over_http.py")
    )
    assert len(found["token"]) >= 32
    async with Client(found["server"].server) as client:
        (listed,) = (await client.list_tools()).tools
        result = await client.call_tool("forecaster", {"request": "Tomorrow?"})
    assert listed.description == "Knows the weather."
    assert result.content[0].text == "Mild, with some rain."  # type: ignore[union-attr]
