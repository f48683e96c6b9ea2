"""A person stops a run: what they approved before that runs when they go on, not with their next message."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    Reject,
    Result,
    Runner,
    SequentialAgent,
    Tool,
    ToolContext,
    deferred_tool,
    tool,
)
from toolwright.messages import StateChanged, ToolEnded
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

paid: list[int] = []
STOPPED = "The user stopped the run and sent a new message instead"
NOT_RUN = f"{STOPPED}; it was not run."


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


@tool
async def survey(tool_context: ToolContext) -> str:
    """Ask, then write down what was said."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Sure?")
        return ""
    paid.append(0)
    return "written down"


def runner_of(*script: Any, tools: Sequence[Any] = (order, pay, survey)) -> Runner:
    return Runner(Agent(name="a", model=ScriptedModel(*script), tools=tools), store="memory://")


def read(result: Result) -> list[tuple[str, str]]:
    """What the model reads of its calls."""
    results = [r for m in result.history if m.kind == "tool" for r in m.results]
    return [(result.status, result.text) for result in results]


async def stopped(runner: Runner, *answers: Any) -> None:
    """Run to the questions, answer the first ones, stop."""
    waiting = (await runner.run("go", session_id="s")).pending
    for pending, answer in zip(waiting, answers, strict=False):
        assert await runner.answer("s", pending.call_id, answer) == "accepted"
    await runner.abandon("s", keep_open=True)


async def test_a_call_that_was_approved_before_the_stop_is_closed_by_the_next_message() -> None:
    runner = runner_of([call("pay", n=1), call("pay", n=2)], "fine")
    await stopped(runner, Approve())
    assert [pending.arguments["n"] for pending in await runner.pending("s")] == [2]
    result = await runner.run("Forget it.", session_id="s")
    assert paid == []
    assert read(result) == [
        ("error", NOT_RUN),
        ("error", "The user sent a new message instead of answering; it was not run."),
    ]
    assert await runner.pending("s") == []


async def test_a_call_that_was_approved_after_the_stop_is_closed_by_the_next_message() -> None:
    runner = runner_of(call("pay", n=1), "fine")
    await stopped(runner)
    [pending] = await runner.pending("s")
    assert await runner.answer("s", pending.call_id, Approve()) == "accepted"
    result = await runner.run("Forget it.", session_id="s")
    assert (paid, read(result)) == ([], [("error", NOT_RUN)])


async def test_resuming_a_stopped_session_uses_the_yes() -> None:
    runner = runner_of(call("pay", n=1), "fine")
    await stopped(runner, Approve())
    result = await runner.resume("s")
    assert (paid, read(result)) == ([1], [("ok", "paid 1")])


async def test_an_approval_beside_a_call_that_is_stopped_as_it_runs_is_not_used_by_a_message() -> (
    None
):
    started = anyio.Event()

    @tool
    async def slow() -> str:
        """Take long."""
        started.set()
        await anyio.sleep_forever()
        return ""

    runner = runner_of([call("slow"), call("pay", n=1)], "fine", tools=[slow, pay])
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: runner.run("go", session_id="s"))
            await started.wait()
            while not (waiting := await runner.pending("s")):
                await anyio.lowlevel.checkpoint()
            assert await runner.answer("s", waiting[0].call_id, Approve()) == "accepted"
            assert await runner.cancel_for_good("s")
    result = await runner.run("Forget it.", session_id="s")
    assert paid == []
    assert [text for _, text in read(result)][1] == NOT_RUN


async def test_inside_an_agent_that_was_stopped_nothing_runs_with_the_next_message() -> None:
    inner = Agent(
        name="inner",
        description="Pays.",
        model=ScriptedModel(call("pay", n=1), "inner done"),
        tools=[pay],
    )
    runner = runner_of(call("inner", request="go"), "fine", tools=[AgentTool(inner)])
    await stopped(runner, Approve())
    result = await runner.run("Forget it.", session_id="s")
    assert paid == []
    assert read(result) == [("error", f"{STOPPED}; it was stopped.")]


@tool
async def mark(n: int) -> str:
    """Mark something."""
    paid.append(n)
    return f"marked {n}"


@pytest.fixture
def started() -> anyio.Event:
    return anyio.Event()


@pytest.fixture
def slow(started: anyio.Event) -> Tool:
    @tool
    async def slow() -> str:
        """Take long."""
        started.set()
        await anyio.sleep_forever()
        return ""

    return slow


async def stop_as_it_runs(runner: Runner, started: anyio.Event) -> None:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: runner.run("go", session_id="s"))
            await started.wait()
            assert await runner.cancel_for_good("s")


async def test_an_agent_that_was_stopped_as_it_ran_does_not_go_on_before_the_message_is_read(
    slow: Tool, started: anyio.Event
) -> None:
    model = ScriptedModel(call("mark", n=1), call("slow"), call("mark", n=2), "inner done")
    inner = Agent(name="inner", description="Marks.", model=model, tools=[mark, slow])
    runner = runner_of(call("inner", request="go"), "fine", tools=[AgentTool(inner)])
    await stop_as_it_runs(runner, started)
    result = await runner.run("Forget it.", session_id="s")
    assert (paid, len(model.requests), result.text) == ([1], 2, "fine")
    told = (
        f"{STOPPED}; it was stopped. What it has called is done: mark. What it was at may or may "
        "not have taken effect; check before you repeat it."
    )
    assert read(result) == [("error", told)]
    ends = [event.result for event in result.events if isinstance(event, ToolEnded)]
    assert [(end.name, end.outcome_unknown) for end in ends] == [("slow", True), ("inner", None)]


