"""Call tools the way a model does, and look at what it would read."""

from typing import Any

from toolwright.agent import Agent
from toolwright.messages import ToolCall, ToolMessage, ToolResult
from toolwright.sources import OpenAPIToolset
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool, Toolset


def document(
    operation: dict[str, Any], *, path: str = "/things", method: str = "get", **more: Any
) -> dict:
    """A document with one operation, named `act` unless it says otherwise."""
    return {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "paths": {path: {method: {"operationId": "act", **operation}}},
        **more,
    }


def parameters(tool: Tool) -> dict[str, Any]:
    return tool.spec.parameters["properties"]


async def answers(tools: Toolset | list[Any], *calls: ToolCall) -> list[ToolResult]:
    """The results of calls made in one turn."""
    model = ScriptedModel(list(calls), "done")
    given = [tools] if isinstance(tools, Toolset) else tools
    result = await Agent(name="caller", model=model, tools=given).run("go")
    message = next(m for m in result.history if isinstance(m, ToolMessage))
    return list(message.results)


async def act(toolset: OpenAPIToolset, /, **arguments: Any) -> ToolResult:
    """The result of calling the document's only operation."""
    (result,) = await answers(toolset, call("act", **arguments))
    return result
