"""Tools from elsewhere: MCP, OpenAPI, plugins, other frameworks' tools, cloud toolsets."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.sources.mcp import (
        McpToolset,
        SseConnectionParams,
        StdioConnectionParams,
        StdioServerParameters,
        StreamableHTTPConnectionParams,
    )
    from toolwright.sources.openapi import (
        ApiRegistry,
        CallLimits,
        OpenAPIToolset,
        RestApiTool,
        openid_url_to_scheme_credential,
        operations,
        service_account_dict_to_scheme_credential,
        service_account_scheme_credential,
        token_to_scheme_credential,
    )
    from toolwright.sources.plugin import PluginToolset

__all__ = [
    "ApiRegistry",
    "CallLimits",
    "McpToolset",
    "OpenAPIToolset",
    "PluginToolset",
    "RestApiTool",
    "SseConnectionParams",
    "StdioConnectionParams",
    "StdioServerParameters",
    "StreamableHTTPConnectionParams",
    "openid_url_to_scheme_credential",
    "operations",
    "service_account_dict_to_scheme_credential",
    "service_account_scheme_credential",
    "token_to_scheme_credential",
]

# Each name with the module it lives in, which is imported when the name is first used.
_LAZY = {
    "McpToolset": "toolwright.sources.mcp",
    "SseConnectionParams": "toolwright.sources.mcp",
    "StdioConnectionParams": "toolwright.sources.mcp",
    "StdioServerParameters": "toolwright.sources.mcp",
    "StreamableHTTPConnectionParams": "toolwright.sources.mcp",
    "ApiRegistry": "toolwright.sources.openapi",
    "CallLimits": "toolwright.sources.openapi",
    "OpenAPIToolset": "toolwright.sources.openapi",
    "RestApiTool": "toolwright.sources.openapi",
    "openid_url_to_scheme_credential": "toolwright.sources.openapi",
    "operations": "toolwright.sources.openapi",
    "service_account_dict_to_scheme_credential": "toolwright.sources.openapi",
    "service_account_scheme_credential": "toolwright.sources.openapi",
    "token_to_scheme_credential": "toolwright.sources.openapi",
    "PluginToolset": "toolwright.sources.plugin",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
