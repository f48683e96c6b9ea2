"""Every way to write a rule holds on every way to reach a tool: denied, asked about and allowed."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    FunctionTool,
    LoopAgent,
    ParallelAgent,
    Reject,
    Runner,
    SequentialAgent,
    Tool,
    ToolContext,
    Workflow,
    code_mode,
    create_deep_agent,
)
from toolwright.kits import load_agent_file
from toolwright.kits._by_hand import hand_runner
from toolwright.messages import ToolEnded, ToolProgress
from toolwright.serve.mcp._desk import Asked, Desk
from toolwright.tasks import Orchestrator
from toolwright.tasks._registered import above_child
from toolwright.testing import ScriptedModel, call
from toolwright.tools import (
    Args,
    Decision,
    Rule,
    Toolset,
    as_tool,
    combined,
    guarded,
    prefixed,
    rules,
    searchable,
    with_approval,
    with_confirmation,
)

pytestmark = pytest.mark.anyio

SMALL, MIDDLE, LARGE = "small", "middle", "large"
"""Three tools: the first is allowed, the second asked about, the third denied."""
CALLS = [call(SMALL, cents=1), call(MIDDLE, cents=50), call(LARGE, cents=99)]
USERS = ("user", "mcp")
ran: list[str] = []


def made(name: str, **settings: Any) -> FunctionTool[Any, Any]:
    def pay(cents: int) -> str:
        ran.append(name)
        return f"{name} paid"

    return FunctionTool(pay, name=name, **settings)


# -- ways to write a rule ------------------------------------------------------------------------


@dataclass
class Written:
    """Tools, and what was written about them on the tools, the agent or the runner."""

    things: Sequence[Any] = field(default_factory=lambda: [made(n) for n in (SMALL, MIDDLE, LARGE)])
    agent: dict[str, Any] = field(default_factory=dict)
    runner: dict[str, Any] = field(default_factory=dict)


async def judged(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
    verdicts: dict[int, Any] = {1: "allow", 50: "ask", 99: "deny"}
    # Other tools on the way, such as those that delegate, have no such argument.
    return Decision(verdict=verdicts[args.get("cents", 1)])


async def over_ten(cents: int, tool_context: ToolContext) -> bool:
    return tool_context.user_id in USERS and cents > 10


BY_NAME = rules(Rule.deny(LARGE), Rule.ask(MIDDLE), otherwise="allow")
BY_PATTERN = rules(Rule.deny("larg?"), Rule.ask("mid*"), otherwise="allow")
BY_PREDICATE = rules(
    Rule.deny("large", when=lambda cents: cents > 90),
    Rule.ask("middle", when=lambda cents: cents > 10),
    otherwise="allow",
)
BY_EXPRESSION = rules(
    Rule.deny("*", when="call.tool in ['large'] and cents > 90"),
    Rule.ask("*", when="matches(call.tool, 'mid*') and call.user in ['user', 'mcp']"),
    otherwise="allow",
)
BY_EFFECTS = rules(
    Rule.deny(effects="destructive"), Rule.ask("*", effects="write", user="user"), otherwise="allow"
)


def by_effects(**agent: Any) -> Written:
    """The tools differ in what they declare; what delegates declares nothing worse than a read."""
    effects = {SMALL: "read", MIDDLE: "write", LARGE: "destructive"}
    return Written([made(name, effects=effect) for name, effect in effects.items()], **agent)


def from_yaml(tmp_path: Path) -> Written:
    file = tmp_path / "agent.yaml"
    names = (SMALL, MIDDLE, LARGE)
    functions = "\n".join(f"def {name}(cents: int) -> None: ..." for name in names)
    (tmp_path / "matrix_functions.py").write_text(functions)
    listing = ", ".join(f"'matrix_functions:{name}'" for name in names)
    file.write_text(
        f"tools: {{preset: none, functions: [{listing}]}}\n"
        "approvals: {deny: [large], ask: [middle], allow: [small], otherwise: allow}\n"
    )
    return Written(agent={"policy": load_agent_file(file, ScriptedModel()).agent.policy})


class Confirming(Toolset):
    """A toolset with a confirmation of its own, as `McpToolset(require_confirmation=…)` has."""

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        tools = [made(name) for name in (SMALL, MIDDLE, LARGE)]
        return [with_confirmation(tool, lambda cents: cents > 10) for tool in tools]


def everything() -> list[Tool]:
    return [made(name) for name in (SMALL, MIDDLE, LARGE)]


ASKED = {MIDDLE: True, LARGE: lambda cents: cents > 90}
WAYS: dict[str, Callable[[Path], Written]] = {
    "require_confirmation": lambda _: Written(
        [made(SMALL), made(MIDDLE, require_confirmation=True), made(LARGE, require_confirmation=1 > 0)]
    ),
    "require_confirmation by arguments": lambda _: Written(
        [made(n, require_confirmation=over_ten) for n in (SMALL, MIDDLE, LARGE)]
    ),
    "with_confirmation": lambda _: Written(
        [with_confirmation(tool, lambda cents: cents > 10) for tool in everything()]
    ),
    "with_approval": lambda _: Written([with_approval(tool, judged) for tool in everything()]),
    "guarded": lambda _: Written([guarded(everything(), BY_NAME)]),
    "a toolset's confirmation": lambda _: Written([Confirming()]),
    "policy by name": lambda _: Written(agent={"policy": BY_NAME}),
    "policy by pattern": lambda _: Written(agent={"policy": BY_PATTERN}),
    "policy by predicate": lambda _: Written(agent={"policy": BY_PREDICATE}),
    "policy by expression": lambda _: Written(agent={"policy": BY_EXPRESSION}),
    "policy as a function": lambda _: Written(agent={"policy": judged}),
    "policy of another policy": lambda _: Written(agent={"policy": rules(otherwise=judged)}),
    "interrupt_on": lambda _: Written(agent={"interrupt_on": ASKED}),
    "approvals in YAML": from_yaml,
    "Runner(policy=rules)": lambda _: Written(runner={"policy": BY_NAME}),
    "Runner(policy=function)": lambda _: Written(runner={"policy": judged}),
    "a rule of each": lambda _: Written(
        [made(SMALL), made(MIDDLE, require_confirmation=True), made(LARGE)],
        agent={"interrupt_on": {MIDDLE: True}, "policy": rules(Rule.ask(LARGE), otherwise="allow")},
        runner={"policy": rules(Rule.deny(LARGE), otherwise="allow")},
    ),
}  # fmt: skip


# -- ways to reach a tool ------------------------------------------------------------------------


def helper(things: Sequence[Any], name: str = "helper", **settings: Any) -> Agent:
    model = ScriptedModel(CALLS, "Helped.")
    return Agent(name=name, description="Helps.", model=model, tools=things, **settings)


def delegating(agent: Any, written: Written) -> Agent:
    """An agent whose model calls another one as a tool."""
    model = ScriptedModel(call(agent.name, request="go"), "Done.")
    return Agent(name="root", model=model, tools=[AgentTool(agent)], **written.agent)


async def directly(written: Written) -> Agent:
    return Agent(
        name="root", model=ScriptedModel(CALLS, "Done."), tools=written.things, **written.agent
    )


async def from_a_toolset(written: Written) -> Agent:
    things = [combined(await listed(written))]
    return Agent(name="root", model=ScriptedModel(CALLS, "Done."), tools=things, **written.agent)


async def after_a_search(written: Written) -> Agent:
    found = searchable(await listed(written), limit=3)
    model = ScriptedModel(call("search_tools", query="small middle large"), CALLS, "Done.")
    return Agent(name="root", model=model, tools=[found], **written.agent)


async def through_a_helper(written: Written) -> Agent:
    return delegating(helper(written.things), written)


async def through_two_helpers(written: Written) -> Agent:
    inner = AgentTool(helper(written.things))
    model = ScriptedModel(call("helper", request="go"), "Ok.")
    return delegating(Agent(name="outer", description="", model=model, tools=[inner]), written)


async def through_a_helper_that_allows_everything(written: Written) -> Agent:
    lax = helper(
        written.things, policy=rules(otherwise="allow"), interrupt_on={MIDDLE: False, LARGE: False}
    )
    return delegating(lax, written)


async def after_a_transfer(written: Written) -> Agent:
    model = ScriptedModel(call("transfer_to_agent", agent_name="helper"))
    return Agent(name="root", model=model, sub_agents=[helper(written.things)], **written.agent)


async def by_a_deep_agents_task(written: Written) -> Agent:
    model = ScriptedModel(
        call("task", agent="general_purpose", description="go"), CALLS, "Helped.", "Done."
    )
    return create_deep_agent("root", model, tools=written.things, **written.agent)


async def by_a_ready_made_sub_agent(written: Written) -> Agent:
    model = ScriptedModel(call("task", agent="helper", description="go"), "Done.")
    return create_deep_agent("root", model, subagents=[helper(written.things)], **written.agent)


async def in_a_sequence(written: Written) -> Agent:
    return delegating(SequentialAgent(name="steps", sub_agents=[helper(written.things)]), written)


async def side_by_side(written: Written) -> Agent:
    return delegating(ParallelAgent(name="steps", sub_agents=[helper(written.things)]), written)


async def in_a_loop(written: Written) -> Agent:
    loop = LoopAgent(name="steps", sub_agents=[helper(written.things)], max_iterations=1)
    return delegating(loop, written)


async def as_nodes_of_a_workflow(written: Written) -> Agent:
    flows = [
        Workflow(name=f"flow_{tool.name}", nodes={"pay": tool}, edges=[("start", "pay")])
        for tool in await listed(written)
    ]
    cents = {f"flow_{SMALL}": "1", f"flow_{MIDDLE}": "50", f"flow_{LARGE}": "99"}
    calls = [call(flow.name, request=cents[flow.name]) for flow in flows]
    tools = [AgentTool(flow) for flow in flows]
    return Agent(name="root", model=ScriptedModel(calls, "Done."), tools=tools, **written.agent)


CODE = "\n".join(
    f"try:\n    await {name}(cents={cents})\nexcept RuntimeError as error:\n    print(error)"
    for name, cents in ((SMALL, 1), (MIDDLE, 50), (LARGE, 99))
)


async def in_code(written: Written) -> Agent:
    model = ScriptedModel(call("run_code", code=CODE), "Done.")
    tools = [code_mode(await listed(written))]
    return Agent(name="root", model=model, tools=tools, **written.agent)


async def in_a_helpers_code(written: Written) -> Agent:
    model = ScriptedModel(call("run_code", code=CODE), "Helped.")
    coder = Agent(
        name="coder", description="", model=model, tools=[code_mode(await listed(written))]
    )
    return delegating(coder, written)


async def listed(written: Written) -> list[Tool]:
    tools: list[Tool] = []
    for thing in written.things:
        tools += await thing.list_tools() if isinstance(thing, Toolset) else [as_tool(thing)]
    return tools


REACHES: list[Callable[[Written], Awaitable[Agent]]] = [
    directly,
    from_a_toolset,
    after_a_search,
    through_a_helper,
    through_two_helpers,
    through_a_helper_that_allows_everything,
    after_a_transfer,
    by_a_deep_agents_task,
    by_a_ready_made_sub_agent,
    in_a_sequence,
    side_by_side,
    in_a_loop,
    as_nodes_of_a_workflow,
]


# -- the matrix ----------------------------------------------------------------------------------


async def play(runner: Runner, prompts: Sequence[str] = ("go",)) -> tuple[set[str], dict[str, str]]:
    """Run, approve what is asked about the middle one, reject the rest; who was asked, and results."""
    asked: set[str] = set()
    for number, prompt in enumerate(prompts):
        session = f"s{number}"
        result = await runner.run(prompt, session_id=session)
        while result.status == "paused":
            for pending in result.pending:
                asked.add(pending.name)
                assert pending.rule, "whoever is asked can read which rule asks"
                assert pending.name not in ran, "nothing runs before it is approved"
                answer = Approve() if pending.name == MIDDLE else Reject(reason="no")
                await runner.answer(session, pending.call_id, answer)
            result = await runner.resume(session)
        assert result.status == "done", result.reason
    ended = [e for s in await runner.sessions() for e in await runner.events(s.scope.session_id)]
    results = {e.result.name: str(e.result.status) for e in ended if isinstance(e, ToolEnded)}
    return asked, results


def check(asked: set[str], results: dict[str, str]) -> None:
    assert ran == [SMALL, MIDDLE]
    assert asked in ({MIDDLE}, {MIDDLE, LARGE})
    assert {name: results[name] for name in (SMALL, MIDDLE, LARGE)} == {
        SMALL: "ok", MIDDLE: "ok", LARGE: "denied",
    }  # fmt: skip


@pytest.mark.parametrize("reach", REACHES, ids=lambda reach: reach.__name__)
@pytest.mark.parametrize("way", WAYS)
async def test_a_rule_holds_however_its_tool_is_reached(
    way: str, reach: Callable[[Written], Awaitable[Agent]], tmp_path: Path
) -> None:
    ran.clear()
    written = WAYS[way](tmp_path)
    check(*await play(Runner(await reach(written), **written.runner)))


@pytest.mark.parametrize("way", WAYS)
async def test_a_rule_holds_for_calls_made_by_hand(way: str, tmp_path: Path) -> None:
    ran.clear()
    written = WAYS[way](tmp_path)
    runner = hand_runner(Runner(await directly(written), **written.runner))
    assert runner is not None
    spelled = [f'{SMALL} {{"cents": 1}}', f'{MIDDLE} {{"cents": 50}}', f'{LARGE} {{"cents": 99}}']
    check(*await play(runner, spelled))


@pytest.mark.parametrize("way", WAYS)
async def test_a_rule_holds_for_clients_of_an_mcp_server(way: str, tmp_path: Path) -> None:
    ran.clear()
    written = WAYS[way](tmp_path)
    desk = Desk(Runner(await directly(written), **written.runner))
    asked, results = await by_clients(desk, {SMALL: 1, MIDDLE: 50, LARGE: 99})
    check(asked, results)


@pytest.mark.parametrize("way", WAYS)
async def test_a_rule_holds_where_an_agent_is_served_as_one_tool(way: str, tmp_path: Path) -> None:
    ran.clear()
    written = WAYS[way](tmp_path)
    desk = Desk(await directly(written), **written.runner)
    outcome = await desk.call("s", "root", {"request": "go"}, unseen)
    asked: set[str] = set()
    while isinstance(outcome, Asked):
        asked.add(outcome.pending.name)
        yes = outcome.pending.name == MIDDLE
        outcome = await desk.answer("s", outcome.pending, yes, unseen)
    assert outcome is not None
    assert (ran, outcome.text) == ([SMALL, MIDDLE], "Done.")
    assert asked in ({MIDDLE}, {MIDDLE, LARGE})


async def by_clients(desk: Desk, cents: dict[str, int]) -> tuple[set[str], dict[str, str]]:
    """Call each tool, and do as `play` does about questions."""
    asked: set[str] = set()
    results: dict[str, str] = {}
    for name, amount in cents.items():
        outcome = await desk.call(name, name, {"cents": amount}, unseen)
        while isinstance(outcome, Asked):
            asked.add(name)
            assert name not in ran, "nothing runs before it is approved"
            outcome = await desk.answer(name, outcome.pending, name == MIDDLE, unseen)
        assert outcome is not None
        results[name] = str(outcome.status)
    return asked, results


async def unseen(event: ToolProgress) -> None:
    """Nobody watches."""


@pytest.mark.parametrize("kind", ["by hand", "MCP"])
@pytest.mark.parametrize("way", WAYS)
async def test_rules_about_a_helpers_tools_do_not_stop_calls_of_ones_own(
    way: str, kind: str, tmp_path: Path
) -> None:
    ran.clear()
    written = WAYS[way](tmp_path)
    own = made("own", effects="read")
    root = Agent(
        name="root", model=ScriptedModel(), tools=[own], sub_agents=[helper(written.things)],
        **written.agent,
    )  # fmt: skip
    runner = Runner(root, **written.runner)
    if kind == "MCP":
        assert await by_clients(Desk(runner), {"own": 1}) == (set(), {"own": "ok"})
    else:
        by_hand = hand_runner(runner)
        assert by_hand is not None
        assert await play(by_hand, ['own {"cents": 1}']) == (set(), {"own": "ok"})
        handed = await by_hand.run('transfer_to_agent {"agent_name": "helper"}')
        assert handed.agent == "root", "nobody hands a conversation over by hand"
    assert ran == ["own"]


@pytest.mark.parametrize(
    "way",
    [
        "policy by name",
        "interrupt_on",
        "approvals in YAML",
        "Runner(policy=rules)",
        "a rule of each",
    ],
)
async def test_a_rule_holds_however_many_tasks_are_on_the_way(way: str, tmp_path: Path) -> None:
    written = WAYS[way](tmp_path)
    made_by = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    made_by.register(helper(written.things, "payer"))
    writer = helper([made_by.child_tasks("payer")], "writer", **written.agent)
    made_by.register(writer, **written.runner)
    lax = rules(Rule.deny("other", optional=True), otherwise="allow")
    made_by.register(helper([made_by.child_tasks("writer")], "boss", policy=lax), policy=lax)
    above = above_child(["boss", "writer"], None, made_by.agents)
    expected = [*writer.guards, *made_by.agents["writer"].runner.guards]
    found = [guard.policy for guard in above.guards]
    assert expected
    assert all(guard.policy in found for guard in expected)
    assert found.count(lax) == 2
    await made_by.close()


@pytest.mark.parametrize("reach", [in_code, in_a_helpers_code])
@pytest.mark.parametrize(
    "way", ["require_confirmation", "policy by name", "interrupt_on", "Runner(policy=function)"]
)
async def test_a_rule_holds_in_code(
    way: str, reach: Callable[[Written], Awaitable[Agent]], tmp_path: Path
) -> None:
    ran.clear()
    written = WAYS[way](tmp_path)
    check(*await play(Runner(await reach(written), **written.runner)))


async def test_rules_by_effects_hold_where_the_work_is_delegated() -> None:
    ran.clear()
    written = by_effects()
    runner = Runner(helper(written.things), policy=BY_EFFECTS)
    check(*await play(runner))


async def test_a_guard_judges_the_tool_by_the_name_that_it_had_there() -> None:
    ran.clear()
    tools = prefixed(guarded(everything(), BY_NAME), "p")
    calls = [call(f"p_{name}", cents=1) for name in (SMALL, MIDDLE, LARGE)]
    result = await Agent(name="root", model=ScriptedModel(calls, "."), tools=[tools]).run("go")
    assert [pending.name for pending in result.pending] == ["p_middle"]
    assert ran == [SMALL]
