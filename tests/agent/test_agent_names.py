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


class Listing(Toolset):
    """Lists the agent as a tool: nobody knows that when the agents are built."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        return [AgentTool(self.inner)]


def _handing(name: str, inner: Any, **settings: Any) -> Agent:
    script = [call("transfer_to_agent", agent_name=inner.name)]
    return agent(name, *script, sub_agents=[inner])


def _asking(name: str, inner: Any, tools: Any) -> Agent:
    return agent(name, call(inner.name, request="go"), ".", tools=[tools])


def _in_code(name: str, inner: Any) -> Agent:
    code = f"await {inner.name}(request='go')"
    return agent(name, call("run_code", code=code), ".", tools=[code_mode([AgentTool(inner)])])


WAYS: dict[str, Callable[[str, Any], Any]] = {
    "a tool": lambda name, inner: _asking(name, inner, AgentTool(inner)),
    "a transfer": _handing,
    "a step": lambda name, inner: SequentialAgent(name=name, sub_agents=[inner]),
    "a node": lambda name, inner: Workflow(name=name, nodes={"n": inner}, edges=[("start", "n")]),
    "a toolset": lambda name, inner: _asking(name, inner, Listing(inner)),
    "code": _in_code,
}


@pytest.mark.parametrize("outer", WAYS)
@pytest.mark.parametrize("inner", WAYS)
async def test_an_agent_cannot_have_its_own_name_work_for_it_at_any_depth(
    outer: str, inner: str
) -> None:
    ran: list[str] = []

    def wipe() -> str:
        """Wipe."""
        ran.append("wiped")
        return "gone"

    last = agent("root", call("wipe"), ".", tools=[wipe])
    with pytest.raises(UsageError, match=r"two agents named 'root'.*rename one"):
        await Runner(WAYS[outer]("root", WAYS[inner]("middle", last))).run("go")
    assert ran == []


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
