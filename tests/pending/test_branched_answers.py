"""A branch begins with what its session was told by then, and runs nothing on an approval that was
given elsewhere."""

from pathlib import Path
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    Reject,
    Runner,
    Tool,
    ToolContext,
    deferred_tool,
    tool,
)
from toolwright.agent import _runner
from toolwright.errors import StoreError
from toolwright.messages import Event, ModelMessage, ToolEnded, ToolStarted, UserMessage
from toolwright.models import ModelRequest, OnDelta
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

ran: list[str] = []
"""Each time that a function has run."""


@tool(require_confirmation=True)
async def pay() -> str:
    """Pay."""
    ran.append("pay")
    return "paid"


@tool(require_confirmation=True, idempotent=True)
async def refund() -> str:
    """Pay back."""
    ran.append("refund")
    return "refunded"


@deferred_tool(require_confirmation=True, idempotent=True)
async def order(tool_context: ToolContext) -> None:
    """Order."""
    ran.append("order")


@tool
async def close_account(tool_context: ToolContext) -> str:
    """Ask by itself."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Close it?")
        return ""
    if tool_context.tool_confirmation.confirmed:
        ran.append("close_account")
    return "closed"


class Paying(ScriptedModel):
    """Calls `pay` when it is asked for something, and is done when that has a result."""

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        is_asked = isinstance(request.history[-1], UserMessage)
        return await ScriptedModel(call("pay") if is_asked else "Paid.").respond(request, on_delta)


helper = AgentTool(Agent(name="helper", description="Helps.", model=Paying(), tools=[pay]))


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    ran.clear()
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db"


def desk(store: str, tool: Tool) -> Runner:
    arguments = {"request": "pay"} if tool.name == "helper" else {}
    model = ScriptedModel(call(tool.name, **arguments), *["Done."] * 50)
    return Runner(Agent(name="a", model=model, tools=[tool]), store=store)


async def approved(runner: Runner) -> int:
    """Run a session to its end with every question approved; the number of its last event."""
    result = await runner.run("go", session_id="s")
    while result.status == "paused":
        [asked] = result.pending
        answer = "came" if asked.kind == "result" else Approve()
        assert await runner.answer("s", asked.call_id, answer) == "accepted"
        result = await runner.resume("s")
    return len(await runner.events("s"))


TOOLS = (pay, refund, order, close_account, helper)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
async def test_wherever_a_session_is_branched_its_approval_runs_nothing_there(
    store: str, tool: Tool
) -> None:
    async with desk(store, tool) as runner:
        last = await approved(runner)
        assert len(ran) == 1
        for upto in range(1, last + 1):
            await runner.branch("s", new_id=f"b{upto}", upto=upto)
            result = await runner.resume(f"b{upto}")
            while asked := list(result.pending):
                answer = Reject(reason="Not again")
                outcome = await runner.answer(f"b{upto}", asked[0].call_id, answer)
                assert outcome == "accepted", upto
                result = await runner.resume(f"b{upto}")
            assert (result.status, ran) == ("done", [ran[0]]), upto


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
async def test_a_question_that_a_branch_shows_takes_the_answer_that_is_given_there(
    store: str, tool: Tool
) -> None:
    async with desk(store, tool) as runner:
        last = await approved(runner)
        for upto in range(1, last + 1):
            await runner.branch("s", new_id=f"b{upto}", upto=upto)
            for asked in await runner.pending(f"b{upto}"):
                answer = Reject(reason="Not again")
                assert await runner.answer(f"b{upto}", asked.call_id, answer) == "accepted"
            result = await runner.resume(f"b{upto}")
            for pending in result.pending:
                assert pending.kind == "confirmation", upto
            assert ran == [ran[0]], upto


def _begun(events: list[Event], upto: int) -> set[str]:
    return {e.call.name for e in events[:upto] if isinstance(e, ToolStarted)}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
async def test_each_question_that_a_branch_shows_can_still_be_answered_with_effect(
    store: str, tool: Tool
) -> None:
    async with desk(store, tool) as runner:
        last = await approved(runner)
        for upto in range(1, last + 1):
            await runner.branch("s", new_id=f"b{upto}", upto=upto)
            asked = await runner.pending(f"b{upto}")
            for pending in asked:
                answer = "came" if pending.kind == "result" else Reject(reason="Not again")
                assert await runner.answer(f"b{upto}", pending.call_id, answer) == "accepted"
            result = await runner.resume(f"b{upto}")
            told = [e.result.text for e in result.events if isinstance(e, ToolEnded)]
            for pending in asked:
                word = "came" if pending.kind == "result" else "Not again"
                assert result.status == "paused" or any(word in text for text in told), upto
            if result.status == "done":
                assert await runner.pending(f"b{upto}") == [], upto
            asks = "pay" if tool is helper else tool.name
            if asks in _begun(await runner.events("s"), upto):
                assert not any("not run" in text for text in told), upto


@pytest.mark.parametrize("whole", [True, False])
async def test_a_branch_has_the_result_that_came_before_it_was_made_if_it_is_of_all_there_is(
    store: str, whole: bool
) -> None:
    async with desk(store, order.replace(confirm=())) as runner:
        paused = await runner.run("go", session_id="s")
        [asked] = paused.pending
        await runner.answer("s", asked.call_id, "came")
        last = None if whole else len(await runner.events("s"))
        await runner.branch("s", new_id="b", upto=last)
        assert bool(await runner.pending("b")) is not whole
        assert (await runner.resume("b")).status == ("done" if whole else "paused")
        assert (await runner.resume("s")).status == "done"


@deferred_tool(timeout=100)
async def deliver() -> None:
    """Deliver."""


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("in_time", [True, False])
async def test_a_branch_has_what_was_accepted_in_time_whenever_it_is_made(
    store: str, in_time: bool, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = ScriptedModel(call("deliver"), *["Delivered."] * 9)
    helper = Agent(name="helper", description="h", model=turns, tools=[deliver])
    async with desk(store, AgentTool(helper) if inside else deliver) as runner:
        [asked] = (await runner.run("go", session_id="s")).pending
        if in_time:
            assert await runner.answer("s", asked.call_id, "came") == "accepted"
        assert asked.deadline is not None
        monkeypatch.setattr("time.time", lambda: asked.deadline + 1.0)
        await runner.branch("s", new_id="b")
        assert await runner.answer("b", asked.call_id, "late") == (
            "duplicate" if in_time else "expired"
        )
        for session in ("b", "s"):
            await runner.resume(session)
            ends = [e.result for e in await runner.events(session) if isinstance(e, ToolEnded)]
            assert (ends[0].name, ends[0].text == "came") == ("deliver", in_time)


async def test_an_approval_that_no_run_has_used_does_not_count_in_a_branch(store: str) -> None:
    async with desk(store, pay) as runner:
        paused = await runner.run("go", session_id="s")
        await runner.answer("s", paused.pending[0].call_id, Approve())
        await runner.branch("s", new_id="b")
        assert ((await runner.resume("b")).status, ran) == ("paused", [])


async def test_a_branch_whose_answers_cannot_be_looked_for_is_not_left_behind(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any, **__: Any) -> None:
        raise StoreError("the database is away")

    async with desk(store, pay) as runner:
        await runner.run("go", session_id="s")
        monkeypatch.setattr(_runner, "share_answers", away)
        with pytest.raises(StoreError, match="away"):
            await runner.branch("s", new_id="b")
        monkeypatch.undo()
        await runner.branch("s", new_id="b")


async def test_a_result_that_the_session_had_used_is_the_one_that_the_branch_uses(
    store: str,
) -> None:
    async with desk(store, order) as runner:
        paused = await runner.run("go", session_id="s")
        first = paused.pending[0].call_id
        await runner.answer("s", first, Approve())
        await runner.resume("s")
        await runner.answer("s", f"{first}~2", "first")
        await runner.resume("s")
        used = [e.seq for e in await runner.events("s") if e.type == "pending_answered"]  # type: ignore[attr-defined]
        await runner.branch("s", new_id="b", upto=used[-1])
        assert await runner.pending("b") == []
        assert await runner.answer("b", f"{first}~2", "second") == "duplicate"
        result = await runner.resume("b")
    assert [e.result.text for e in result.events if e.type == "tool_ended"] == ["first"]  # type: ignore[attr-defined]


async def test_a_branch_of_a_call_that_waits_for_its_result_waits_for_that_alone(
    store: str,
) -> None:
    async with desk(store, order) as runner:
        paused = await runner.run("go", session_id="s")
        first = paused.pending[0].call_id
        await runner.answer("s", first, Approve())
        await runner.resume("s")
        await runner.branch("s", new_id="b")
        assert [(p.call_id, p.kind) for p in await runner.pending("b")] == [
            (f"{first}~2", "result")
        ]
        assert await runner.answer("b", first, Reject()) == "duplicate"
        assert await runner.answer("b", f"{first}~2", "ordered") == "accepted"
        assert ((await runner.resume("b")).status, ran) == ("done", ["order"])
