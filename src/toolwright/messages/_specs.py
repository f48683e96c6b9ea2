"""What a model is told about a tool."""

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Effects", "ServerTool", "ToolSpec"]

Effects = Literal["read", "write", "destructive"]
"""What calling a tool may do to the world: nothing, something, something that cannot be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """Name, description and parameters as plain JSON Schema; `models` makes the dialects."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    returns: dict[str, Any] | None = None
    """JSON Schema of the output, where it is known."""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool that the provider runs on its own side, such as `google_search`."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
