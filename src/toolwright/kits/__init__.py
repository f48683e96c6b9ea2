"""Ready-made agents, tool presets and configuration."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.kits._deep_agent import (
        SubAgentSpec,
        create_deep_agent,
        create_deep_agent_async,
    )

_LAZY = {
    "SubAgentSpec": "_deep_agent",
    "create_deep_agent": "_deep_agent",
    "create_deep_agent_async": "_deep_agent",
}
"""Each name and the file it is in; loaded on first use."""

__all__ = ["SubAgentSpec", "create_deep_agent", "create_deep_agent_async"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
