"""The tools of a working directory."""

from toolwright.builtin.workspace._tools import workspace_tools

__all__ = ["workspace_tools"]
