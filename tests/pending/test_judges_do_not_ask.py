"""Who judges a call asks with a verdict: a question with the context is refused before anything runs."""

from typing import Any

import pytest

from toolwright import (
    Agent,
    FunctionTool,
    Hooks,
    Result,
    Rule,
    Runner,
    Tool,
    ToolContext,
    UsageError,
    rules,
)
from toolwright.messages import PendingRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Decision, Output, Verdict, guarded

pytestmark = pytest.mark.anyio

paid: list[int] = []


@pytest.fixture(autouse=True)
def nothing_is_paid() -> None:
    paid.clear()


def pay(cents: int) -> str:
    """Pay."""
    paid.append(cents)
    return "paid"


def paying(**settings: Any) -> Agent:
    settings.setdefault("tools", [pay])
    return Agent(name="a", model=ScriptedModel(call("pay", cents=5), "done"), **settings)


def results(done: Result) -> list[tuple[str, str]]:
    return [(r.status, r.text) for m in done.history if m.kind == "tool" for r in m.results]


def asks(tool_context: ToolContext) -> bool:
    tool_context.request_confirmation(hint="Pay?")
    return False


def policy(verdict: Verdict) -> Any:
    def judge(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        asks(ctx)
        return Decision(verdict=verdict)

    return judge


def reviewing(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
    async def review() -> Decision:
        asks(ctx)
        return Decision(verdict="allow")

    return Decision(verdict="allow", review=review)


JUDGES: dict[str, dict[str, Any]] = {
    "policy that allows": {"policy": policy("allow")},
    "policy that asks": {"policy": policy("ask")},
    "policy that denies": {"policy": policy("deny")},
    "policy inside": {"policy": rules(otherwise=policy("allow"))},
    "when": {"policy": rules(Rule.deny("pay", when=asks), otherwise="allow")},
    "interrupt_on": {"interrupt_on": {"pay": asks}},
    "require_confirmation": {"tools": [FunctionTool(pay, require_confirmation=asks)]},
    "guarded": {"tools": [guarded([pay], policy("allow"))]},
    "review": {"policy": reviewing},
}


@pytest.mark.parametrize(
    "hooks", [None, Hooks(before_tool=lambda *_: None)], ids=["bare", "hooked"]
)
@pytest.mark.parametrize("judge", JUDGES)
async def test_a_judge_that_asks_with_the_context_is_refused_and_nothing_runs(
    judge: str, hooks: Hooks | None
) -> None:
    done = await paying(**JUDGES[judge], hooks=hooks).run("go")
    assert (done.status, paid) == ("done", [])
    [(status, text)] = results(done)
    assert status == "error"
    assert "asked for confirmation with the context while it judged a call of 'pay'" in text


async def test_explaining_a_call_refuses_it_as_well() -> None:
    with pytest.raises(UsageError, match="the policy of agent 'a' asked for confirmation"):
        await Runner(paying(policy=policy("allow"))).explain("pay", {"cents": 5})


async def test_who_says_whether_a_tool_is_there_has_nothing_to_ask_with() -> None:
    seen: list[bool] = []

    def is_enabled(ctx: Any) -> bool:
        seen.append(hasattr(ctx, "request_confirmation"))
        return True

    tool = FunctionTool(pay).replace(is_enabled=is_enabled)
    assert (await paying(tools=[tool]).run("go")).status == "done"
    assert (set(seen), paid) == ({False}, [5])


def asks_with_the_context(ctx: ToolContext, tool: Tool, args: Args, output: Output) -> None:
    ctx.request_confirmation(hint="May the model read this?")


def asks_with_an_output(ctx: ToolContext, tool: Tool, args: Args, output: Output) -> Output:
    return Output(status="pending", request=PendingRequest(kind="confirmation", hint="May it?"))


@pytest.mark.parametrize("hook", [asks_with_the_context, asks_with_an_output])
async def test_a_hook_after_a_tool_cannot_ask_and_the_call_is_not_made_again(hook: Any) -> None:
    done = await paying(hooks=Hooks(after_tool=hook)).run("go")
    assert (done.status, paid) == ("done", [5])
    [(status, text)] = results(done)
    assert status == "error"
    assert "after_tool asked for confirmation when the call of 'pay' was over" in text
    assert "its status was 'ok', and its output is not shown" in text


async def test_a_hook_after_a_tool_cannot_put_its_question_in_the_place_of_the_functions() -> None:
    def own(cents: int, tool_context: ToolContext) -> str:
        """Pay."""
        tool_context.request_confirmation(hint="FUNCTION?")
        return ""

    tool = FunctionTool(own, name="pay")
    done = await paying(tools=[tool], hooks=Hooks(after_tool=asks_with_the_context)).run("go")
    [(status, text)] = results(done)
    assert (done.status, status, "after_tool asked for confirmation" in text) == (
        "done",
        "error",
        True,
    )


async def test_a_hook_after_a_tool_sees_a_question_and_lets_it_pass() -> None:
    seen: list[str] = []

    def watch(ctx: ToolContext, tool: Tool, args: Args, output: Output) -> Output:
        seen.append(output.status)
        return output

    agent = paying(interrupt_on={"pay": True}, hooks=Hooks(after_tool=watch))
    assert ((await agent.run("go")).status, seen, paid) == ("paused", ["pending"], [])
