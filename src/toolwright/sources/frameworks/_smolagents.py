"""smolagents tools."""

from typing import Any

from toolwright.errors import UsageError
from toolwright.sources.frameworks._foreign import foreign_tool, in_thread, with_defaults
from toolwright.tools import Args, Tool, ToolContext

try:
    from smolagents import Tool as TheirTool
except ImportError as error:
    raise ImportError("smolagents tools need smolagents: pip install smolagents") from error

__all__ = ["from_smolagents"]

_JSON_TYPES = {"string", "boolean", "integer", "number", "array", "object", "null"}


def from_smolagents(tool: TheirTool) -> Tool:
    """A smolagents tool as ours; it runs in a thread, and its images reach the model as images."""
    if not isinstance(tool, TheirTool):
        raise UsageError(f"from_smolagents takes a smolagents tool; got {tool!r}.")

    async def call(args: Args, ctx: ToolContext) -> Any:
        return await in_thread(tool, args)

    schema = _schema(tool)
    fill = with_defaults(tool.forward, schema)
    return foreign_tool(tool.name, tool.description, schema, call, fill=fill)


def _schema(tool: TheirTool) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: _field(given) for name, given in tool.inputs.items()},
        "required": [name for name, given in tool.inputs.items() if not given.get("nullable")],
        "additionalProperties": False,
    }


def _field(given: dict[str, Any]) -> dict[str, Any]:
    """`any`, `image` and `audio` have no JSON type: such an input is described, not checked."""
    kinds = given["type"] if isinstance(given["type"], list) else [given["type"]]
    field = {
        key: value for key, value in given.items() if key in ("description", "enum", "default")
    }
    if all(kind in _JSON_TYPES for kind in kinds):
        kinds = [*kinds, "null"] if given.get("nullable") else kinds
        field["type"] = kinds[0] if len(kinds) == 1 else kinds
    return field
