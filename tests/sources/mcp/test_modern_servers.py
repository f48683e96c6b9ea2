"""Servers of protocol version 2026-07-28 and later, over stdio."""

import sys
from pathlib import Path

import anyio
import pytest
from tests.sources._calling import run_tool, tool_named
from tests.sources.mcp.conftest import stdio

from toolwright.sources import McpToolset

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).parent / "growing_server.py"


async def test_a_changed_listing_is_noticed_and_read_again() -> None:
    toolset = McpToolset(stdio([sys.executable, str(SERVER)]))
    try:
        assert [tool.name for tool in await toolset.list_tools()] == ["grow"]
        await run_tool(await tool_named(toolset, "grow"))
        with anyio.fail_after(10):
            while toolset.cache_listing:  # noqa: ASYNC110 - the news comes on a stream of its own
                await anyio.sleep(0.01)
        assert (await run_tool(await tool_named(toolset, "grown"))).text == "new"
    finally:
        await toolset.close()
