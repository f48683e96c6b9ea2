"""A session in which a test makes the calls and looks at the answers."""

import json
from collections.abc import Sequence
from typing import Any

from toolwright.agent import Agent, Runner
from toolwright.messages import AnyEvent, ToolCall, ToolEnded, ToolResult
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool

__all__ = ["Session", "call"]


class Session:
    """One session of an agent with these tools; each call, or list of parallel calls, is a run."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._model = ScriptedModel()
        agent = Agent(name="tester", model=self._model, tools=list(tools))
        self.runner = Runner(agent)
        self.progress: list[AnyEvent] = []

    async def answers(self, *calls: ToolCall) -> list[ToolResult]:
        """The results of calls that are made at once, in their order."""
        self._model.turns += [list(calls), "Done."]
        result = await self.runner.run("go", session_id="s")
        ended = {e.result.call_id: e.result for e in result.events if isinstance(e, ToolEnded)}
        sent = [part for part in result.history[-3].parts if isinstance(part, ToolCall)]
        return [ended[part.call_id] for part in sent]

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
