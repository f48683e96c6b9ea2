"""What is served over MCP is served under the rules of its agent, file or runner."""

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from toolwright.agent import Agent, AgentTool, Hooks, Runner, SequentialAgent
from toolwright.cli._target import open_target
from toolwright.serve.mcp import McpServer
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Rule, Tool, ToolContext, Toolset, rules, tool

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
FUNCTIONS = '''
from pathlib import Path

def note(name: str) -> str:
    """Write it down."""
    (Path(__file__).parent / name).touch()
    return "noted"

def wipe(name: str) -> str:
    """Wipe it."""
    return note(name)

def look(name: str) -> str:
    """Look at it."""
    return note(name)
'''


async def called(
    target: Any, mode: str, tool: str, answer: bool | None, /, **arguments: Any
) -> tuple[bool, str, int]:
    """What comes of a call by a client whose person says yes or no, or that cannot ask (None)."""
    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"approve": answer})

    settings: dict[str, Any] = {} if answer is None else {"elicitation_callback": elicit}
    server = target if isinstance(target, McpServer) else McpServer(target)
    async with Client(server.server, mode=mode, **settings) as client:
        result = await client.call_tool(tool, arguments)
    (block,) = result.content
    return bool(result.is_error), block.text, len(asked)  # type: ignore[union-attr]


