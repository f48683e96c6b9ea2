"""A rule for a tool, an agent or a source that there is not is refused, however it is written."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    McpToolset,
    PluginToolset,
    Rule,
    Runner,
    Tool,
    ToolboxToolset,
    ToolContext,
    UsageError,
    Workflow,
    code_mode,
    rules,
    tool,
)
from toolwright.kits import load_agent_file
from toolwright.sources import StdioServerParameters
from toolwright.tasks import Orchestrator
from toolwright.tasks._registered import above_child
from toolwright.testing import ScriptedModel, call
from toolwright.tools import (
    Decision,
    Rules,
    Toolset,
    combined,
    guarded,
    prefixed,
    searchable,
    with_approval,
)

pytestmark = pytest.mark.anyio

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


@tool
def drop_table(name: str) -> str:
    """Drop a table."""
    ran.append(name)
    return "dropped"


OUTSIDE = drop_table.replace(source="mcp:files@python3#0123")


class Listed(Toolset):
    """A toolset with one tool; None while its server is away."""

    tool: Tool | None = OUTSIDE
    cache_listing = False

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        return [] if self.tool is None else [self.tool]

    async def all_tools(self, context: Any = None) -> list[Tool] | None:
        return None if self.tool is None else await super().all_tools(context)


MISSPELT: dict[str, tuple[Rule, str]] = {
    "a tool": (Rule.deny("drop_tabel"), r"no tool 'drop_tabel'.*near names: drop_table"),
    "a pattern": (Rule.deny("dorp_*"), r"no tool 'dorp_\*'.*near names: drop_table"),
    "an agent": (Rule.deny(agent="helpr"), r"no agent 'helpr'.*near names: helper"),
    "a pattern of agents": (Rule.deny(agent="hlep*"), r"no agent 'hlep\*'"),
    "a source": (Rule.deny(source="mpc:*"), r"no tool from 'mpc:\*'.*names: mcp:files@python3#0123"),
    "a source without its server": (
        Rule.deny(source="mcp:files"), "no tool from 'mcp:files'.*near names: mcp:files@python3#0123"
    ),
    "a tool in a condition": (Rule.deny(when="call.tool == 'drop_tabel'"), "no tool 'drop_tabel'"),
    "tools in a condition": (
        Rule.deny(when="cents > 1 or call.tool in ['drop_table', 'wpie']"), "no tool 'wpie'"
    ),
    "a tool that a condition excludes": (Rule.deny(when="'x' != call.tool"), "no tool 'x'"),
    "a pattern in a condition": (Rule.deny(when="matches(call.tool, 'dorp_*')"), r"no tool 'dorp_\*'"),
    "a beginning in a condition": (Rule.deny(when="starts(call.tool, 'dorp')"), r"no tool 'dorp\*'"),
    "an end in a condition": (Rule.deny(when="ends(call.tool, 'tabel')"), r"no tool '\*tabel'"),
    "an agent in a condition": (Rule.deny(when="call.agent == 'helpr'"), "no agent 'helpr'"),
    "a path in a condition": (Rule.deny(when="call.path == 'root/helpr'"), "no agent 'helpr'"),
    "the beginning of a path": (Rule.deny(when="starts(call.path, 'roott')"), r"no agent 'roott\*'"),
    "the end of a path": (Rule.deny(when="ends(call.path, '/helpr')"), r"no agent '\*/helpr'"),
    "a pattern of a path": (Rule.deny(when="matches(call.path, '*helpr*')"), r"agent '\*helpr\*'"),
    "a pattern on a path": (Rule.deny(when="matches(call.path, 'root/hel?')"), r"agent 'root/hel\?'"),
    "two patterns on a path": (Rule.deny(when="matches(call.path, 'r*/hel*x')"), r"agent 'r\*/hel\*x'"),
    "a part of a path": (Rule.deny(when="'helpr' in call.path"), "no agent 'helpr'"),
    "a path in small letters": (Rule.deny(when="lower(call.path) == 'root/helpr'"), "no agent 'helpr'"),
    "a path with capitals": (Rule.deny(when="starts(lower(call.path), 'Root')"), r"no agent 'Root\*'"),
    "a path and another name": (
        Rule.deny(when="call.agent == 'zz' or starts(call.path, 'roott')"), r"no agent 'roott\*'"
    ),
    "a tool that is made small": (Rule.deny(when="call.tool == lower('DROP_TABEL')"), "'drop_tabel'"),
    "a beginning that is made small": (
        Rule.deny(when="starts(call.tool, lower('DORP'))"), r"no tool 'dorp\*'"
    ),
    "tools that are made small": (
        Rule.deny(when="call.tool in ['drop_table', lower('WPIE')]"), "no tool 'wpie'"
    ),
    "an agent that is made small": (Rule.deny(when="lower('HELPR') == call.agent"), "agent 'helpr'"),
    "a tool in a list": (Rule.deny(when="[call.tool] == ['wpie']"), "wpie"),
    "a tool in small letters": (Rule.deny(when="lower(call.tool) == 'drop_tabel'"), "'drop_tabel'"),
    "a tool that has no capitals": (Rule.deny(when="lower(call.tool) == 'Drop_table'"), "'Drop_t"),
    "tools in small letters": (
        Rule.deny(when="lower(call.tool) in ['drop_table', 'wpie']"), "no tool 'wpie'"
    ),
    "a beginning in small letters": (
        Rule.deny(when="starts(lower(call.tool), 'dorp')"), r"no tool 'dorp\*'"
    ),
    "a pattern that is the text": (
        Rule.deny(when="matches('drop_*', call.tool)"), r"no tool 'drop_\*'"
    ),
    "a text that begins with the tool": (
        Rule.deny(when="starts('dropping', call.tool)"), "no tool 'dropping'"
    ),
    "a part of a name": (Rule.deny(when="'tabel' in call.tool"), "no tool 'tabel'"),
    "a text with names": (Rule.deny(when="call.tool in 'drop_tabel,wipe'"), "'drop_tabel,wipe'"),
    "a name with brackets": (Rule.deny("drop_[t]able"), r"no tool 'drop_\[t\]able'"),
    "a pattern that is compared": (Rule.deny(when="call.tool == 'drop_*'"), r"no tool 'drop_\*'"),
    "a source in a condition": (
        Rule.deny(when="not starts(call.source, 'mpc:')"), r"no tool from 'mpc:\*'"
    ),
}  # fmt: skip
RIGHT = rules(
    Rule.deny("drop_*", agent="help?r", source="mcp:files@*", user="nobody"),
    Rule.deny(when="call.tool == 'drop_table' and call.path == 'root/helper' and name == ''"),
    Rule.deny(when="matches(call.source, 'mcp:*') and call.agent in ['root'] and name == ''"),
    Rule.deny(when="call.tool == 'drop_table' and call.source == '' and name == ''"),
    Rule.deny(when="lower(call.tool) in ['drop_table'] and 'table' in call.tool and name == ''"),
    Rule.deny(when="starts(lower(call.tool), 'drop') and lower(name) == 'tabel'"),
    Rule.deny(when="call.tool in 'drop_table,wipe' and call.tool == name"),
    Rule.deny(when="starts(call.path, 'ro') and ends(call.path, 'er') and name == ''"),
    Rule.deny(when="matches(call.path, 'r*t?h?l*r') and 'ot/he' in call.path and name == ''"),
    Rule.deny(when="lower(call.path) == lower('ROOT/Helper') and name == ''"),
    Rule.deny("drop_*", when="call.path in 'x,root/helper' and name == ''"),
    Rule.deny("drop_*", when="starts('root/helper/x', call.path) and name == ''"),
    Rule.deny(when="[call.tool] == ['drop_table'] and name == ''"),
    Rule.deny("sommething", agent="else", source="where", optional=True),
    Rule.deny(when="call.tool == 'elsewhere'", optional=True),
    otherwise="allow",
)


def root(things: list[Any], *script: Any, **settings: Any) -> Agent:
    """An agent with a helper, and a helper that has the tools."""
    helper = Agent(
        name="helper",
        description="",
        model=ScriptedModel(*script, call("drop_table", name="users"), "."),
        tools=things,
    )
    model = ScriptedModel(call("helper", request="go"), ".")
    return Agent(name="root", model=model, tools=[AgentTool(helper)], **settings)


def nested(policy: Rules) -> Rules:
    return rules(otherwise=rules(Rule.ask("other", optional=True), otherwise=policy))


async def workflow(policy: Rules) -> Runner:
    helper = Agent(
        name="helper", model=ScriptedModel(call("drop_table", name="x"), "."), tools=[OUTSIDE]
    )
    flow = Workflow(name="root", nodes={"helper": helper}, edges=[("start", "helper")])
    return Runner(flow, policy=policy)


async def node(policy: Rules) -> Runner:
    helper = Agent(name="helper", model=ScriptedModel("."))
    nodes = {"drop": with_approval(OUTSIDE, policy), "helper": helper}
    return Runner(Workflow(name="root", nodes=nodes, edges=[("start", "drop"), ("drop", "helper")]))


SEARCH = call("search_tools", query="drop a table")
Write = Callable[[Rules], Any]
WAYS: dict[str, Write] = {
    "policy of an agent": lambda policy: root([OUTSIDE], policy=policy),
    "policy of an agent with toolsets": lambda policy: root([Listed()], policy=policy),
    "a policy inside a policy": lambda policy: root([OUTSIDE], policy=nested(policy)),
    "policy of a runner": lambda policy: Runner(root([OUTSIDE]), policy=policy),
    "a nested policy of a runner": lambda policy: Runner(root([Listed()]), policy=nested(policy)),
    "guarded tools": lambda policy: root([guarded([OUTSIDE], policy)]),
    "a guarded toolset": lambda policy: root([guarded(Listed(), policy)]),
    "guarded, then renamed": lambda policy: root([prefixed(prefixed(guarded(Listed(), policy), "a"), "b")]),
    "guarded, behind a search": lambda policy: root([searchable(guarded([OUTSIDE], policy))], SEARCH),
    "guarded, in code": lambda policy: root([code_mode(guarded([OUTSIDE], policy))]),
    "guarded with a nested policy": lambda policy: root([guarded([OUTSIDE], nested(policy))]),
    "with_approval": lambda policy: root([with_approval(OUTSIDE, policy)]),
    "around steps of a workflow": workflow,
    "around a node of a workflow": node,
}  # fmt: skip


async def runner_of(write: Write, policy: Rules) -> Runner:
    made = write(policy)
    if not isinstance(made, Agent | Runner):
        made = await made
    return made if isinstance(made, Runner) else Runner(made)


async def go(write: Write, policy: Rules) -> str:
    return (await (await runner_of(write, policy)).run("go")).status


@pytest.mark.parametrize("what", MISSPELT)
@pytest.mark.parametrize("way", WAYS)
async def test_a_misspelt_name_is_refused(way: str, what: str) -> None:
    rule, why = MISSPELT[what]
    with pytest.raises(UsageError, match=why) as refused:
        await go(WAYS[way], rules(rule, otherwise="allow"))
    assert ran == []
    assert "optional=True" in str(refused.value)


@pytest.mark.parametrize("way", WAYS)
async def test_right_and_optional_names_are_taken(way: str) -> None:
    policy = rules(*RIGHT.ordered, otherwise="allow")
    # In these, the tool has another name when it is called, or is called by code.
    silent = way in ("guarded, then renamed", "guarded, in code")
    assert await go(WAYS[way], policy) == "done"
    assert bool(ran) is not silent


@pytest.mark.parametrize("what", ["a tool", "an agent", "a source"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_misspelt_name_is_found_before_there_is_a_run(way: str, what: str) -> None:
    rule, why = MISSPELT[what]
    with pytest.raises(UsageError, match=why):
        await (await runner_of(WAYS[way], rules(rule, otherwise="allow"))).check_rules()


@pytest.mark.parametrize("way", WAYS)
async def test_right_names_are_right_before_there_is_a_run(way: str) -> None:
    runner = await runner_of(WAYS[way], rules(*RIGHT.ordered, otherwise="allow"))
    assert await runner.check_rules() == []
    assert await runner.sessions() == []
    assert ran == []


@pytest.mark.parametrize("where", ["below", "in a tool", "in a tool of a toolset"])
async def test_the_rules_of_all_agents_are_checked_that_a_run_may_come_to(where: str) -> None:
    policy = rules(Rule.deny("drop_tabel"), otherwise="allow")
    inner = Agent(name="inner", model=ScriptedModel(), tools=[Listed()], policy=policy)
    helper = Listed()
    helper.tool = AgentTool(inner)
    things: dict[str, dict[str, Any]] = {
        "below": {"sub_agents": [inner]},
        "in a tool": {"tools": [AgentTool(inner)]},
        "in a tool of a toolset": {"tools": [helper]},
    }
    runner = Runner(Agent(name="root", model=ScriptedModel(), **things[where]))
    with pytest.raises(UsageError, match="'drop_tabel', which the policy of agent 'inner' names"):
        await runner.check_rules()


async def test_what_cannot_be_checked_while_a_server_is_away_is_said() -> None:
    server, seen = Listed(), Listed()
    server.tool = None
    policy = rules(Rule.deny("drop_table", "look", agent="helpr"), otherwise="allow")
    runner = Runner(root([seen, server]), policy=policy)
    why = "which could not be checked: Listed lists no tools now; its server is away, or wants a sign-in"
    assert await runner.check_rules() == [
        f"the policy of the runner names the agent 'helpr', {why}",
        f"the policy of the runner names the tool 'look', {why}",
    ]
    server.tool = OUTSIDE.replace(spec=replace(OUTSIDE.spec, name="look"))
    with pytest.raises(UsageError, match="no agent 'helpr'"):
        await runner.check_rules()


async def test_tools_are_listed_for_the_user_whose_rules_are_checked() -> None:
    class Theirs(Toolset):
        async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
            return [drop_table] if readonly_context.user_id == "ann" else []

    runner = Runner(root([Theirs()]), policy=rules(Rule.deny("drop_table"), otherwise="allow"))
    with pytest.raises(UsageError, match="no tool 'drop_table'"):
        await runner.check_rules(user_id="bob")
    assert await runner.check_rules(user_id="ann") == []


@pytest.mark.parametrize("setting", ["deny", "ask", "allow"])
def test_a_misspelt_name_in_a_file_is_refused(setting: str, tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(f"tools: {{preset: coding}}\napprovals: {{{setting}: [bsah]}}\n")
    with pytest.raises(UsageError, match=r"no tool 'bsah'.*near names: bash"):
        load_agent_file(file, ScriptedModel())


async def test_one_policy_around_several_tools_may_name_them_all() -> None:
    other = drop_table.replace(spec=OUTSIDE.spec.__class__(name="look", description="Look."))
    policy = rules(Rule.deny("drop_table"), Rule.deny("look"), otherwise="allow")
    wrapped = [with_approval(one, policy) for one in (drop_table, other)]
    assert (await Runner(root(wrapped)).run("go")).status == "done"
    assert ran == []


@pytest.mark.parametrize("what", ["a tool", "a source"])
@pytest.mark.parametrize("around", [True, False])
async def test_while_a_server_is_away_names_wait_for_the_next_listing(
    what: str, around: bool
) -> None:
    server = Listed()
    server.tool = None
    policy = rules(MISSPELT[what][0], otherwise="allow")
    things: Any = [guarded(server, policy)] if around else [server]
    model = ScriptedModel(".", ".")
    agent = Agent(name="a", model=model, tools=things, policy=None if around else policy)
    assert (await agent.run("go")).status == "done"
    server.tool = OUTSIDE
    with pytest.raises(UsageError, match=MISSPELT[what][1]):
        await agent.run("go")


def away() -> Listed:
    server = Listed()
    server.tool = None
    return server


WRITTEN: dict[str, Callable[[], Agent]] = {
    "deny": lambda: root(
        [drop_table, away()], policy=rules(Rule.deny("drop_tabel"), otherwise="allow")
    ),
    "source": lambda: root(
        [drop_table, away()], policy=rules(Rule.deny(source="mcp:fiels"), otherwise="allow")
    ),
    "inside": lambda: root(
        [drop_table, away()],
        policy=rules(otherwise=rules(Rule.ask("drop_tabel"), otherwise="allow")),
    ),
    "not this one": lambda: root(
        [drop_table, away()],
        policy=rules(Rule.allow(when="call.tool != 'drop_tabel'"), otherwise="deny"),
    ),
    "none of these": lambda: root(
        [drop_table, away()],
        policy=rules(Rule.allow(when="not (call.tool in ['drop_tabel'])"), otherwise="ask"),
    ),
    "interrupt_on": lambda: root([drop_table, away()], interrupt_on={"drop_tabel": True}),
    "guarded": lambda: root(
        [guarded(combined([drop_table], away()), rules(Rule.deny("drop_tabel"), otherwise="allow"))]
    ),
}


@pytest.mark.parametrize("how", WRITTEN)
async def test_while_a_name_may_be_misspelt_every_call_that_its_rules_allow_is_asked_about(
    how: str,
) -> None:
    paused = await WRITTEN[how]().run("go")
    assert (paused.status, ran) == ("paused", [])
    assert "which nothing that could be listed has" in paused.pending[0].hint
    assert "a rule for '" in paused.pending[0].rule


@pytest.mark.parametrize(("deny", "asks"), [("drop_tabel", True), ("look", False)])
async def test_what_was_unresolved_where_a_child_task_was_started_is_asked_about_inside(
    deny: str, asks: bool
) -> None:
    policy = rules(Rule.deny(deny), otherwise="allow")

    def parent(*script: Any) -> Agent:
        look = drop_table.replace(spec=replace(drop_table.spec, name="look"))
        tools = [records, look, away()]
        return Agent(name="parent", model=ScriptedModel(*script), tools=tools, policy=policy)

    left: list[Any] = []

    @tool
    def records(tool_context: ToolContext) -> str:
        """What a task that is started here takes along."""
        left.extend(tool_context.run.rule_records)
        return "."

    runner = Runner(parent(call("records"), "."))
    paused = await runner.run("go", session_id="s")
    if asks:
        await runner.answer("s", paused.pending[0].call_id, Approve())
        await runner.resume("s")
    made = Orchestrator("sqlite:///unused.db")
    made.register(parent())
    above = above_child(["parent"], None, made.agents, (), left)
    model = ScriptedModel(call("drop_table", name="x"), ".")
    child = Runner(Agent(name="child", model=model, tools=[drop_table]))
    result = await child.begin_or_resume("go", user_id="u", session_id="t", above=above)
    assert (result.status, ran) == (("paused", []) if asks else ("done", ["x"]))
    rule = "a rule for 'drop_tabel' in the policy of agent 'parent'"
    assert [asked.rule for asked in result.pending] == [rule] * asks


@pytest.mark.parametrize(
    "rule", [Rule.allow("drop_tabel"), Rule.deny("drop_tabel", optional=True)], ids=str
)
async def test_a_name_that_leaves_nothing_unguarded_is_not_asked_about(rule: Rule) -> None:
    agent = root([drop_table, away()], policy=rules(rule, otherwise="allow"))
    assert ((await agent.run("go")).status, bool(ran)) == ("done", True)


async def test_what_is_remembered_while_a_name_may_be_misspelt_does_not_answer_its_rule() -> None:
    server = away()
    model = ScriptedModel(call("drop_table", name="x"), ".", call("drop_table", name="y"), ".")
    policy = rules(Rule.ask("drop_table", when="name == 'y'"), Rule.deny("look"), otherwise="allow")
    agent = Agent(name="a", model=model, tools=[drop_table, server], policy=policy)
    runner = Runner(agent)
    [asked] = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", asked.call_id, Approve(remember="session"))
    assert (await runner.resume("s")).status == "done"
    server.tool = OUTSIDE.replace(spec=replace(OUTSIDE.spec, name="look"))
    [asked] = (await runner.run("again", session_id="s")).pending
    assert "Rule.ask('drop_table'" in asked.rule


@pytest.mark.parametrize("remember", [False, "arguments", "session", "user"])
async def test_a_yes_while_two_names_may_be_misspelt_holds_when_one_of_them_still_may(
    remember: Any,
) -> None:
    server, model = away(), ScriptedModel(*[call("drop_table", name="x"), "."] * 3)
    policy = rules(Rule.deny("look"), Rule.deny("wipe"), otherwise="allow")
    agent = Agent(name="a", model=model, tools=[drop_table, server, away()], policy=policy)
    runner = Runner(agent)
    [asked] = (await runner.run("go", session_id="s")).pending
    assert "'look', 'wipe'" in asked.hint
    await runner.answer("s", asked.call_id, Approve(remember=remember))
    server.tool = OUTSIDE.replace(spec=replace(OUTSIDE.spec, name="look"))
    assert ((await runner.resume("s")).status, ran) == ("done", ["x"])
    again = await runner.run("again", session_id="s")
    assert again.status == ("done" if remember else "paused")


async def test_a_yes_while_one_name_may_be_misspelt_does_not_hold_for_another() -> None:
    model = ScriptedModel(*[call("drop_table", name="x"), "."] * 2)
    tools = [drop_table, away()]
    runners = [
        Runner(Agent(name="a", model=model, tools=tools, policy=rules(*denied, otherwise="allow")))
        for denied in ([Rule.deny("look")], [Rule.deny("look"), Rule.deny("wipe")])
    ]
    [asked] = (await runners[0].run("go", session_id="s")).pending
    await runners[0].answer("s", asked.call_id, Approve(remember="session"))
    assert (await runners[0].resume("s")).status == "done"
    store = runners[0].store
    later = Runner(runners[1].agent, store=store)
    assert (await later.run("again", session_id="s")).status == "paused"


async def test_a_toolset_that_has_nothing_has_answered() -> None:
    class Empty(Toolset):
        async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
            return []

    with pytest.raises(UsageError, match=r"no tool 'drop_tabel'.*near names: drop_table"):
        await root([drop_table, Empty()], interrupt_on={"drop_tabel": True}).run("go")


async def test_a_server_that_cannot_be_started_has_not_answered(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/nonexistent/interpreter\n")
    broken.chmod(0o755)
    servers: list[Toolset] = [
        McpToolset(StdioServerParameters(command=str(broken))),
        PluginToolset(broken),
        ToolboxToolset("http://127.0.0.1:1"),
    ]
    for toolset in servers:
        assert await toolset.all_tools() is None
        await toolset.close()


async def test_an_agent_may_be_named_that_is_around_the_one_whose_rule_it_is() -> None:
    policy = rules(Rule.deny("drop_table", agent="root"), otherwise="allow")
    inner = Agent(
        name="inner",
        description="",
        model=ScriptedModel(call("drop_table", name="x"), "."),
        tools=[drop_table],
        policy=policy,
    )
    model = ScriptedModel(call("inner", request="go"), ".")
    assert (
        await Agent(name="root", model=model, tools=[AgentTool(inner)]).run("go")
    ).status == "done"
    assert ran == []


ODD = ["team[a]", "[admin]", "[!x]", "a*b", "who?", "CORP\\bob", "a\nb", "{a,b}", "^a$", "a.b"]


@pytest.mark.parametrize("user", ODD)
async def test_a_rule_about_somebody_fits_whatever_signs_their_name_has(user: str) -> None:
    for setting in ({"user": user}, {"when": f"call.user == {user!r}"}):
        policy = rules(Rule.deny("drop_table", **setting), otherwise="allow")  # type: ignore[arg-type]
        await Runner(root([drop_table]), policy=policy).run("go", user_id=user)
        assert ran == []


async def test_somebody_without_a_name_is_told_by_a_condition() -> None:
    with pytest.raises(UsageError, match=r"when=.call\.user == ''"):
        Rule.deny("drop_table", user="")
    policy = rules(Rule.deny("drop_table", when="call.user == ''"), otherwise="allow")
    await Runner(root([drop_table]), policy=policy).run("go", user_id="")
    assert ran == []


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("a[bc]", "ab"),
        ("a.c", "abc"),
        ("a*", "b"),
        ("a?", "a"),
        ("A", "a"),
        ("a", "a\n"),
        ("a+", "aa"),
    ],
)
async def test_a_rule_about_somebody_fits_nobody_else(pattern: str, name: str) -> None:
    policy = rules(Rule.deny("drop_table", user=pattern), otherwise="allow")
    await Runner(root([drop_table]), policy=policy).run("go", user_id=name)
    assert ran == ["users"]


@pytest.mark.parametrize("wrong", ["", None, 1, ["drop_table"], b"drop_table"], ids=repr)
def test_what_is_no_name_is_refused_where_it_is_written(wrong: Any) -> None:
    makes: list[Callable[[], Any]] = [
        lambda: Rule.deny(wrong),
        lambda: Rule.ask("drop_table", wrong),
        lambda: Rule("deny", (wrong,)),
        lambda: Rule.deny(agent=0 if wrong is None else wrong),  # type: ignore[arg-type]
        lambda: Rule.deny(user=0 if wrong is None else wrong),  # type: ignore[arg-type]
    ]
    for make in makes:
        with pytest.raises(UsageError, match=r"A rule names|Rule takes"):
            make()


@pytest.mark.parametrize("wrong", ["denied", "DENY", "", None, True, ["deny"]], ids=repr)
def test_what_is_no_verdict_is_refused_where_it_is_written(wrong: Any) -> None:
    makes: list[Callable[[], Any]] = [
        lambda: Rule(wrong),
        lambda: Decision(verdict=wrong),
        lambda: rules(otherwise=wrong),
    ]
    for make in makes:
        with pytest.raises(UsageError, match=r"'allow'(,| or) 'ask'(,| or) 'deny'"):
            make()


async def test_names_with_capitals_are_those_of_a_path_in_small_letters() -> None:
    right, wrong = (f"starts(lower(call.path), '{name}') and name == ''" for name in ("ro", "Ro"))
    for when in (right, wrong):
        agent = Agent(name="Root", model=ScriptedModel(call("drop_table", name="x"), "."), tools=[OUTSIDE])  # fmt: skip
        run = Runner(agent, policy=rules(Rule.deny(when=when), otherwise="allow")).run("go")
        if when is right:
            assert (await run).status == "done"
        else:
            with pytest.raises(UsageError, match=r"no agent 'Ro\*'"):
                await run
