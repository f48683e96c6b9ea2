"""Call a tool the way a model does."""

import json
from typing import Any

from toolwright.agent import Agent
from toolwright.messages import ToolMessage, ToolResult
from toolwright.testing import ScriptedModel, call


async def ask(tools: Any, name: str, **arguments: Any) -> ToolResult:
    """The result of one call."""
    model = ScriptedModel(call(name, **arguments), "done")
    result = await Agent(name="a", model=model, tools=[tools]).run("go")
    return next(m for m in result.history if isinstance(m, ToolMessage)).results[0]


async def told(tools: Any, name: str, **arguments: Any) -> Any:
    """What a successful call answers, parsed."""
    result = await ask(tools, name, **arguments)
    assert result.status == "ok", result.text
    return json.loads(result.text)
