"""Agents are told apart by their names, so two that share a path cannot share a name."""

from collections.abc import Callable
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    FunctionTool,
    Runner,
    SequentialAgent,
    Tool,
    UsageError,
    Workflow,
    code_mode,
    create_deep_agent,
)
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Toolset, combined, with_name

pytestmark = pytest.mark.anyio


def agent(name: str, *script: Any, **settings: Any) -> Agent:
    return Agent(name=name, description=name, model=ScriptedModel(*script), **settings)


def second() -> Tool:
    """Another agent of the same name, as a tool of another name."""
    return with_name(AgentTool(agent("w")), "w2")


class Listed(Toolset):
    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        return [second()]


TWINS: dict[str, Callable[[], Any]] = {
    "sub-agents": lambda: agent("root", sub_agents=[agent("w"), agent("w")]),
    "steps": lambda: SequentialAgent(name="root", sub_agents=[agent("w"), agent("w")]),
    "tools": lambda: agent("root", tools=[AgentTool(agent("w")), second()]),
    "a sub-agent and a tool": lambda: agent("root", sub_agents=[agent("w")], tools=[second()]),
    "nodes": lambda: Workflow(
        name="root",
        nodes={"a": agent("w"), "b": second()},
        edges=[("start", "a"), ("a", "b")],
    ),
    "a deep agent's helper and a tool": lambda: create_deep_agent(
        "root", subagents=[agent("w")], tools=[second()]
    ),
    "cousins": lambda: agent(
        "root",
        sub_agents=[agent("a", sub_agents=[agent("w")]), agent("b", sub_agents=[agent("w")])],
    ),
    "a child with its parent's name": lambda: agent("root", sub_agents=[agent("root")]),
    "a grandchild with a root's name": lambda: agent(
        "root", sub_agents=[agent("a", sub_agents=[agent("root")])]
    ),
}


@pytest.mark.parametrize("where", TWINS)
def test_two_agents_of_one_name_on_one_path_are_refused_when_built(where: str) -> None:
    with pytest.raises(UsageError, match=r"two (sub-)?agents named '(w|root)'.*rename one"):
        TWINS[where]()


@pytest.mark.parametrize(
    "tools", [Listed, lambda: combined([second()]), lambda: code_mode([second()])]
)
async def test_agents_that_a_toolset_lists_are_refused_when_they_are_listed(tools: Any) -> None:
    root = agent("root", ".", tools=[AgentTool(agent("w")), tools()])
    with pytest.raises(UsageError, match="two agents named 'w'"):
        await root.run("go")


async def test_one_agent_in_two_places_and_one_name_on_two_paths_are_fine() -> None:
    shared = agent("w")
    agent("root", tools=[AgentTool(shared), AgentTool(shared, name="again")])
    left, right = agent("left", tools=[AgentTool(agent("w"))]), agent("right", tools=[second()])
    agent("root", tools=[AgentTool(left), AgentTool(right)], sub_agents=[shared])
    steps = [SequentialAgent(name=name, sub_agents=[agent("w")]) for name in ("a", "b")]
    agent("root", sub_agents=steps)
    create_deep_agent("root", subagents=[create_deep_agent("inner", description="Deep.")])


async def test_a_remembered_approval_holds_for_one_path_only() -> None:
    ran: list[str] = []

    def paying(who: str) -> Agent:
        def pay(cents: int) -> str:
            """Pay."""
            ran.append(who)
            return "paid"

        tool = FunctionTool(pay, require_confirmation=True)
        inner = agent("w", call("pay", cents=1), ".", tools=[tool])
        return agent(who, call("w", request="go"), ".", tools=[AgentTool(inner)])

    script = [call("left", request="go"), call("right", request="go"), "."]
    tools = [AgentTool(paying("left")), AgentTool(paying("right"))]
    runner = Runner(agent("root", *script, tools=tools))
    paused = await runner.run("go", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, Approve(remember="user"))
    again = await runner.resume("s")
    assert (again.status, ran) == ("paused", ["left"])


async def test_a_conversation_goes_on_with_the_agent_it_was_handed_to_not_with_a_step() -> None:
    steps = SequentialAgent(name="steps", sub_agents=[agent("w", "A step.")])
    first = ScriptedModel(call("transfer_to_agent", agent_name="w"))
    root = Agent(name="root", model=first, sub_agents=[steps, agent("w", "Hello.", "Hello again.")])
    runner = Runner(root)
    assert (await runner.run("hi", session_id="s")).text == "Hello."
    assert (await runner.run("hi", session_id="s")).text == "Hello again."
