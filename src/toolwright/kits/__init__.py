"""Ready-made agents, tool presets and configuration."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.kits._by_hand import hand_runner
    from toolwright.kits._config import (
        AgentFile,
        default_agent,
        load_agent_file,
        openapi_addresses,
        read_agent_file,
    )
    from toolwright.kits._deep_agent import (
        SubAgentSpec,
        create_deep_agent,
        create_deep_agent_async,
    )
    from toolwright.kits._import import find_code, import_object, is_path
    from toolwright.kits._presets import PRESETS, Preset, preset_tools

_LAZY = {
    "AgentFile": "_config",
    "PRESETS": "_presets",
    "Preset": "_presets",
    "SubAgentSpec": "_deep_agent",
    "create_deep_agent": "_deep_agent",
    "create_deep_agent_async": "_deep_agent",
    "default_agent": "_config",
    "find_code": "_import",
    "hand_runner": "_by_hand",
    "import_object": "_import",
    "is_path": "_import",
    "load_agent_file": "_config",
    "openapi_addresses": "_config",
    "preset_tools": "_presets",
    "read_agent_file": "_config",
}
"""Each name and the file it is in; loaded on first use."""

__all__ = [
    "PRESETS",
    "AgentFile",
    "Preset",
    "SubAgentSpec",
    "create_deep_agent",
    "create_deep_agent_async",
    "default_agent",
    "find_code",
    "hand_runner",
    "import_object",
    "is_path",
    "load_agent_file",
    "openapi_addresses",
    "preset_tools",
    "read_agent_file",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
