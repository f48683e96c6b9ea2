"""An MCP server with our own sandbox tools, for tests: the workspace is the first argument."""

import sys

import anyio

from toolwright.builtin import SandboxToolset
from toolwright.serve.mcp import McpServer

if __name__ == "__main__":
    anyio.run(McpServer(SandboxToolset(sys.argv[1], shared=True)).run_stdio)
