"""An answer belongs to whoever asked: a rule, one of several hooks, or the function; none sees another's."""

from collections.abc import Callable
from typing import Any

import pytest

from toolwright import Agent, AgentTool, Approve, Hooks, Reject, Runner, Tool, ToolContext
from toolwright.messages import Pending, PendingRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Decision, Output

pytestmark = pytest.mark.anyio

ran: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


def wipe(scope: str, tool_context: ToolContext) -> str:
    """Wipe a database."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="FUNCTION?")
        return "asked"
    ran.append((scope, tool_context.tool_confirmation.hint))
    return "wiped"


def asking(hint: str) -> Hooks:
    def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> None:
        if tool.name == "wipe" and ctx.tool_confirmation is None:
            ctx.request_confirmation(hint=hint)

    return Hooks(before_tool=before_tool)


def clerk(**settings: Any) -> Agent:
    model = ScriptedModel(call("wipe", scope="all"), "done")
    return Agent(name="clerk", description="Works.", model=model, tools=[wipe], **settings)


def boss(helper: Agent, **settings: Any) -> Agent:
    model = ScriptedModel(call("clerk", request="wipe"), "done")
    return Agent(name="boss", model=model, tools=[AgentTool(helper)], **settings)


async def shown_until_done(runner: Runner) -> list[str]:
    shown: list[str] = []
    paused = await runner.run("go", session_id="s")
    while paused.status == "paused":
        [asked] = paused.pending
        shown.append(asked.hint)
        await runner.answer("s", asked.call_id, Approve())
        paused = await runner.resume("s")
    return shown


RULE = "Allow 'wipe' with these arguments?"
ASKERS: dict[str, tuple[Callable[[], Runner], list[str]]] = {
    "hook": (lambda: Runner(clerk(hooks=asking("HOOK?"))), ["HOOK?"]),
    "two hooks": (
        lambda: Runner(clerk(hooks=asking("HOOK?")), hooks=asking("RUNNER?")),
        ["RUNNER?", "HOOK?"],
    ),
    "hook around a helper": (
        lambda: Runner(boss(clerk(hooks=asking("INNER?")), hooks=asking("OUTER?"))),
        ["OUTER?", "INNER?"],
    ),
    "hook and rule": (
        lambda: Runner(clerk(hooks=asking("HOOK?"), interrupt_on={"wipe": True})),
        ["HOOK?", RULE],
    ),
    "rule": (lambda: Runner(clerk(interrupt_on={"wipe": True})), [RULE]),
}


@pytest.mark.parametrize("who", ASKERS)
async def test_every_asker_is_answered_for_itself_and_the_functions_question_comes_last(
    who: str,
) -> None:
    runner, before = ASKERS[who]
    assert await shown_until_done(runner()) == [*before, "FUNCTION?"]
    assert ran == [("all", "FUNCTION?")]


async def test_a_hook_that_is_added_while_a_question_waits_does_not_get_the_answer_to_it() -> None:
    async with Runner(clerk(hooks=asking("HOOK?"))) as first:
        [asked] = (await first.run("go", session_id="s")).pending
        await first.answer("s", asked.call_id, Approve())
        later = Runner(clerk(hooks=asking("HOOK?")), store=first.store, hooks=asking("NEW?"))
        assert [p.hint for p in (await later.resume("s")).pending] == ["NEW?"]


async def test_a_hook_whose_arguments_an_outer_one_makes_sees_its_answer() -> None:
    def narrow(ctx: ToolContext, tool: Tool, args: Args) -> Args:
        return {"scope": "some"}

    runner = Runner(clerk(hooks=asking("HOOK?")), hooks=Hooks(before_tool=narrow))
    assert await shown_until_done(runner) == ["HOOK?", "FUNCTION?"]
    assert ran == [("some", "FUNCTION?")]


async def test_who_judges_sees_no_answer_and_each_other_only_its_own() -> None:
    seen: list[tuple[str, list[str]]] = []

    def note(who: str, ctx: ToolContext) -> None:
        answered = [asked.hint for asked, _ in ctx.answers]
        given = "" if ctx.tool_confirmation is None else ctx.tool_confirmation.hint
        seen.append((f"{who}:{given}", answered))

    def policy(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        note("policy", ctx)
        return Decision(verdict="allow")

    def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> None:
        note("before", ctx)
        if ctx.tool_confirmation is None:
            ctx.request_confirmation(hint="HOOK?")

    def after_tool(ctx: ToolContext, tool: Tool, args: Args, output: Output) -> None:
        note("after", ctx)

    runner = Runner(
        clerk(policy=policy, hooks=Hooks(before_tool=before_tool, after_tool=after_tool))
    )
    assert await shown_until_done(runner) == ["HOOK?", "FUNCTION?"]
    before, after = ("before:HOOK?", ["HOOK?"]), ("after:HOOK?", ["HOOK?"])
    assert seen[-3:] == [before, ("policy:", []), after]


async def test_what_a_hook_asks_with_an_output_is_the_hooks_question() -> None:
    def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> Output | None:
        if ctx.tool_confirmation is not None:
            return None
        return Output(status="pending", request=PendingRequest(kind="confirmation", hint="HOOK?"))

    assert await shown_until_done(Runner(clerk(hooks=Hooks(before_tool=before_tool)))) == [
        "HOOK?",
        "FUNCTION?",
    ]


async def rejected(runner: Runner, asked: Pending) -> str:
    await runner.answer("s", asked.call_id, Reject())
    done = await runner.resume("s")
    [text] = [r.text for m in done.history if m.kind == "tool" for r in m.results]
    return text


async def test_a_call_that_was_stopped_by_a_hooks_question_was_not_run() -> None:
    runner = Runner(clerk(hooks=asking("HOOK?")))
    [asked] = (await runner.run("go", session_id="s")).pending
    assert await rejected(runner, asked) == "A person rejected this call; it was not run."


async def test_a_call_whose_function_had_asked_was_stopped_also_when_a_hook_asks_last() -> None:
    late: list[bool] = []

    def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> None:
        if late:
            ctx.request_confirmation(hint="HOOK?")

    runner = Runner(clerk(hooks=Hooks(before_tool=before_tool)))
    [own] = (await runner.run("go", session_id="s")).pending
    await runner.answer("s", own.call_id, Approve())
    late.append(True)
    [asked] = (await runner.resume("s")).pending
    text = await rejected(runner, asked)
    assert text == "A person rejected this call; it was stopped at its question."
