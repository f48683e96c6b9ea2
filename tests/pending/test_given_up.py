"""A session that is given up while it waits: answers count, and the model reads the truth of the rest."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    Result,
    Runner,
    deferred_tool,
    get_user_choice,
    tool,
)
from toolwright.errors import StoreError
from toolwright.messages import ToolEnded
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

paid: list[int] = []


@pytest.fixture(autouse=True)
def nothing_is_paid() -> None:
    paid.clear()


@deferred_tool()
async def order(n: int) -> None:
    """Order something."""


@tool(require_confirmation=True)
async def pay(n: int) -> str:
    """Pay."""
    paid.append(n)
    return f"paid {n}"


def runner_of(*script: Any, tools: Sequence[Any] = (order, pay)) -> Runner:
    return Runner(Agent(name="a", model=ScriptedModel(*script), tools=tools), store="memory://")


def read(result: Result) -> list[tuple[str, str]]:
    """What the model reads of its calls."""
    results = [r for m in result.history if m.kind == "tool" for r in m.results]
    return [(result.status, result.text) for result in results]


NO_RESULT = (
    "No result has come for this call: cancelled. Its function has run, and what it set off may still "
    "take effect. Check before you call it again."
)


async def test_a_result_that_was_accepted_is_read_by_the_model_when_the_session_goes_on() -> None:
    runner = runner_of([call("order", n=1), call("order", n=2)], "done")
    first, second = (await runner.run("go", session_id="s")).pending
    assert await runner.answer("s", first.call_id, "delivered") == "accepted"
    await runner.abandon("s")
    assert await runner.answer("s", second.call_id, "late") == "finished"
    assert await runner.pending("s") == []
    result = await runner.resume("s")
    assert (result.status, result.text) == ("done", "done")
    assert read(result) == [("ok", "delivered"), ("error", NO_RESULT)]


async def test_an_approval_that_was_accepted_counts_when_the_session_goes_on() -> None:
    runner = runner_of([call("pay", n=1), call("pay", n=2)], "done")
    first, _ = (await runner.run("go", session_id="s")).pending
    assert await runner.answer("s", first.call_id, Approve()) == "accepted"
    await runner.abandon("s")
    assert paid == []
    result = await runner.resume("s")
    assert paid == [1]
    assert read(result) == [
        ("ok", "paid 1"),
        ("error", "This call was not answered: cancelled; it was not run."),
    ]


async def test_a_function_that_was_stopped_at_its_question_is_not_said_to_have_been_left_out() -> (
    None
):
    asked = call("get_user_choice", options=["a", "b"])
    runner = runner_of(asked, "done", tools=[get_user_choice])
    await runner.run("go", session_id="s")
    await runner.abandon("s")
    [(status, text)] = read(await runner.resume("s"))
    assert (status, text) == (
        "error",
        "This call was not answered: cancelled; it was stopped at its question.",
    )


async def test_answers_inside_a_sub_agent_count_and_its_other_questions_are_closed() -> None:
    inner = Agent(
        name="inner",
        description="Buys.",
        model=ScriptedModel([call("order", n=1), call("pay", n=2)], "inner done"),
        tools=[order, pay],
    )
    runner = runner_of(call("inner", request="go"), "done", tools=[AgentTool(inner)])
    first, _ = (await runner.run("go", session_id="s")).pending
    assert await runner.answer("s", first.call_id, "delivered") == "accepted"
    await runner.abandon("s")
    assert await runner.pending("s") == []
    result = await runner.resume("s")
    assert read(result) == [("ok", "inner done")]
    ended = [e.result.text for e in await runner.events("s") if isinstance(e, ToolEnded)]
    assert ended == [
        "This call was not answered: cancelled; it was not run.",
        "delivered",
        "inner done",
    ]


async def test_what_a_stopped_sub_agent_has_done_and_set_off_is_told() -> None:
    @tool
    async def note() -> str:
        """Write down."""
        return "noted"

    turns = ([call("note")], [call("order", n=1)])
    inner = Agent(
        name="inner", description="Buys.", model=ScriptedModel(*turns), tools=[order, note]
    )
    runner = runner_of(call("inner", request="go"), "done", tools=[AgentTool(inner)])
    await runner.run("go", session_id="s")
    await runner.abandon("s")
    assert read(await runner.resume("s")) == [
        (
            "error",
            "This call was stopped: cancelled. What it has called is done: note. "
            "What these have set off may still take effect: order.",
        )
    ]


async def test_a_call_that_a_crash_interrupted_is_of_unknown_outcome_and_not_repeated() -> None:
    @tool
    async def send() -> str:
        """Send."""
        paid.append(1)
        raise StoreError("the process died here")

    runner = runner_of([call("send"), call("order", n=1)], "done", tools=[send, order])
    with pytest.raises(StoreError):
        await runner.run("go", session_id="s")
    await runner.abandon("s")
    (_, sent), ordered = read(await runner.resume("s"))
    assert "outcome is unknown" in sent
    assert ordered == ("error", NO_RESULT)
    assert paid == [1]


async def test_an_answer_that_a_cancelled_sub_agent_has_not_used_is_used_when_it_goes_on() -> None:
    hanging = anyio.Event()

    @tool(require_confirmation=True, sequential=True)
    async def hang() -> str:
        """Never ends by itself."""
        hanging.set()
        await anyio.sleep_forever()
        return ""

    turn = [call("hang"), call("order", n=1)]
    model = ScriptedModel(turn, "It came.")
    inner = Agent(name="inner", description="Buys.", model=model, tools=[order, hang])
    runner = runner_of(call("inner", request="go"), "done", tools=[AgentTool(inner)])
    for pending in (await runner.run("go", session_id="s")).pending:
        answer = Approve() if pending.kind == "confirmation" else "delivered"
        assert await runner.answer("s", pending.call_id, answer) == "accepted"
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(runner.resume, "s")
            await hanging.wait()
            assert runner.cancel("s")
    result = await runner.resume("s")
    assert (result.text, read(result)) == ("done", [("ok", "It came.")])
    hung, ordered = [
        r.text for m in model.requests[-1].history if m.kind == "tool" for r in m.results
    ]
    assert ("outcome is unknown" in hung, ordered) == (True, "delivered")
