"""Hands for AI agents: typed, validated, gated, sandboxed, durable and watched tools.

Every name here can also be imported from its unit; a unit loads when a name of it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.agent import (
        Agent,
        AgentTool,
        BaseAgent,
        Compaction,
        Hooks,
        Limits,
        LlmAgent,
        Result,
        Runner,
        TransferToAgentTool,
    )
    from toolwright.errors import (
        ArgumentError,
        LimitError,
        ModelError,
        StateConflict,
        StoreError,
        ToolError,
        ToolwrightError,
        UsageError,
    )
    from toolwright.messages import (
        Approve,
        AuthConfig,
        AuthCredential,
        AuthCredentialTypes,
        BlobPart,
        CustomAuthScheme,
        HttpAuth,
        HttpCredentials,
        MemoryEntry,
        OAuth2Auth,
        OpenIdConnectWithConfig,
        Pending,
        Reject,
        ServiceAccount,
        ServiceAccountCredential,
        TextPart,
    )
    from toolwright.models import (
        ModelSettings,
        VertexAiSearchTool,
        enterprise_web_search,
        google_maps_grounding,
        google_search,
        url_context,
    )
    from toolwright.tools import (
        BaseTool,
        FunctionTool,
        LongRunningFunctionTool,
        MaxOutput,
        Output,
        ReadonlyContext,
        Tool,
        ToolContext,
        Toolset,
        deferred_tool,
        tool,
    )

__all__ = [
    "Agent",
    "AgentTool",
    "Approve",
    "ArgumentError",
    "AuthConfig",
    "AuthCredential",
    "AuthCredentialTypes",
    "BaseAgent",
    "BaseTool",
    "BlobPart",
    "Compaction",
    "CustomAuthScheme",
    "FunctionTool",
    "Hooks",
    "HttpAuth",
    "HttpCredentials",
    "LimitError",
    "Limits",
    "LlmAgent",
    "LongRunningFunctionTool",
    "MaxOutput",
    "MemoryEntry",
    "ModelError",
    "ModelSettings",
    "OAuth2Auth",
    "OpenIdConnectWithConfig",
    "Output",
    "Pending",
    "ReadonlyContext",
    "Reject",
    "Result",
    "Runner",
    "ServiceAccount",
    "ServiceAccountCredential",
    "StateConflict",
    "StoreError",
    "TextPart",
    "Tool",
    "ToolContext",
    "ToolError",
    "Toolset",
    "ToolwrightError",
    "TransferToAgentTool",
    "UsageError",
    "VertexAiSearchTool",
    "deferred_tool",
    "enterprise_web_search",
    "google_maps_grounding",
    "google_search",
    "tool",
    "url_context",
]

_UNIT_OF = {
    "Agent": "agent",
    "AgentTool": "agent",
    "Approve": "messages",
    "ArgumentError": "errors",
    "AuthConfig": "messages",
    "AuthCredential": "messages",
    "AuthCredentialTypes": "messages",
    "BaseAgent": "agent",
    "BaseTool": "tools",
    "BlobPart": "messages",
    "Compaction": "agent",
    "CustomAuthScheme": "messages",
    "FunctionTool": "tools",
    "Hooks": "agent",
    "HttpAuth": "messages",
    "HttpCredentials": "messages",
    "LimitError": "errors",
    "Limits": "agent",
    "LlmAgent": "agent",
    "LongRunningFunctionTool": "tools",
    "MaxOutput": "tools",
    "MemoryEntry": "messages",
    "ModelError": "errors",
    "ModelSettings": "models",
    "OAuth2Auth": "messages",
    "OpenIdConnectWithConfig": "messages",
    "Output": "tools",
    "Pending": "messages",
    "ReadonlyContext": "tools",
    "Reject": "messages",
    "Result": "agent",
    "Runner": "agent",
    "ServiceAccount": "messages",
    "ServiceAccountCredential": "messages",
    "StateConflict": "errors",
    "StoreError": "errors",
    "TextPart": "messages",
    "Tool": "tools",
    "ToolContext": "tools",
    "ToolError": "errors",
    "Toolset": "tools",
    "ToolwrightError": "errors",
    "TransferToAgentTool": "agent",
    "UsageError": "errors",
    "VertexAiSearchTool": "models",
    "deferred_tool": "tools",
    "enterprise_web_search": "models",
    "google_maps_grounding": "models",
    "google_search": "models",
    "tool": "tools",
    "url_context": "models",
}


def __getattr__(name: str) -> Any:
    unit = _UNIT_OF.get(name)
    if unit is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{unit}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
