"""An approval covers who asked, which tool and which arguments, and nothing else."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    FunctionTool,
    Hooks,
    Reject,
    Result,
    Rule,
    Runner,
    Tool,
    ToolContext,
    UsageError,
    code_mode,
    rules,
)
from toolwright.agent._sync import run_blocking
from toolwright.messages import Pending, ToolSpec, decode_event
from toolwright.testing import ScriptedModel, call
from toolwright.tools import (
    Args,
    Decision,
    Output,
    Toolset,
    digest_of_arguments,
    schema_parser,
    with_confirmation,
)

pytestmark = pytest.mark.anyio

ran: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


def deleting(what: str) -> FunctionTool[Any, Any]:
    """A tool that looks the same whoever makes it."""

    def delete(name: str) -> str:
        """Delete something."""
        ran.append(f"{what} {name}")
        return "deleted"

    return FunctionTool(delete, require_confirmation=True)


class Server(Toolset):
    """Lists one tool, whose definition may change from one listing to the next."""

    cache_listing = False

    def __init__(self, version: int = 1) -> None:
        super().__init__()
        self.version = version

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        version = self.version
        parameters = {
            "type": "object",
            "properties": {"cents": {"type": "integer"}, "to": {"type": "string"}},
            "required": ["cents", "to"],
            "additionalProperties": False,
        }

        async def run(args: Args, ctx: ToolContext) -> Output:
            ran.append((version, args["cents"], args["to"]))
            return Output(text="paid")

        spec = ToolSpec(name="pay", description=f"Pays, version {version}.", parameters=parameters)
        made = Tool(spec=spec, parse=schema_parser("pay", parameters), run=run)
        return [with_confirmation(made, True)]


async def answered(runner: Runner, result: Result, answer: Any = None) -> Result:
    [pending] = result.pending
    await runner.answer(result.session_id, pending.call_id, answer or Approve())
    return await runner.resume(result.session_id)


async def test_a_remembered_approval_does_not_cover_another_agents_tool_of_the_same_name() -> None:
    inner = ScriptedModel(call("delete", name="PRODUCTION"), "Deleted.")
    sub = Agent(name="sub", description="", model=inner, tools=[deleting("inner")])
    outer = ScriptedModel(call("delete", name="draft"), call("sub", request="x"), "Done.")
    agent = Agent(name="outer", model=outer, tools=[deleting("outer"), AgentTool(sub)])
    runner = Runner(agent)
    again = await answered(runner, await runner.run("go"), Approve(remember=True))
    assert ran == ["outer draft"]
    assert [pending.agent for pending in again.pending] == ["sub"]


async def test_a_remembered_approval_does_not_cover_a_tool_whose_definition_has_changed() -> None:
    server = Server()
    model = ScriptedModel(
        call("pay", cents=1, to="ann"), "ok", call("pay", cents=1, to="ann"), "ok"
    )
    runner = Runner(Agent(name="a", model=model, tools=[server]))
    paused = await runner.run("pay", session_id="s")
    await answered(runner, paused, Approve(remember="session"))
    server.version = 2
    again = await runner.run("pay again", session_id="s")
    assert (again.status, ran) == ("paused", [(1, 1, "ann")])


@pytest.mark.parametrize(
    ("remember", "asked"),
    [
        (False, ["same", "other", "other session", "branch", "other user"]),
        ("arguments", ["other", "other session", "branch", "other user"]),
        ("session", ["other session", "branch", "other user"]),
        (True, ["other session", "branch", "other user"]),
        ("user", ["other user"]),
    ],
)
async def test_what_is_remembered_is_what_was_chosen(remember: Any, asked: list[str]) -> None:
    runner = Runner(Agent(name="a", model=_Echo(), tools=[Server()]))
    paused = await runner.run("1", user_id="ada", session_id="s")
    await answered(runner, paused, Approve(remember=remember))
    await runner.branch("s", new_id="b")
    found = []
    for which, prompt, user, session in (
        ("same", "1", "ada", "s"),
        ("other", "2", "ada", "s"),
        ("other session", "1", "ada", "s2"),
        ("branch", "1", "ada", "b"),
        ("other user", "1", "eve", "s3"),
    ):
        if (await runner.run(prompt, user_id=user, session_id=session)).status == "paused":
            found.append(which)
    assert found == asked


class _Echo:
    """A model that pays as many cents as the last message says."""

    name = "echo"

    async def respond(self, request: Any, on_delta: Any = None) -> Any:
        last = request.history[-1]
        turn = call("pay", cents=int(last.text), to="x") if last.kind == "user" else "."
        return await ScriptedModel(turn).respond(request, on_delta)


async def test_a_tools_own_question_is_asked_after_the_rules_and_as_it_is_written() -> None:
    async def wipe(rows: int, tool_context: ToolContext) -> str:
        """Wipe rows."""
        confirmed = tool_context.tool_confirmation
        if confirmed is None:
            tool_context.request_confirmation(hint=f"This deletes {rows} rows of PRODUCTION.")
            return "asked"
        ran.append((rows, confirmed.hint))
        return "wiped"

    ways: list[dict[str, Any]] = [
        {"policy": rules(Rule.ask("wipe"))},
        {"interrupt_on": {"wipe": True}},
    ]
    for settings_ in ways:
        ran.clear()
        agent = Agent(
            name="a", model=ScriptedModel(call("wipe", rows=5), "."), tools=[wipe], **settings_
        )
        runner = Runner(agent)
        first = await runner.run("go")
        assert first.pending[0].hint == "Allow 'wipe' with these arguments?"
        second = await answered(runner, first, Approve(remember="session"))
        assert second.pending[0].hint == "This deletes 5 rows of PRODUCTION."
        assert (second.pending[0].rule, ran) == ("", [])
        await answered(runner, second)
        assert ran == [(5, "This deletes 5 rows of PRODUCTION.")]


async def test_a_tools_own_question_cannot_be_remembered() -> None:
    def wipe(tool_context: ToolContext) -> str:
        """Wipe."""
        tool_context.request_confirmation(hint="Sure?")
        return ""

    runner = Runner(Agent(name="a", model=ScriptedModel(call("wipe"), "."), tools=[wipe]))
    paused = await runner.run("go")
    with pytest.raises(UsageError, match=r"asked every time.*still waits"):
        await answered(runner, paused, Approve(remember=True))
    assert len(await runner.pending()) == 1


BY_FILE: dict[str, tuple[str | tuple[str, ...], str | tuple[str, ...], bool]] = {
    "the same": (("a", "b"), ("b", "a"), True),
    "fewer": (("a", "b"), ("a",), True),
    "more": (("a",), ("a", "b"), False),
    "others": (("a", "b"), ("c",), False),
    "none": (("a", "b"), (), False),
    "one as a whole": ("a, b", "a", False),
    "one of one": (("a", "b"), "a", False),
}


@pytest.mark.parametrize("case", BY_FILE)
@pytest.mark.parametrize("remember", [False, "arguments", "session", "user"])
async def test_an_approval_about_several_things_covers_fewer_of_them_and_no_others(
    case: str, remember: Any
) -> None:
    before, after, is_covered = BY_FILE[case]
    about = [before]

    async def policy(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        return Decision(verdict="ask", about=about[0])

    model = ScriptedModel(*[call("delete", name="x"), "."] * 2)
    tool = deleting("a's").replace(confirm=())
    runner = Runner(Agent(name="a", model=model, tools=[tool], policy=policy))
    asked = await runner.run("go", session_id="s")
    if not remember:  # What is approved changes before it runs.
        about[0] = after
    done = await answered(runner, asked, Approve(remember=remember))
    if remember:
        about[0] = after
        done = await runner.run("again", session_id="s")
    assert done.status == ("done" if is_covered else "paused")


@pytest.mark.parametrize("remember", ["always", "tool", 1, ["session"]])
async def test_what_cannot_be_remembered_is_refused(remember: Any) -> None:
    model = ScriptedModel(call("delete", name="x"))
    runner = Runner(Agent(name="a", model=model, tools=[deleting("a")]))
    paused = await runner.run("go")
    with pytest.raises(UsageError, match="'arguments', 'session', 'user' or 'source'"):
        await answered(runner, paused, {"kind": "approve", "remember": remember})


async def test_an_approval_of_a_changed_tool_is_asked_for_again() -> None:
    server = Server()
    model = ScriptedModel(call("pay", cents=1, to="ann"), ".")
    runner = Runner(Agent(name="a", model=model, tools=[server]))
    paused = await runner.run("pay")
    server.version = 2
    again = await answered(runner, paused)
    assert (again.status, ran) == ("paused", [])
    assert (await answered(runner, again)).status == "done"
    assert ran == [(2, 1, "ann")]


async def test_arguments_that_a_hook_changes_after_the_approval_are_asked_about() -> None:
    amounts = iter([1, 99, 99])

    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> Args:
        return {**args, "cents": next(amounts)}

    model = ScriptedModel(call("pay", cents=5, to="ann"), ".")
    agent = Agent(name="a", model=model, tools=[Server()], hooks=Hooks(before_tool=before_tool))
    runner = Runner(agent)
    paused = await runner.run("pay")
    assert paused.pending[0].arguments["cents"] == 1
    again = await answered(runner, paused)
    assert (again.pending[0].arguments["cents"], ran) == (99, [])
    await answered(runner, again)
    assert ran == [(1, 99, "ann")]


async def test_a_call_in_code_is_known_by_a_full_digest_of_what_it_does() -> None:
    pay = FunctionTool(_pay, name="pay", require_confirmation=True)
    model = ScriptedModel(call("run_code", code="await pay(cents=1)"), ".")
    runner = Runner(Agent(name="a", model=model, tools=[code_mode([pay])]))
    paused = await runner.run("pay")
    inner = paused.pending[0].call_id.rpartition("/")[2]
    assert len(inner.partition("-")[0]) == 64
    assert (await answered(runner, paused)).status == "done"
    assert ran == [1]


def _pay(cents: int) -> str:
    """Pay."""
    ran.append(cents)
    return "paid"


def test_arguments_nested_too_deep_to_be_shown_are_never_covered() -> None:
    deep: Any = "x"
    for _ in range(3000):
        deep = [deep]
    assert digest_of_arguments({"value": deep}) != digest_of_arguments({"value": deep})
    assert digest_of_arguments({"a": 1, "b": 2}) == digest_of_arguments({"b": 2, "a": 1})


def test_arguments_that_look_alike_have_different_digests() -> None:
    one, other = {"key": SecretStr("a")}, {"key": SecretStr("b")}
    assert digest_of_arguments(one) != digest_of_arguments(other)


# -- any sequence of answers ---------------------------------------------------------------------

amounts = st.integers(1, 2)
people = st.sampled_from(["ann", "eve"])
calls = st.lists(st.tuples(amounts, people), min_size=1, max_size=3)
answers = st.one_of(
    st.builds(
        Approve,
        arguments=st.none() | st.fixed_dictionaries({"cents": amounts, "to": people}),
        remember=st.sampled_from([False, False, "arguments", "session", "user"]),
    ),
    st.builds(Reject),
    st.just("change the tool"),
    st.just("change the arguments"),
    st.just("answer nothing"),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(calls, min_size=1, max_size=3), st.lists(answers, max_size=12))
def test_no_sequence_of_answers_runs_other_arguments_than_were_shown(
    turns: list[list[tuple[int, str]]], said: list[Any]
) -> None:
    ran.clear()
    run_blocking(lambda: _any_sequence(turns, said))


async def _any_sequence(turns: list[list[tuple[int, str]]], said: list[Any]) -> None:
    server, script = Server(), [[call("pay", cents=c, to=to) for c, to in turn] for turn in turns]
    more = 0

    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> Args:
        return {**args, "cents": args["cents"] + more}

    hooks, model = Hooks(before_tool=before_tool), ScriptedModel(*script, ".")
    runner = Runner(Agent(name="a", model=model, tools=[server], hooks=hooks))
    once: Counter[Any] = Counter()
    for_good: set[Any] = set()
    asked: dict[str, int] = {}
    """Which version of the tool each question was about."""
    result = await runner.run("go", session_id="s")
    for answer in said:
        if result.status != "paused":
            break
        pending = result.pending[0]
        for shown in result.pending:
            asked.setdefault(shown.call_id, server.version)
        if answer == "change the tool":
            server.version += 1
        elif answer == "change the arguments":
            more += 10
        elif answer != "answer nothing":
            if isinstance(answer, Approve):
                _note(once, for_good, asked[pending.call_id], pending, answer)
            await runner.answer("s", pending.call_id, answer)
            result = await runner.resume("s")
        _check(once, for_good)


def _note(
    once: Counter[Any], for_good: set[Any], version: int, pending: Pending, answer: Approve
) -> None:
    shown = answer.arguments or pending.arguments
    what = (version, shown["cents"], shown["to"])
    once[what] += 1
    if answer.remember == "arguments":
        for_good.add(what)
    elif answer.remember:
        for_good.add(version)


def _check(once: Counter[Any], for_good: set[Any]) -> None:
    for what, times in Counter(ran).items():
        covered = what in for_good or what[0] in for_good
        assert covered or times <= once[what], f"{what} ran {times} times; approved: {once}"


def test_a_journal_from_before_approvals_were_bound_can_be_read() -> None:
    old = (
        '{"v":2,"type":"pending_opened","pending":'
        '{"call_id":"c","name":"pay","kind":"confirmation","arguments":{"cents":1}}}'
    )
    pending = decode_event(old).pending
    assert (pending.rule, pending.question) == ("", "")
    answer = decode_event(
        '{"v":2,"type":"pending_answered","call_id":"c","answer":{"kind":"approve","remember":true}}'
    ).answer
    assert answer == Approve(remember=True)
