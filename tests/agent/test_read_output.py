"""The framework's own tool for long outputs: no other has its name, and no rule or hook is asked."""

from typing import Any

import pytest

from toolwright import Agent, Hooks, Rule, Tool, ToolContext, UsageError, rules, tool
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Toolset

pytestmark = pytest.mark.anyio


@tool
def big() -> str:
    """Say much."""
    return "line\n" * 5000


@tool(name="read_output")
def mine() -> str:
    """Mine."""
    return "mine"


class Listed(Toolset):
    def __init__(self, *tools: Tool) -> None:
        super().__init__()
        self.tools = tools

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        return list(self.tools)


def test_an_agent_with_a_tool_of_its_name_is_refused_when_it_is_built() -> None:
    with pytest.raises(UsageError, match=r"a tool named 'read_output'.*long outputs; rename it"):
        Agent(name="a", tools=[big, mine])


async def test_a_toolset_with_a_tool_of_its_name_is_refused_when_it_is_listed() -> None:
    with pytest.raises(UsageError, match=r"a tool named 'read_output'"):
        await Agent(name="a", model=ScriptedModel("."), tools=[Listed(mine)]).run("go")


async def test_one_from_outside_is_left_out_before_and_after_an_output_is_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outside = mine.replace(source="mcp:files")
    model = ScriptedModel(call("big"), ".")
    await Agent(name="a", model=model, tools=[big, Listed(outside)]).run("go")
    offered = [[spec.name for spec in request.tools] for request in model.requests]
    assert offered == [["big"], ["big", "read_output"]]
    assert "'read_output' of mcp:files is left out" in caplog.text


async def test_no_rule_and_no_hook_is_asked_about_it() -> None:
    seen: list[str] = []

    def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> None:
        seen.append(tool.name)

    def read_on(request: Any) -> Any:
        note = request.history[-1].results[0].text
        return call("read_output", name=note.partition("read_output(name='")[2].partition("'")[0])

    agent = Agent(
        name="a",
        model=ScriptedModel(call("big"), read_on, "."),
        tools=[big],
        policy=rules(Rule.allow("big"), otherwise="deny"),
        hooks=Hooks(before_tool=before_tool),
    )
    done = await agent.run("go")
    results = [(r.name, r.status) for m in done.history if m.kind == "tool" for r in m.results]
    assert results == [("big", "ok"), ("read_output", "ok")]
    assert seen == ["big"]
