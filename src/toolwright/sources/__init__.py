"""Tools from elsewhere: MCP, OpenAPI, plugins, other frameworks' tools, cloud toolsets."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.sources.plugin import PluginToolset

__all__ = [
    "PluginToolset",
]

# Each name with the module it lives in, which is imported when the name is first used.
_LAZY = {
    "PluginToolset": "toolwright.sources.plugin",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
