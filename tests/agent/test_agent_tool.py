"""Agents as tools: what they are asked, what they hold open, who hands over to whom."""

import pytest
from pydantic import BaseModel

from toolwright import Agent, UsageError, transfer_to_agent
from toolwright.agent import AgentTool
from toolwright.kits import SubAgentSpec, create_deep_agent
from toolwright.messages import UserMessage
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Toolset, with_confirmation

pytestmark = pytest.mark.anyio


class Place(BaseModel):
    city: str


class Held(Toolset):
    """A toolset that holds something open."""

    closed = 0

    async def get_tools(self, readonly_context: object = None) -> list[object]:  # type: ignore[override]
        return []

    async def close(self) -> None:
        self.closed += 1


async def test_closing_an_agent_closes_the_agents_that_its_tools_call() -> None:
    held = Held()
    inner = AgentTool(Agent(name="inner", model=ScriptedModel(), tools=[held]))
    await Agent(name="o", model=ScriptedModel(), tools=[with_confirmation(inner, True)]).close()
    assert held.closed == 1


async def test_closing_a_deep_agent_closes_its_sub_agents() -> None:
    held = Held()
    spec = SubAgentSpec(name="helper", description="Helps.", tools=[held])
    await create_deep_agent(model=ScriptedModel(), subagents=[spec]).close()
    assert held.closed == 1


async def test_the_agent_reads_its_input_as_it_was_written() -> None:
    model = ScriptedModel("ok")
    inner = Agent(name="inner", model=model, input_schema=Place)
    outer = ScriptedModel(call("inner", city="Köln"), "end")
    await Agent(name="o", model=outer, tools=[AgentTool(inner)]).run("go")
    message = model.requests[0].history[0]
    assert isinstance(message, UserMessage)
    assert message.text == '{"city": "Köln"}'


def test_an_input_schema_that_is_no_object_is_refused() -> None:
    with pytest.raises(UsageError, match="input_schema of agent 'inner' must be an object"):
        AgentTool(Agent(name="inner", model=ScriptedModel(), input_schema=list[int]))


async def test_a_transfer_tool_of_ones_own_takes_the_place_of_the_injected_one() -> None:
    agent = Agent(
        name="o",
        model=ScriptedModel(call("transfer_to_agent", agent_name="x")),
        tools=[transfer_to_agent],
        sub_agents=[Agent(name="x", model=ScriptedModel("I am x"))],
    )
    assert (await agent.run("hi")).text == "I am x"
