"""Tools from elsewhere: MCP, OpenAPI, plugins, other frameworks' tools, cloud toolsets."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright._stand_in import stand_in

if TYPE_CHECKING:
    from toolwright.sources._mcp_sandbox import McpSandbox
    from toolwright.sources._toolbox import ToolboxToolset
    from toolwright.sources.cloud import (
        APIHubToolset,
        ApplicationIntegrationToolset,
        DiscoveryEngineSearchTool,
        GoogleCredentialsConfig,
        PubSubToolConfig,
        PubSubToolset,
        QueryResultMode,
        SearchResultMode,
        SpannerToolset,
        SpannerToolSettings,
    )
    from toolwright.sources.frameworks import (
        from_adk,
        from_crewai,
        from_langchain,
        from_openai_agents,
        from_pydantic_ai,
        from_smolagents,
        to_adk,
        to_langchain,
        to_openai_agents,
        to_pydantic_ai,
    )
    from toolwright.sources.mcp import (
        MCPToolset,
        McpToolset,
        SseConnectionParams,
        StdioConnectionParams,
        StdioServerParameters,
        StoredTokens,
        StreamableHTTPConnectionParams,
        discover_sign_in,
        mcp_toolsets,
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
    from toolwright.sources.sql import SqlToolset

__all__ = [
    "APIHubToolset",
    "ApiRegistry",
    "ApplicationIntegrationToolset",
    "CallLimits",
    "DiscoveryEngineSearchTool",
    "GoogleCredentialsConfig",
    "MCPToolset",
    "McpSandbox",
    "McpToolset",
    "OpenAPIToolset",
    "PluginToolset",
    "PubSubToolConfig",
    "PubSubToolset",
    "QueryResultMode",
    "RestApiTool",
    "SearchResultMode",
    "SpannerToolSettings",
    "SpannerToolset",
    "SqlToolset",
    "SseConnectionParams",
    "StdioConnectionParams",
    "StdioServerParameters",
    "StoredTokens",
    "StreamableHTTPConnectionParams",
    "ToolboxToolset",
    "discover_sign_in",
    "from_adk",
    "from_crewai",
    "from_langchain",
    "from_openai_agents",
    "from_pydantic_ai",
    "from_smolagents",
    "mcp_toolsets",
    "openid_url_to_scheme_credential",
    "operations",
    "service_account_dict_to_scheme_credential",
    "service_account_scheme_credential",
    "to_adk",
    "to_langchain",
    "to_openai_agents",
    "to_pydantic_ai",
    "token_to_scheme_credential",
]

# Each name with the module it lives in, which is imported when the name is first used.
_LAZY = {
    "SearchResultMode": "toolwright.sources.cloud",
    "DiscoveryEngineSearchTool": "toolwright.sources.cloud",
    "ApplicationIntegrationToolset": "toolwright.sources.cloud",
    "APIHubToolset": "toolwright.sources.cloud",
    "SpannerToolset": "toolwright.sources.cloud",
    "SpannerToolSettings": "toolwright.sources.cloud",
    "QueryResultMode": "toolwright.sources.cloud",
    "PubSubToolset": "toolwright.sources.cloud",
    "PubSubToolConfig": "toolwright.sources.cloud",
    "GoogleCredentialsConfig": "toolwright.sources.cloud",
    "SqlToolset": "toolwright.sources.sql",
    "ToolboxToolset": "toolwright.sources._toolbox",
    "from_adk": "toolwright.sources.frameworks",
    "from_crewai": "toolwright.sources.frameworks",
    "from_langchain": "toolwright.sources.frameworks",
    "from_openai_agents": "toolwright.sources.frameworks",
    "from_pydantic_ai": "toolwright.sources.frameworks",
    "from_smolagents": "toolwright.sources.frameworks",
    "to_adk": "toolwright.sources.frameworks",
    "to_langchain": "toolwright.sources.frameworks",
    "to_openai_agents": "toolwright.sources.frameworks",
    "to_pydantic_ai": "toolwright.sources.frameworks",
    "MCPToolset": "toolwright.sources.mcp",
    "discover_sign_in": "toolwright.sources.mcp",
    "McpSandbox": "toolwright.sources._mcp_sandbox",
    "McpToolset": "toolwright.sources.mcp",
    "SseConnectionParams": "toolwright.sources.mcp",
    "StdioConnectionParams": "toolwright.sources.mcp",
    "StdioServerParameters": "toolwright.sources.mcp",
    "StoredTokens": "toolwright.sources.mcp",
    "mcp_toolsets": "toolwright.sources.mcp",
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
    try:
        return getattr(import_module(_LAZY[name]), name)
    except ImportError as error:
        return stand_in(name, error)


def __dir__() -> list[str]:
    return sorted(__all__)
