"""The agent's tools: what the model is told of each, and calls by hand on the ordinary path."""

import json
from typing import Any

from pydantic import BaseModel, Field, JsonValue

from toolwright.agent import Agent
from toolwright.messages import Effects, Event, PendingOpened, ToolEnded, ToolResult, ToolSpec
from toolwright.serve._by_hand import hand_session, written
from toolwright.serve._endpoint import Ask, Fields, Nothing, Routes, route
from toolwright.serve._problems import ProblemError
from toolwright.serve._workbench import Workbench
from toolwright.tools import Tool, without_clashes

__all__ = ["ToolRoutes"]

_CHARACTERS_PER_TOKEN = 4


class ToolInfo(BaseModel):
    """A tool as the model is told of it, and what telling it costs."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    effects: Effects
    tags: tuple[str, ...]
    tokens: int
    """Roughly, per turn."""


class CallTool(Fields):
    """Arguments for a tool."""

    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class CallOutcome(BaseModel):
    """What came of a call; its session has every event."""

    session_id: str
    result: ToolResult
    elapsed: float


class ToolRoutes(Routes):
    """The operations below `/api/tools`."""

    tag = "tools"

    def __init__(self, bench: Workbench) -> None:
        self.runner = bench.runner
        self.runs = bench.runs
        self.user_id = bench.settings.user_id

    @route("GET", "/api/tools", returns=list[ToolInfo], errors=(400,))
    async def list_tools(self, ask: Ask[Nothing, Nothing]) -> list[ToolInfo]:
        """The agent's tools; refused where a rule names something that nothing has."""
        tools = await self._tools()
        await self.runner.check_rules(user_id=self.user_id)
        return [_info(tool) for tool in tools]

    @route(
        "POST", "/api/tools/{name}/call", body=CallTool, returns=CallOutcome, errors=(404, 502, 503)
    )
    async def call_tool(self, ask: Ask[CallTool, Nothing]) -> CallOutcome:
        """Run a tool by hand: validated, gated, limited and recorded as in any run."""
        name = ask.path["name"]
        if all(tool.name != name for tool in await self._tools()):
            raise ProblemError(404, f"The agent has no tool {name!r}.")
        session_id = hand_session()
        await self.runs.start(session_id, self.user_id, written(name, ask.body.arguments))
        await self.runs.ended(session_id)
        return _outcome(session_id, name, await self.runner.events(session_id))

    async def _tools(self) -> list[Tool]:
        agent = self.runner.agent
        if not isinstance(agent, Agent):
            return []
        tools = list(agent.shelf.tools)
        for toolset in agent.shelf.toolsets:
            tools += await toolset.list_tools(None)
        return without_clashes(tools)


def _info(tool: Tool) -> ToolInfo:
    spec = tool.spec
    return ToolInfo(
        name=spec.name,
        description=spec.description,
        parameters=spec.parameters,
        effects=tool.effects,
        tags=spec.tags,
        tokens=_tokens(spec),
    )


def _tokens(spec: ToolSpec) -> int:
    told: dict[str, Any] = {"name": spec.name, "description": spec.description_with_examples}
    text = json.dumps({**told, "parameters": spec.parameters}, ensure_ascii=False)
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


def _outcome(session_id: str, name: str, events: list[Event]) -> CallOutcome:
    for event in reversed(events):
        if isinstance(event, ToolEnded) and not event.path:
            return CallOutcome(session_id=session_id, result=event.result, elapsed=event.elapsed)
        if isinstance(event, PendingOpened):
            result = ToolResult(call_id=event.pending.call_id, name=name, status="pending")
            return CallOutcome(session_id=session_id, result=result, elapsed=0.0)
    raise ProblemError(503, "The call ended without a result; its session says why.")
