"""A call was interrupted as it ran, may be repeated, and is not: no path tells the model that it was not run."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolwright import (
    Agent,
    Approve,
    AuthenticatedFunctionTool,
    Hooks,
    Reject,
    Rule,
    Runner,
    Tool,
    ToolContext,
    tool,
)
from toolwright.backends import MemoryStore
from toolwright.messages import AuthConfig, CustomAuthScheme, ModelMessage, ToolCall, ToolEnded
from toolwright.testing import ScriptedModel
from toolwright.tools import Output, rules, with_retries, with_timeout

pytestmark = pytest.mark.anyio

KEY = AuthConfig(
    auth_scheme=CustomAuthScheme(type="apiKey", location="header", name="X-Key"),
    credential_key="api",
)
CALL = ModelMessage(parts=(ToolCall(call_id="c", name="pay", arguments="{}"),))
ran: list[str] = []


async def _pay() -> str:
    """Pay."""
    ran.append("pay")
    if len(ran) == 1:
        raise KeyboardInterrupt
    return "paid"


async def _sign(credential: Any) -> str:
    """Pay."""
    return "paid"


async def _pay_in(currency: str) -> str:
    """Pay."""
    return "paid"


pay = tool(idempotent=True, name="pay")(_pay)
confirmed = tool(idempotent=True, name="pay", require_confirmation=True)(_pay)


class Desk:
    """A session whose process died during its first call; each runner is that of another process."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    def runner(self, *tools: Tool, **settings: Any) -> Runner:
        agent = Agent(name="a", model=ScriptedModel("Fine."), tools=list(tools), **settings)
        return Runner(agent, store=self.store, credentials="memory://")

    async def interrupted(self, first: Tool = pay) -> None:
        agent = Agent(name="a", model=ScriptedModel(CALL), tools=[first])
        with pytest.raises(KeyboardInterrupt):
            await Runner(agent, store=self.store).run("go", session_id="s")

    async def asked(self, *tools: Tool, session_id: str = "s", **settings: Any) -> None:
        """Another process repeats the call, which asks first."""
        assert (await self.runner(*tools, **settings).resume(session_id)).status == "paused"

    async def answer(self, answer: Any, session_id: str = "s") -> None:
        runner = self.runner(confirmed)
        [asked] = await runner.pending(session_id)
        assert asked.interrupted
        assert "may have taken effect" in asked.hint
        assert await runner.answer(session_id, asked.call_id, answer) == "accepted"


async def rejected(desk: Desk) -> Runner:
    await desk.asked(confirmed)
    await desk.answer(Reject())
    runner = desk.runner(confirmed)
    await runner.resume("s")
    return runner


async def ignored(desk: Desk) -> Runner:
    await desk.asked(confirmed)
    runner = desk.runner(confirmed)
    await runner.run("hello", session_id="s")
    return runner


async def stopped_after_a_yes(desk: Desk) -> Runner:
    await desk.asked(confirmed)
    await desk.answer(Approve())
    runner = desk.runner(confirmed)
    await runner.abandon("s", keep_open=True)
    await runner.run("hello", session_id="s")
    return runner


async def given_up(desk: Desk) -> Runner:
    await desk.asked(confirmed)
    runner = desk.runner(confirmed)
    await runner.abandon("s")
    return runner


async def asked_twice(desk: Desk) -> Runner:
    """The second question is of a process that has seen the first one only."""
    await desk.asked(confirmed)
    await desk.answer(Approve())
    signing = AuthenticatedFunctionTool(
        _sign, KEY, idempotent=True, name="pay", require_confirmation=True
    )
    await desk.asked(signing)
    runner = desk.runner(signing)
    assert [asked.kind for asked in await runner.pending("s")] == ["credential"]
    await runner.run("hello", session_id="s")
    return runner


async def rejected_in_a_branch(desk: Desk) -> Runner:
    await desk.runner(pay).branch("s", new_id="b")
    await desk.asked(confirmed, session_id="b")
    await desk.answer(Reject(), "b")
    runner = desk.runner(confirmed)
    await runner.resume("b")
    return runner


async def denied(desk: Desk) -> Runner:
    runner = desk.runner(pay, policy=rules(Rule.deny("pay")))
    await runner.resume("s")
    return runner


