"""`Agent.replace`: another agent with other settings, and with agents of its own below it."""

import pytest

from toolwright import Agent, BaseAgent, SequentialAgent, Workflow
from toolwright.agent import Outcome, Runner
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


async def test_an_agent_with_sub_agents_can_be_replaced_and_the_transfer_stays_among_the_copies() -> (
    None
):
    helper = Agent(name="helper", description="Helps.")
    agent = Agent(name="root", model=ScriptedModel("old"), sub_agents=[helper])
    assert agent.maker  # made before the copy: it must not be shared
    assert helper.maker
    model = ScriptedModel(
        call("transfer_to_agent", agent_name="helper"),
        call("transfer_to_agent", agent_name="root"),
        "Back again.",
    )
    other = agent.replace(model=model)
    result = await Runner(other).run("hi")
    assert (result.text, result.agent) == ("Back again.", "root")
    assert helper.parent is agent
    [copied] = other.sub_agents
    assert isinstance(copied, Agent)
    assert copied.maker is not helper.maker
    assert other.sub_agents[0].parent is other
    assert (agent.sub_agents, other.sub_agents[0].name) == ((helper,), "helper")


async def test_workflows_below_are_copied_with_the_agents_that_are_their_steps() -> None:
    class Own(BaseAgent):
        def __init__(self, writer: Agent) -> None:
            super().__init__(name="own", sub_agents=[writer])
            self.writer = writer

        async def go(self, run: object) -> Outcome:
            return Outcome(status="done", text=self.writer.name)

    own = Own(Agent(name="writer"))
    graph = Workflow(name="graph", nodes={"a": Agent(name="inner")}, edges=[("start", "a")])
    line = SequentialAgent(name="line", sub_agents=[own, graph])
    root = Agent(name="root", model=ScriptedModel("."), sub_agents=[line]).replace()

    [copied_line] = root.sub_agents
    copied_own, copied_graph = copied_line.sub_agents
    assert isinstance(copied_own, Own)
    assert isinstance(copied_graph, Workflow)
    assert copied_own.writer is copied_own.sub_agents[0] is not own.writer
    assert copied_own.writer.parent is copied_own
    assert copied_graph.nodes["a"] is copied_graph.sub_agents[0] is not graph.nodes["a"]
    assert [step.parent for step in (own, graph)] == [line, line]


async def test_replacing_the_sub_agents_copies_nothing() -> None:
    helper, other = Agent(name="helper"), Agent(name="other")
    agent = Agent(name="root", model=ScriptedModel("."), sub_agents=[helper])
    assert agent.replace(sub_agents=[other]).sub_agents == (other,)
    assert agent.replace().replace(name="again").sub_agents[0].name == "helper"
