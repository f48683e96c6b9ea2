"""Tools from MCP servers."""

from toolwright.sources.mcp._params import (
    ConnectionParams,
    SseConnectionParams,
    StdioConnectionParams,
    StdioServerParameters,
    StreamableHTTPConnectionParams,
)
from toolwright.sources.mcp._token_storage import StoredTokens
from toolwright.sources.mcp._toolset import McpToolset

__all__ = [
    "ConnectionParams",
    "McpToolset",
    "SseConnectionParams",
    "StdioConnectionParams",
    "StdioServerParameters",
    "StoredTokens",
    "StreamableHTTPConnectionParams",
]
