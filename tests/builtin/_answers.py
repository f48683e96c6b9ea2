"""A session in which a test makes the calls and looks at the answers."""

import json
from collections.abc import Sequence
from typing import Any

from toolwright.agent import Agent, Runner
from toolwright.messages import ModelMessage, ToolCall, ToolEnded, ToolResult
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool, Toolset

__all__ = ["Session", "call"]


class Session:
    """One session of an agent with these tools; each call, or list of parallel calls, is a run."""

    def __init__(self, tools: Sequence[Tool | Toolset]) -> None:
        self._model = ScriptedModel()
        agent = Agent(name="tester", model=self._model, tools=list(tools))
        self.runner = Runner(agent)

    def script(self, name: str, **arguments: Any) -> None:
        """Let the next run make this call."""
        self._model.turns += [call(name, **arguments), "Done."]

    async def answers(self, *calls: ToolCall) -> list[ToolResult]:
        """The results of calls that are made at once, in their order."""
        self._model.turns += [list(calls), "Done."]
        result = await self.runner.run("go", session_id="s")
        ended = {e.result.call_id: e.result for e in result.events if isinstance(e, ToolEnded)}
        asked = result.history[-3]
        assert isinstance(asked, ModelMessage)
        return [ended[part.call_id] for part in asked.parts if isinstance(part, ToolCall)]

    async def answer(self, name: str, **arguments: Any) -> ToolResult:
        """The result of one call."""
        (result,) = await self.answers(call(name, **arguments))
        return result

    async def text(self, name: str, **arguments: Any) -> str:
        """What the model reads of one call's result."""
        return (await self.answer(name, **arguments)).text

    async def json(self, name: str, **arguments: Any) -> Any:
        """The result of one call, read as JSON."""
        return json.loads(await self.text(name, **arguments))