async def test_an_agent_that_was_stopped_as_it_ran_goes_on_when_it_is_resumed(
    slow: Tool, started: anyio.Event
) -> None:
    model = ScriptedModel(call("slow"), call("mark", n=2), "inner done")
    inner = Agent(name="inner", description="Marks.", model=model, tools=[mark, slow])
    runner = runner_of(call("inner", request="go"), "fine", tools=[AgentTool(inner)])
    await stop_as_it_runs(runner, started)
    assert read(await runner.resume("s")) == [("ok", "inner done")]
    assert paid == [2]


async def test_a_result_inside_an_agent_that_was_stopped_is_told_as_an_update() -> None:
    model = ScriptedModel(call("order", n=1), "inner done")
    inner = Agent(name="inner", description="Orders.", model=model, tools=[order])
    runner = runner_of(call("inner", request="go"), "fine", tools=[AgentTool(inner)])
    await stopped(runner, "delivered")
    result = await runner.run("Forget it.", session_id="s")
    assert len(model.requests) == 1
    assert read(result) == [("error", f"{STOPPED}; it was stopped.")]
    said = [m.text for m in result.history if m.kind == "user"]
    assert any(text.endswith("delivered") for text in said), said


def steps(*scripts: ScriptedModel, tools: Sequence[Any]) -> Runner:
    agents = [Agent(name=f"s{n}", model=model, tools=tools) for n, model in enumerate(scripts)]
    return Runner(SequentialAgent(name="flow", sub_agents=agents), store="memory://")


async def test_a_round_that_was_stopped_as_it_ran_is_not_finished_before_the_message_is_read(
    slow: Tool, started: anyio.Event
) -> None:
    first = ScriptedModel(call("slow"), "one")
    second = ScriptedModel(call("mark", n=2), "two")
    runner = steps(first, second, tools=[slow, mark])
    await stop_as_it_runs(runner, started)
    result = await runner.run("Forget it.", session_id="s")
    assert result.status == "done"
    asked = [request.history[0] for request in (*first.requests[1:], *second.requests)]
    assert all("Forget it." in getattr(message, "text", "") for message in asked), asked
    # Nor later, by whatever goes on with the session.
    before = len(first.requests)
    await runner.resume("s")
    assert len(first.requests) == before


async def test_a_round_that_was_stopped_as_it_ran_is_finished_when_it_is_resumed(
    slow: Tool, started: anyio.Event
) -> None:
    runner = steps(
        ScriptedModel(call("slow"), "one"), ScriptedModel(call("mark", n=2), "two"),
        tools=[slow, mark],
    )  # fmt: skip
    await stop_as_it_runs(runner, started)
    assert (await runner.resume("s")).text == "two"
    assert paid == [2]


@pytest.mark.parametrize("answers", [[], ["delivered"]], ids=["open", "answered"])
async def test_a_round_that_was_stopped_waits_for_no_result(answers: list[str]) -> None:
    first = ScriptedModel(call("order", n=1), "one", "more than was asked for")
    runner = steps(first, ScriptedModel("two", "more than was asked for"), tools=[order])
    await stopped(runner, *answers)
    result = await runner.run("Forget it.", session_id="s")
    assert (result.text, len(first.requests)) == ("two", 2)
    assert await runner.pending("s") == []
    ends = [event.result.text for event in result.events if isinstance(event, ToolEnded)]
    assert [STOPPED in end for end in ends] == [True]


async def test_the_step_of_a_workflow_that_was_stopped_does_not_run_with_the_next_message() -> None:
    model = ScriptedModel(call("pay", n=1), "fine", "more than was asked for")
    step = Agent(name="step", model=model, tools=[pay])
    flow = SequentialAgent(name="flow", sub_agents=[step])
    runner = Runner(flow, store="memory://")
    await stopped(runner, Approve())
    result = await runner.run("Forget it.", session_id="s")
    assert paid == []
    # The round that was stopped is not finished first.
    assert (result.text, len(model.requests)) == ("fine", 2)


async def test_a_function_that_would_go_on_with_an_answer_does_not_after_a_stop() -> None:
    runner = runner_of(call("survey"), "fine")
    await stopped(runner, Approve())
    result = await runner.run("Forget it.", session_id="s")
    assert paid == []
    assert read(result) == [
        (
            "error",
            "The user stopped the run and sent a new message instead; it was stopped at its question.",
        )
    ]


async def test_a_result_and_a_no_are_read_by_the_model_after_a_stop_too() -> None:
    runner = runner_of([call("order", n=1), call("pay", n=2)], "fine")
    await stopped(runner, "delivered", Reject(reason="too dear"))
    result = await runner.run("Go on with something else.", session_id="s")
    assert read(result) == [
        ("ok", "delivered"),
        ("denied", "A person rejected this call; it was not run. Reason: too dear"),
    ]


async def test_what_was_approved_before_a_server_was_shut_down_still_runs_first() -> None:
    runner = runner_of(call("pay", n=1), "fine")
    await stopped(runner, Approve())
    row = await runner.store.find(runner.app_name, "s")
    assert row is not None
    mark = StateChanged(seq=row.last_seq + 1, at=1.0, delta={})
    await runner.store.append(row.scope, [mark])
    await runner.run("Are you there?", session_id="s")
    assert paid == [1]


async def test_a_run_that_went_on_after_the_stop_is_stopped_no_more() -> None:
    runner = runner_of([call("pay", n=1), call("pay", n=2)], "fine")
    await stopped(runner)
    waiting = (await runner.resume("s")).pending
    assert await runner.answer("s", waiting[0].call_id, Approve()) == "accepted"
    await runner.run("Only that one.", session_id="s")
    assert paid == [1]