@ERAS
async def test_the_approvals_of_a_file_hold_for_clients(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLWRIGHT_TRUST", str(tmp_path))
    (tmp_path / f"served_{mode}.py").write_text(FUNCTIONS)
    named = ", ".join(f"'served_{mode}:{name}'" for name in ("wipe", "look", "note"))
    file = tmp_path / "agent.yaml"
    file.write_text(
        f"tools: {{preset: none, functions: [{named}]}}\n"
        "approvals: {deny: [wipe], ask: [look], allow: [note], otherwise: ask}\n"
    )
    target = open_target(str(file), None)
    assert await called(target, mode, "wipe", True, name="a") == (
        True, "Denied: the agent's file does not allow it", 0,
    )  # fmt: skip
    assert (await called(target, mode, "look", False, name="b"))[::2] == (True, 1)
    assert await called(target, mode, "look", True, name="c") == (False, "noted", 1)
    assert await called(target, mode, "note", None, name="d") == (False, "noted", 0)
    assert [name for name in "abcd" if (tmp_path / name).exists()] == ["c", "d"]


@ERAS
async def test_without_a_file_commands_are_asked_about(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("seen")
    target = open_target(None, None)
    failed, _, asked = await called(target, mode, "bash", False, command="touch it-ran")
    assert (failed, asked) == (True, 1)
    if mode == "legacy":  # Others are given the question, whether or not they can show it.
        assert (await called(target, mode, "bash", None, command="touch it-ran"))[0]
    failed, text, asked = await called(target, mode, "read", None, path="here")
    assert (failed, asked) == (False, 0)
    assert "seen" in text
    assert not (tmp_path / "it-ran").exists()


@tool
def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


async def test_a_runner_is_served_with_its_own_rules_hooks_and_those_of_its_agent() -> None:
    seen: list[str] = []

    async def before_tool(ctx: ToolContext, tool: Any, args: Any) -> None:
        seen.append(f"{ctx.agent_name} {tool.name}")

    agent = Agent(
        name="clerk",
        model=ScriptedModel(),
        tools=[pay],
        policy=rules(Rule.deny("pay", when="cents > 10", agent="clerk"), otherwise="allow"),
    )
    strict = rules(Rule.deny("pay", when="cents < 3"), otherwise="allow")
    runner = Runner(agent, policy=strict, hooks=Hooks(before_tool=before_tool))
    found = [(await called(runner, "auto", "pay", None, cents=cents))[0] for cents in (1, 5, 50)]
    assert found == [True, False, True]
    assert seen == ["clerk pay"] * 3


@ERAS
async def test_rules_and_hooks_of_the_server_come_on_top_of_those_of_its_runner(mode: str) -> None:
    seen: list[str] = []

    def asks(whose: str) -> Hooks:
        async def before_agent(ctx: ToolContext) -> None:
            seen.append(f"{whose} begins")

        async def before_tool(ctx: ToolContext, tool: Any, args: Any) -> None:
            seen.append(whose)
            if ctx.tool_confirmation is None:
                ctx.request_confirmation(hint=f"{whose} asks")

        return Hooks(before_agent=before_agent, before_tool=before_tool)

    def served(**more: Any) -> McpServer:
        agent = Agent(name="clerk", model=ScriptedModel(), tools=[pay])
        strict = rules(Rule.deny("pay", when="cents < 3"), otherwise="allow")
        runner = Runner(agent, policy=strict, hooks=asks("runner"))
        allowing = rules(Rule.deny("pay", when="cents > 10"), otherwise="allow")
        return McpServer(runner, policy=allowing, **more)

    assert await called(served(hooks=Hooks()), mode, "pay", True, cents=1) == (
        True, "Denied: not allowed here", 1,
    )  # fmt: skip
    assert (await called(served(), mode, "pay", True, cents=50))[0]
    seen.clear()
    # A yes to the one is none to the other.
    assert await called(served(hooks=asks("server")), mode, "pay", True, cents=5) == (
        False, "paid 5", 2,
    )  # fmt: skip
    assert seen[:2] == ["runner begins", "server begins"]
    assert {"runner", "server"} <= set(seen)


class Paying(Toolset):
    """A toolset, whose tools are known when they are listed."""

    is_away = False

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        return [] if self.is_away else [pay]

    async def all_tools(self, context: Any = None) -> list[Tool] | None:
        return None if self.is_away else await super().all_tools(context)


@ERAS
@pytest.mark.parametrize("whose", ["agent", "helper", "runner", "server"])
async def test_a_misspelt_rule_is_told_in_words_when_tools_are_listed_and_called(
    mode: str, whose: str
) -> None:
    wrong = rules(Rule.deny("pya"), otherwise="allow")
    theirs = {name: wrong if name == whose else None for name in ("agent", "helper", "runner")}
    inner = Agent(name="inner", model=ScriptedModel(), tools=[Paying()], policy=theirs["helper"])
    tools = [Paying(), AgentTool(inner)]
    agent = Agent(name="clerk", model=ScriptedModel(), tools=tools, policy=theirs["agent"])
    server = McpServer(
        Runner(agent, policy=theirs["runner"]), policy=wrong if whose == "server" else None
    )
    async with Client(server.server, mode=mode) as client:
        with pytest.raises(MCPError, match=r"no tool 'pya', which the policy of .*: pay"):
            await client.list_tools()
        with pytest.raises(MCPError, match=r"no tool 'pya', which the policy of .*: pay"):
            await client.call_tool("pay", {"cents": 1})


async def test_rules_are_checked_again_after_a_listing_that_could_not_say() -> None:
    toolset = Paying()
    wrong = rules(Rule.deny("pya"), otherwise="allow")
    agent = Agent(name="clerk", model=ScriptedModel(), tools=[toolset], policy=wrong)
    toolset.is_away = True
    async with Client(McpServer(Runner(agent)).server) as client:
        assert (await client.list_tools()).tools == []
        toolset.is_away = False
        with pytest.raises(MCPError, match="no tool 'pya'"):
            await client.list_tools()


async def test_the_workflow_of_a_runner_is_one_tool_under_the_runners_rules() -> None:
    step = Agent(name="step", model=ScriptedModel(call("pay", cents=1), "Refused."), tools=[pay])
    flow = SequentialAgent(name="flow", sub_agents=[step], description="Pays.")
    runner = Runner(flow, policy=rules(Rule.deny("pay"), otherwise="allow"))
    assert await called(runner, "auto", "flow", None, request="go") == (False, "Refused.", 0)
    assert [m.kind for m in step.model.requests[-1].history][-1] == "tool"  # type: ignore[attr-defined]
    last = step.model.requests[-1].history[-1]  # type: ignore[attr-defined]
    assert last.results[0].status == "denied"
