"""Policies: which calls run, which are asked about, and which are denied."""

from typing import Any

import pytest

from toolwright import Agent, Approve, Reject, Result, Runner, ToolContext, tool
from toolwright.errors import UsageError
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Policy, Rule, guarded, rules

pytestmark = pytest.mark.anyio

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


@tool(effects="read")
def read_file(path: str) -> str:
    """Read a file."""
    ran.append(f"read {path}")
    return "text"


@tool
def write_file(path: str, text: str | None = None) -> str:
    """Write a file."""
    ran.append(f"write {path}")
    return "written"


@tool(effects="destructive")
def drop_table(name: str) -> str:
    """Drop a table."""
    ran.append(f"drop {name}")
    return "dropped"


TOOLS = [read_file, write_file, drop_table]


def runner_with(policy: Policy, *script: Any) -> Runner:
    model = ScriptedModel(*script)
    return Runner(Agent(name="worker", model=model, tools=TOOLS, policy=policy))


def results(result: Result) -> list[tuple[str, str]]:
    found = [m for m in result.history if m.kind == "tool"]
    return [(r.status, r.text) for message in found for r in message.results]


async def test_the_first_rule_that_fits_decides() -> None:
    policy = rules(
        Rule.deny("*_table", when=lambda name: name == "users", reason="people live there"),
        Rule.ask(effects="destructive", reason="This cannot be undone."),
        Rule.allow("read_*"),
        otherwise="ask",
    )
    calls = [
        call("read_file", path="a"),
        call("drop_table", name="users"),
        call("drop_table", name="tmp"),
        call("write_file", path="b"),
    ]
    result = await runner_with(policy, calls).run("go")

    assert result.status == "paused"
    assert ran == ["read a"]
    hints = {pending.name: pending.hint for pending in result.pending}
    assert hints["drop_table"] == "This cannot be undone."
    assert "write_file" in hints["write_file"]
    assert len(result.pending) == 2


async def test_the_model_is_told_why_a_call_was_denied() -> None:
    policy = rules(Rule.deny("drop_*", reason="ask the operator"), otherwise="allow")
    runner = runner_with(policy, call("drop_table", name="x"), "I cannot.")
    result = await runner.run("go")

    assert results(result) == [("denied", "Denied: ask the operator")]
    assert ran == []


async def test_remembered_approval_holds_for_this_tool_in_this_session() -> None:
    runner = runner_with(
        rules(Rule.allow("read_*"), otherwise="ask"),
        call("write_file", path="a"),
        [call("write_file", path="b"), call("drop_table", name="t")],
    )
    paused = await runner.run("go", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, Approve(remember=True))
    paused = await runner.resume("s")

    assert ran == ["write a", "write b"]
    assert [pending.name for pending in paused.pending] == ["drop_table"]


async def test_remembering_ends_with_the_session() -> None:
    runner = runner_with(rules(), call("write_file", path="a"), "ok", call("write_file", path="b"))
    paused = await runner.run("go", session_id="s1")
    await runner.answer("s1", paused.pending[0].call_id, Approve(remember=True))
    await runner.resume("s1")

    assert (await runner.run("go", session_id="s2")).status == "paused"


async def test_a_tool_cannot_approve_another_one_through_the_state() -> None:
    @tool
    def remember(key: str, value: bool, tool_context: ToolContext) -> str:
        """Remember something."""
        tool_context.state[key] = value
        return "remembered"

    script = [call("remember", key="_approved:drop_table", value=True), "ok"]
    model = ScriptedModel(*script)
    agent = Agent(name="worker", model=model, tools=[remember])
    result = await Runner(agent).run("go")

    assert results(result)[0][0] == "error"
    assert "_approved:drop_table" not in result.state


async def test_arguments_that_an_approver_changes_are_judged_again() -> None:
    policy = rules(Rule.deny(when=lambda name: name == "users"), otherwise="ask")
    runner = runner_with(policy, call("drop_table", name="tmp"), "ok")
    paused = await runner.run("go", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, Approve(arguments={"name": "users"}))
    done = await runner.resume("s")

    assert results(done)[0][0] == "denied"
    assert ran == []


async def test_no_call_is_allowed_on_an_argument_it_leaves_out() -> None:
    policy = rules(Rule.allow("write_file", when=lambda text: len(text) < 10), otherwise="ask")
    runner = runner_with(
        policy, [call("write_file", path="a", text="x"), call("write_file", path="b")]
    )
    result = await runner.run("go")

    assert ran == ["write a"]
    assert [pending.arguments for pending in result.pending] == [{"path": "b"}]


async def test_rules_may_look_at_the_context() -> None:
    async def is_ada(tool_context: ToolContext) -> bool:
        return tool_context.user_id == "ada"

    policy = rules(Rule.allow(when=is_ada), otherwise="deny")
    runner = runner_with(
        policy, call("drop_table", name="x"), "ok", call("drop_table", name="y"), "no"
    )

    await runner.run("go", user_id="ada")
    await runner.run("go", user_id="eve")

    assert ran == ["drop x"]


async def test_a_toolset_can_be_guarded_by_itself() -> None:
    gated = guarded([drop_table], rules(otherwise="deny"))
    model = ScriptedModel([call("drop_table", name="x"), call("read_file", path="a")], "ok")
    result = await Agent(name="worker", model=model, tools=[gated, read_file]).run("go")

    assert [status for status, _ in results(result)] == ["denied", "ok"]


async def test_interrupt_on_asks_for_the_tools_it_names() -> None:
    model = ScriptedModel([call("drop_table", name="x"), call("read_file", path="a")], "ok")
    agent = Agent(name="worker", model=model, tools=TOOLS, interrupt_on={"drop_table": True})
    runner = Runner(agent)
    paused = await runner.run("go", session_id="s")
    assert [pending.name for pending in paused.pending] == ["drop_table"]

    await runner.answer("s", paused.pending[0].call_id, Reject(reason="no"))
    assert (await runner.resume("s")).status == "done"
    assert ran == ["read a"]


def test_a_misspelt_name_in_interrupt_on_is_refused() -> None:
    with pytest.raises(UsageError, match="drop_tabel"):
        Agent(name="worker", model=ScriptedModel(), tools=TOOLS, interrupt_on={"drop_tabel": True})


def test_unknown_effects_are_refused() -> None:
    with pytest.raises(UsageError, match="read, write, destructive"):
        Rule.ask(effects="dangerous")


@pytest.mark.parametrize(
    "make",
    [
        lambda: rules("drop_*"),  # type: ignore[arg-type]
        lambda: rules(otherwise="maybe"),  # type: ignore[arg-type]
        lambda: rules(Rule.deny(when=3)),  # type: ignore[arg-type]
        lambda: rules(Rule.deny(when="__import__('os')")),
    ],
)
def test_what_is_no_rule_is_refused_at_once(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


async def test_a_rule_that_fails_lets_nothing_through() -> None:
    def broken(name: str) -> bool:
        raise KeyError(name)

    runner = runner_with(rules(Rule.allow(when=broken)), call("drop_table", name="x"), "Hm.")
    result = await runner.run("go")

    assert results(result)[0][0] == "error"
    assert ran == []