async def refused_by_a_hook(desk: Desk) -> Runner:
    def before(ctx: ToolContext, tool: Tool, args: dict[str, Any]) -> Output:
        return Output(text="Not now.", status="denied")

    runner = desk.runner(pay, hooks=Hooks(before_tool=before))
    await runner.resume("s")
    return runner


async def of_other_parameters_by_now(desk: Desk) -> Runner:
    runner = desk.runner(tool(idempotent=True, name="pay")(_pay_in))
    await runner.resume("s")
    return runner


async def gone_by_now(desk: Desk) -> Runner:
    runner = desk.runner()
    await runner.resume("s")
    return runner


async def gone_by_now_and_ignored(desk: Desk) -> Runner:
    runner = desk.runner()
    await runner.run("hello", session_id="s")
    return runner


async def switched_off_by_now(desk: Desk) -> Runner:
    runner = desk.runner(tool(idempotent=True, name="pay", is_enabled=lambda ctx: False)(_pay))
    await runner.resume("s")
    return runner


async def not_to_be_repeated_by_now(desk: Desk) -> Runner:
    runner = desk.runner(tool(name="pay")(_pay))
    await runner.resume("s")
    return runner


PATHS = (
    rejected, ignored, stopped_after_a_yes, given_up, asked_twice, rejected_in_a_branch, denied,
    refused_by_a_hook, of_other_parameters_by_now, gone_by_now, gone_by_now_and_ignored,
    switched_off_by_now, not_to_be_repeated_by_now,
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
async def test_the_model_reads_that_the_call_may_have_taken_effect(
    path: Callable[[Desk], Awaitable[Runner]],
) -> None:
    ran.clear()
    desk = Desk()
    await desk.interrupted()
    runner = await path(desk)
    session = "b" if path is rejected_in_a_branch else "s"
    events = await runner.events(session)
    [result] = [event.result for event in events if isinstance(event, ToolEnded)]
    told = result.text
    assert result.outcome_unknown  # Programs read it as well.
    assert ran == ["pay"]
    assert "not run" not in told
    assert "may have taken effect" in told or "may or may not have taken effect" in told
    assert told.count("interrupted") == 1


def _asking(kind: str) -> Tool:
    def begun_by(ctx: ToolContext) -> None:
        ran.append("began")
        ctx.request_credential(KEY)

    async def itself(tool_context: ToolContext) -> str:
        """Ask to sign in when something is done already."""
        begun_by(tool_context)
        return ""

    made = {"itself": tool(itself), "wrapper": AuthenticatedFunctionTool(_sign, KEY)}
    return made[kind].replace(spec=replace(made[kind].spec, name="pay"))


@pytest.mark.parametrize(
    ("kind", "told"), [("itself", "it was stopped at its question"), ("wrapper", "it was not run")]
)
async def test_whether_a_function_had_run_before_somebody_was_to_sign_in_is_told(
    kind: str, told: str
) -> None:
    ran.clear()
    agent = Agent(name="a", model=ScriptedModel(CALL, "Fine."), tools=[_asking(kind)])
    async with Runner(agent, credentials="memory://") as runner:
        await runner.run("go", session_id="s")
        done = await runner.run("hello", session_id="s")
    assert ran == (["began"] if kind == "itself" else [])
    [result] = [r for m in done.history if m.kind == "tool" for r in m.results]
    assert result.text == f"The user sent a new message instead of answering; {told}."


async def test_what_an_attempt_before_the_last_one_did_is_not_said_not_to_have_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran.clear()
    scope = anyio.CancelScope()
    monkeypatch.setattr("toolwright.tools._wrappers.anyio.move_on_after", lambda _: scope)

    async def run(args: Any, ctx: ToolContext) -> Output:
        ran.append("pay")
        if len(ran) == 1:
            raise OSError("broken")
        ctx.abandon(started=False)
        scope.cancel()
        await anyio.lowlevel.checkpoint()
        return Output(text="paid")

    retried = with_timeout(with_retries(pay.replace(run=run), 1, backoff=0), 1)
    done = await Agent(name="a", model=ScriptedModel(CALL, "Fine."), tools=[retried]).run("go")
    [result] = [r for m in done.history if m.kind == "tool" for r in m.results]
    assert "not run" not in result.text
    assert "what it did until then stands" in result.text
    assert result.outcome_unknown
