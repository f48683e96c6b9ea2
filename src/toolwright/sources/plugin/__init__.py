"""Tools from executables that speak the plugin protocol."""

from toolwright.sources.plugin._toolset import PluginToolset

__all__ = ["PluginToolset"]
