"""Tools from MCP servers."""

from toolwright.sources.mcp._config_file import mcp_toolsets
from toolwright.sources.mcp._discover import discover_sign_in
from toolwright.sources.mcp._params import (
    ConnectionParams,
    SseConnectionParams,
    StdioConnectionParams,
    StdioServerParameters,
    StreamableHTTPConnectionParams,
)
from toolwright.sources.mcp._token_storage import StoredTokens
from toolwright.sources.mcp._toolset import McpToolset

MCPToolset = McpToolset
"""The same under its older spelling."""

__all__ = [
    "ConnectionParams",
    "MCPToolset",
    "McpToolset",
    "SseConnectionParams",
    "StdioConnectionParams",
    "StdioServerParameters",
    "StoredTokens",
    "StreamableHTTPConnectionParams",
    "discover_sign_in",
    "mcp_toolsets",
]
