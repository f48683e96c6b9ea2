"""What a model is told about a tool."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["CALL_TOOL", "Effects", "Label", "ServerTool", "ToolSpec", "Trust"]

CALL_TOOL = "call_tool"
"""The tool that calls those which a search has found; no agent with a search can have another one
of that name."""

Effects = Literal["read", "write", "destructive"]
Trust = Literal["trusted", "untrusted"]
"""Whether what a tool answers is the program's own, or may be text that anybody has written."""
Label = Literal["trusted", "neutral", "untrusted"]
"""The same of one result. Neutral is that of a trusted tool that does something: it may repeat what
it was given, and vouches for nothing."""
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
    examples: tuple[dict[str, Any], ...] = ()
    """Arguments of good calls, as plain JSON."""

    @property
    def description_with_examples(self) -> str:
        """For whoever has no place of its own for examples."""
        if not self.examples:
            return self.description
        shown = "\n".join(json.dumps(example, ensure_ascii=False) for example in self.examples)
        return f"{self.description}\n\nExamples of arguments:\n{shown}".lstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool that the provider runs on its own side, such as `google_search`."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
