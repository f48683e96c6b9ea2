"""Toolsets over Google Cloud services, each loaded, with its client library, on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.sources.cloud._apihub import APIHubToolset
    from toolwright.sources.cloud._credentials import GoogleCredentialsConfig
    from toolwright.sources.cloud._discovery import DiscoveryEngineSearchTool, SearchResultMode
    from toolwright.sources.cloud._integration import ApplicationIntegrationToolset
    from toolwright.sources.cloud._pubsub import PubSubToolConfig, PubSubToolset
    from toolwright.sources.cloud._spanner import (
        QueryResultMode,
        SpannerToolset,
        SpannerToolSettings,
    )

__all__ = [
    "APIHubToolset",
    "ApplicationIntegrationToolset",
    "DiscoveryEngineSearchTool",
    "GoogleCredentialsConfig",
    "PubSubToolConfig",
    "PubSubToolset",
    "QueryResultMode",
    "SearchResultMode",
    "SpannerToolSettings",
    "SpannerToolset",
]

_LAZY = {
    "APIHubToolset": "_apihub",
    "ApplicationIntegrationToolset": "_integration",
    "DiscoveryEngineSearchTool": "_discovery",
    "GoogleCredentialsConfig": "_credentials",
    "PubSubToolConfig": "_pubsub",
    "PubSubToolset": "_pubsub",
    "QueryResultMode": "_spanner",
    "SearchResultMode": "_discovery",
    "SpannerToolSettings": "_spanner",
    "SpannerToolset": "_spanner",
}

_EXTRAS = {
    "_apihub": "apihub",
    "_discovery": "discovery",
    "_integration": "integration",
    "_pubsub": "pubsub",
    "_spanner": "spanner",
}
"""What to install for each file."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    file = _LAZY[name]
    try:
        return getattr(import_module(f"{__name__}.{file}"), name)
    except ImportError as error:
        extra = _EXTRAS.get(file, "pubsub")
        hint = f"{name} needs an extra: pip install 'toolwright[{extra}]'"
        raise ImportError(hint) from error


def __dir__() -> list[str]:
    return sorted(__all__)
