"""A program that serves two tools over MCP on stdin and stdout."""

import anyio

from toolwright.serve.mcp import McpServer
from toolwright.tools import FunctionTool, tool


@tool(effects="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def wipe(disk: str) -> str:
    """Wipe a disk."""
    return f"{disk} is empty"


if __name__ == "__main__":
    server = McpServer([add, FunctionTool(wipe, require_confirmation=True)], name="demo")
    anyio.run(server.run_stdio)
