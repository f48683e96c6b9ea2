"""Agents, tools and toolsets as an MCP server."""

from toolwright.serve.mcp._http import mcp_http_app, new_token, serve_http
from toolwright.serve.mcp._server import McpServer

__all__ = ["McpServer", "mcp_http_app", "new_token", "serve_http"]
