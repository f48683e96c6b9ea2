"""CrewAI tools."""

from typing import Any

from toolwright.errors import UsageError
from toolwright.sources.frameworks._foreign import foreign_tool, in_thread, with_model
from toolwright.tools import Args, Output, Tool, ToolContext

try:
    from crewai.tools import BaseTool
except ImportError as error:
    raise ImportError("CrewAI tools need CrewAI: pip install crewai") from error

__all__ = ["from_crewai"]


def from_crewai(tool: BaseTool) -> Tool:
    """A CrewAI tool as ours: its schema, async if it is, its usage limit and failures kept."""
    if not isinstance(tool, BaseTool):
        raise UsageError(f"from_crewai takes a CrewAI tool; got {tool!r}.")

    async def call(args: Args, ctx: ToolContext) -> Any:
        result = await (tool.arun(**args) if _is_async(tool) else in_thread(tool.run, args))
        if hasattr(result, "as_agent_message"):  # A ToolFailure, which older versions do not have.
            return Output(text=result.as_agent_message(), status="error")
        return result

    name = _name(tool.name)
    fill = with_model(name, tool.args_schema)
    return foreign_tool(name, _description(tool), _schema(tool), call, fill=fill)


def _is_async(tool: BaseTool) -> bool:
    return type(tool)._arun is not BaseTool._arun and not hasattr(tool, "func")


def _name(name: str) -> str:
    """CrewAI names may have spaces; models want none."""
    return "_".join(name.split())


def _description(tool: BaseTool) -> str:
    """Without the schema, which CrewAI writes into the description for models without tool calls."""
    return tool.description.rpartition("Tool Description:")[2].strip()


def _schema(tool: BaseTool) -> dict[str, Any]:
    return tool.args_schema.model_json_schema()
