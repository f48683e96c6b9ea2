"""A call that makes calls itself is closed: its result is all that the model reads of those inside, so that
it says what they have come to, whoever closes it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    LongRunningFunctionTool,
    Reject,
    Runner,
    Tool,
    deferred_tool,
    tool,
)
from toolwright.backends import MemoryStore
from toolwright.builtin.codemode import code_mode
from toolwright.messages import ModelMessage, ToolCall, ToolEnded
from toolwright.models import Model
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

ran: list[str] = []


async def _pay() -> str:
    """Pay."""
    ran.append("pay")
    return "paid"


async def _pay_and_die() -> str:
    """Pay."""
    ran.append("pay")
    raise KeyboardInterrupt


@tool(require_confirmation=True)
async def ship() -> str:
    """Ship."""
    ran.append("ship")
    return "shipped"


def dying(**settings: Any) -> Tool:
    return tool(name="pay", **settings)(_pay_and_die)


def repeated(**settings: Any) -> Tool:
    return tool(name="pay", **settings)(_pay)


def turn(*names: str) -> ModelMessage:
    return ModelMessage(parts=tuple(ToolCall(call_id=n, name=n, arguments="{}") for n in names))


# -- what is around --------------------------------------------------------------------------

Around = Callable[[Model, list[Tool]], Tool]


def agent(model: Model, tools: list[Tool]) -> Tool:
    return AgentTool(Agent(name="helper", description="Helps.", model=model, tools=tools))


def agent_in_agent(model: Model, tools: list[Tool]) -> Tool:
    outer = ScriptedModel(call("helper", request="x"), "Helped.")
    desk = Agent(name="desk", description="d", model=outer, tools=[agent(model, tools)])
    return AgentTool(desk)


AROUND = {"agent": agent, "agent_in_agent": agent_in_agent}


class Session:
    """Its runners are those of one process after the other."""

    def __init__(self, around: Around) -> None:
        self.store = MemoryStore()
        self.around = around

    def runner(self, *tools: Tool, then: Sequence[ModelMessage] = ()) -> Runner:
        """In it the agent inside says what is next, and is done."""
        made = self.around(ScriptedModel(*then, *["Done."] * 9), list(tools))
        model = ScriptedModel(*["Fine."] * 9)
        return Runner(Agent(name="a", model=model, tools=[made]), store=self.store)

    async def begun(self, *tools: Tool, turns: Sequence[ModelMessage]) -> Runner:
        """A session in which the agent inside takes these turns, until it has to wait."""
        made = self.around(ScriptedModel(*turns, "Done."), list(tools))
        model = ScriptedModel(call(made.name, request="x"), "Fine.", "Fine.")
        runner = Runner(Agent(name="a", model=model, tools=[made]), store=self.store)
        await runner.run("go", session_id="s")
        return runner

    async def interrupted(self, first: Tool) -> None:
        with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)):
            await self.begun(first, turns=[turn("pay")])


# -- who closes it ---------------------------------------------------------------------------

Close = Callable[[Runner], Awaitable[object]]


async def message(runner: Runner) -> None:
    await runner.run("hello", session_id="s")


async def stop(runner: Runner) -> None:
    await runner.abandon("s", keep_open=True)
    await runner.run("hello", session_id="s")


async def abandon(runner: Runner) -> None:
    await runner.abandon("s")
    await runner.run("hello", session_id="s")


CLOSE = (message, stop, abandon)


async def read(runner: Runner) -> str:
    """What the model reads of the outermost call."""
    results = [r for m in await runner.history("s") if m.kind == "tool" for r in m.results]
    assert len(results) == 1
    return results[0].text


@pytest.fixture(params=AROUND)
def session(request: pytest.FixtureRequest) -> Session:
    ran.clear()
    return Session(AROUND[request.param])


@pytest.mark.parametrize("close", CLOSE)
async def test_what_was_done_inside_is_told(session: Session, close: Close) -> None:
    runner = await session.begun(repeated(), ship, turns=[turn("pay"), turn("ship")])
    await close(runner)
    assert (await read(runner)).endswith(" What it has called is done: pay.")
    assert ran == ["pay"]


@pytest.mark.parametrize("close", CLOSE)
async def test_what_code_has_done_is_told(close: Close) -> None:
    ran.clear()
    outer = ScriptedModel(call("run_code", code="await pay()\nawait ship()"), "Fine.", "Fine.")
    runner = Runner(Agent(name="a", model=outer, tools=[code_mode([repeated(), ship])]))
    assert (await runner.run("go", session_id="s")).status == "paused"
    await close(runner)
    assert (await read(runner)).endswith(" What it has called is done: pay.")
    assert ran == ["pay"]


async def approve_and_stop(runner: Runner) -> None:
    [asked] = await runner.pending("s")
    assert await runner.answer("s", asked.call_id, Approve()) == "accepted"
    await stop(runner)


@pytest.mark.parametrize("close", [*CLOSE, approve_and_stop])
async def test_an_earlier_try_of_a_call_inside_is_told(session: Session, close: Close) -> None:
    await session.interrupted(dying(idempotent=True))
    runner = session.runner(repeated(idempotent=True, require_confirmation=True))
    [asked] = (await runner.resume("s")).pending
    assert asked.interrupted
    await close(runner)
    told = " An earlier try of these was interrupted and may have taken effect: pay."
    assert (await read(runner)).endswith(told)
    ends = [event.result for event in await runner.events("s") if isinstance(event, ToolEnded)]
    inner = ends[0]
    assert (inner.name, inner.outcome_unknown, ran) == ("pay", True, ["pay"])
    assert inner.text.count("may have taken effect") == 1


@pytest.mark.parametrize("close", CLOSE)
async def test_an_outcome_inside_that_nobody_knows_is_told(session: Session, close: Close) -> None:
    await session.interrupted(dying())
    runner = session.runner(repeated(), ship, then=[turn("ship")])
    assert (await runner.resume("s")).status == "paused"
    await close(runner)
    told = " These may or may not have taken effect; check before you repeat them: pay."
    assert (await read(runner)).endswith(told)


@pytest.mark.parametrize("close", CLOSE)
async def test_an_outcome_inside_that_a_person_is_asked_for_is_told(
    session: Session, close: Close
) -> None:
    await session.interrupted(dying(on_unknown="ask"))
    runner = session.runner(repeated(on_unknown="ask"))
    assert (await runner.resume("s")).status == "paused"
    await close(runner)
    told = await read(runner)
    assert " These may or may not have taken effect; check before you repeat them" in told
    assert told.endswith(": pay.")
    asked = await runner.pending("s")
    assert ("A person is asked" in told) is bool(asked) is (close is not abandon)
    assert "till running" not in told
    for question in asked:
        assert await runner.answer("s", question.call_id, "It was paid.") == "accepted"
        assert "It was paid." in str([*(await runner.resume("s")).history])


@deferred_tool
async def order() -> None:
    """Order."""


async def _report() -> dict[str, str]:
    """Start a report."""
    return {"status": "pending"}


report = LongRunningFunctionTool(_report, name="report")


@pytest.mark.parametrize("close", CLOSE)
async def test_what_still_runs_inside_is_not_said_to_be_done(
    session: Session, close: Close
) -> None:
    runner = await session.begun(order, report, turns=[turn("report"), turn("order")])
    await close(runner)
    told = await read(runner)
    assert "done" not in told
    if close is abandon:
        assert "What these have set off may still take effect: order." in told
        assert told.endswith(" Still running, with updates to follow: report.")
    else:
        assert told.endswith(" Still running, with updates to follow: report, order.")


# -- an outcome that a person is asked for, with nothing around it ---------------------------


@pytest.fixture
async def asked_for_outcome() -> Runner:
    ran.clear()
    store = MemoryStore()
    first = Agent(name="a", model=ScriptedModel(turn("pay")), tools=[dying(on_unknown="ask")])
    with pytest.raises(KeyboardInterrupt):
        await Runner(first, store=store).run("go", session_id="s")
    model = ScriptedModel(*["Fine."] * 9)
    runner = Runner(Agent(name="a", model=model, tools=[repeated(on_unknown="ask")]), store=store)
    assert (await runner.resume("s")).status == "paused"
    return runner


@pytest.mark.parametrize("close", [message, stop])
async def test_a_message_instead_of_an_outcome_does_not_say_that_something_runs(
    asked_for_outcome: Runner, close: Close
) -> None:
    await close(asked_for_outcome)
    told = await read(asked_for_outcome)
    assert told == (
        "This call was interrupted and its outcome is unknown: it may or may not have taken effect. "
        "Check before you call it again. A person is asked for it; what they say will follow as an "
        "update."
    )
    [asked] = await asked_for_outcome.pending("s")
    assert await asked_for_outcome.answer("s", asked.call_id, "It was paid.") == "accepted"
    assert "It was paid." in str([*(await asked_for_outcome.resume("s")).history])
    assert ran == ["pay"]


async def test_a_session_that_is_given_up_says_that_the_outcome_is_unknown(
    asked_for_outcome: Runner,
) -> None:
    await abandon(asked_for_outcome)
    told = "This call was not answered: cancelled; it was interrupted and may or may not have taken effect."
    assert await read(asked_for_outcome) == told


@pytest.mark.parametrize("late", [False, True])
async def test_nobody_is_said_to_know_the_outcome_that_a_person_refuses_to_give(
    asked_for_outcome: Runner, late: bool
) -> None:
    [asked] = await asked_for_outcome.pending("s")
    if late:
        await message(asked_for_outcome)
    assert await asked_for_outcome.answer("s", asked.call_id, Reject(reason="No.")) == "accepted"
    result = await asked_for_outcome.resume("s")
    told = (
        "Nobody could say what this call came to: it was interrupted and may or may not have taken "
        "effect. Reason: No."
    )
    assert told in str([*result.history])
    assert "function ran" not in str([*result.history])
    [end] = [e.result for e in await asked_for_outcome.events("s") if isinstance(e, ToolEnded)]
    assert end.outcome_unknown


# -- deferred calls that died before their function returned -------------------------------


async def _order_and_die() -> None:
    """Pay."""
    raise KeyboardInterrupt


def dying_order(**settings: Any) -> Tool:
    made: Tool = deferred_tool(name="pay", **settings)(_order_and_die)
    return made


@pytest.mark.parametrize("close", CLOSE)
async def test_a_deferred_call_inside_of_unknown_outcome_is_not_said_to_run(
    session: Session, close: Close
) -> None:
    await session.interrupted(dying_order())
    runner = session.runner(dying_order(), ship, then=[turn("ship")])
    assert (await runner.resume("s")).status == "paused"
    await close(runner)
    told = " These may or may not have taken effect; check before you repeat them: pay."
    assert (await read(runner)).endswith(told)


async def test_an_outcome_that_nobody_gave_in_time_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = ScriptedModel(turn("pay"), *["Fine."] * 9)
    asking = dying_order(on_unknown="ask", timeout=100)
    runner = Runner(Agent(name="a", model=model, tools=[asking]))
    with pytest.raises(KeyboardInterrupt):
        await runner.run("go", session_id="s")
    [asked] = (await runner.resume("s")).pending
    assert asked.outcome
    late = (asked.deadline or 0) + 1
    monkeypatch.setattr("time.time", lambda: late)
    assert (await runner.resume("s")).status == "done"
    assert await read(runner) == (
        "Nobody answered in time; result expired; it was interrupted and may or may not have taken "
        "effect."
    )
