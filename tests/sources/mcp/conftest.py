"""Real MCP servers that nobody here wrote."""

from collections.abc import AsyncIterator

import pytest
from tests._npm import npm_program

from toolwright.sources import McpToolset, StdioConnectionParams, StdioServerParameters

EVERYTHING = ("@modelcontextprotocol/server-everything", "2026.8.31")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def stdio(command: list[str], **settings: object) -> StdioConnectionParams:
    return StdioConnectionParams(
        StdioServerParameters(command=command[0], args=command[1:]),
        **settings,  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
async def everything() -> AsyncIterator[McpToolset]:
    """The reference server that has one of everything, over stdio."""
    toolset = McpToolset(
        stdio([*npm_program(*EVERYTHING), "stdio"]),
        name="everything",
        use_mcp_resources=True,
        allow_sampling=True,
        roots=["/tmp/some-root"],
    )
    yield toolset
    await toolset.close()
