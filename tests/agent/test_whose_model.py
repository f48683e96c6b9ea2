"""An agent without a model uses the one of whoever is above it or runs it, through anything between."""

from typing import Any

import pytest

from toolwright import Agent, AgentTool, LoopAgent, ParallelAgent, SequentialAgent, Workflow
from toolwright.errors import UsageError
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolMessage
from toolwright.models import ModelRequest, OnDelta
from toolwright.tools import Toolset

pytestmark = pytest.mark.anyio


class Signs:
    """Calls its agent's first tool once, then signs with its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        if request.tools and not isinstance(request.history[-1], ToolMessage):
            asked = ToolCall(call_id="c", name=request.tools[0].name, arguments='{"request": "x"}')
            return ModelMessage(parts=(asked,), model=self.name, finish_reason="calls")
        told = request.history[-1]
        inner = told.results[0].text if isinstance(told, ToolMessage) else ""
        return ModelMessage(parts=(TextPart(f"{self.name}({inner})"),), model=self.name)


class Listed(Toolset):
    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self._agent = agent

    async def get_tools(self, readonly_context: Any = None) -> list[Any]:
        return [AgentTool(self._agent)]


def bare(name: str = "bare", **settings: Any) -> Agent:
    return Agent(name=name, description="Has no model.", **settings)


OUR = Signs("ours")

SHAPES: dict[str, Any] = {
    "tool": lambda: Agent(name="top", model=OUR, tools=[AgentTool(bare())]),
    "tool in a tool": lambda: Agent(
        name="top", model=OUR, tools=[AgentTool(bare("mid", tools=[AgentTool(bare())]))]
    ),
    "toolset": lambda: Agent(name="top", model=OUR, tools=[Listed(bare())]),
    "workflow in a tool": lambda: Agent(
        name="top",
        model=OUR,
        tools=[AgentTool(SequentialAgent(name="w", description="W.", sub_agents=[bare()]))],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_an_agent_without_a_model_uses_that_of_its_caller(shape: str) -> None:
    result = await SHAPES[shape]().run("Hi")
    assert result.text.startswith("ours(ours(")


def steps() -> dict[str, Any]:
    return {
        "sequential": SequentialAgent(name="w", sub_agents=[bare()]),
        "parallel": ParallelAgent(name="w", sub_agents=[bare()]),
        "loop": LoopAgent(name="w", sub_agents=[bare()], max_iterations=1),
        "graph": Workflow(name="w", nodes={"a": bare()}, edges=[("start", "a")]),
        "tool": Workflow(name="w", nodes={"a": AgentTool(bare())}, edges=[("start", "a")]),
        "nested": SequentialAgent(
            name="w", sub_agents=[ParallelAgent(name="p", sub_agents=[bare()])]
        ),
    }


@pytest.mark.parametrize("kind", steps())
async def test_a_workflow_hands_its_model_to_every_step_that_has_none(kind: str) -> None:
    workflow = steps()[kind]
    assert not workflow.has_model
    lent = workflow.with_model(OUR)
    assert lent.has_model
    assert "ours()" in (await lent.run("Hi")).text
    assert not workflow.has_model  # another one was made


async def test_an_agent_below_a_workflow_uses_the_model_of_the_agent_above_it() -> None:
    inner = bare()
    Agent(name="top", model=OUR, sub_agents=[SequentialAgent(name="w", sub_agents=[inner])])
    assert inner.model is OUR
    assert inner.own_model() is None


async def test_an_agent_with_a_model_keeps_it() -> None:
    own = Agent(name="own", description="Has one.", model=Signs("own"))
    top = Agent(name="top", model=OUR, tools=[AgentTool(own)])
    assert (await top.run("Hi")).text == "ours(own())"
    line = SequentialAgent(name="line", sub_agents=[own.copy(), bare()])
    assert (await line.with_model(OUR).run("Hi")).text == "ours()"
    assert SequentialAgent(name="line", sub_agents=[own.copy()]).has_model


async def test_where_nobody_has_a_model_the_agent_that_needs_one_is_named() -> None:
    with pytest.raises(UsageError, match="Agent 'bare' has no model"):
        await SequentialAgent(name="w", sub_agents=[bare()]).run("Hi")
