"""A budget belongs to the session: limits count over all its runs, resumed ones included."""

from dataclasses import replace
from typing import Any

import pytest

from toolwright import Agent, AgentTool, Limits, Result, Runner, deferred_tool, tool
from toolwright.agent import SequentialAgent, Workflow
from toolwright.backends import MemoryStore
from toolwright.messages import (
    Event,
    ModelMessage,
    ModelReplied,
    RunEnded,
    RunStarted,
    Scope,
    TextPart,
    ToolCall,
    Usage,
    user_message,
)
from toolwright.models import ModelRequest, OnDelta
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
SCOPE = Scope(app_name="app", user_id="user", session_id="s")


class Spendthrift:
    """Calls the same tool for ever, at a price."""

    name = "test:spendthrift"

    def __init__(self, tool: str, *, cost: float = 0.9, arguments: str = "{}") -> None:
        self.asked = 0
        self._tool, self._cost, self._arguments = tool, cost, arguments

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        self.asked += 1
        part = ToolCall(call_id=f"c{self.asked}", name=self._tool, arguments=self._arguments)
        usage = Usage(input_tokens=80, output_tokens=20, cost=self._cost, requests=1)
        return ModelMessage(parts=(TextPart("."), part), usage=usage)


@tool(effects="read")
def look() -> str:
    """Look."""
    return "."


@deferred_tool()
def wait() -> str:
    """Something that takes a while elsewhere."""
    return "begun"


async def answered_for_ever(runner: Runner, rounds: int = 20) -> Result:
    """Answer whatever waits, from a new process each time, until the run ends."""
    result = await runner.run("go", session_id="s")
    for _ in range(rounds):
        if result.status != "paused":
            break
        await runner.answer("s", result.pending[0].call_id, "done")
        result = await Runner(runner.agent, store=runner.store).resume("s")
    return result


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        (Limits(cost=2.0), 3),
        (Limits(turns=4), 4),
        (Limits(tokens=500), 5),
        (Limits(tool_calls=2), 3),
    ],
)
async def test_a_limit_holds_over_all_the_runs_of_a_session(limits: Limits, most: int) -> None:
    model = Spendthrift("wait")
    agent = Agent(name="a", model=model, tools=[wait], limits=limits)
    ended = await answered_for_ever(Runner(agent))
    assert (ended.status, model.asked) == ("stopped", most)
    assert "limit of" in ended.reason


async def test_a_new_message_does_not_refill_the_budget() -> None:
    model = Spendthrift("look")
    runner = Runner(Agent(name="a", model=model, tools=[look], limits=Limits(turns=3)))
    first = await runner.run("go", session_id="s")
    again = await runner.run("go on", session_id="s")
    assert (first.status, again.status, model.asked) == ("stopped", "stopped", 3)


@pytest.mark.parametrize("limits", [Limits(turns=3), Limits(tool_calls=2), Limits(cost=2.5)])
async def test_a_new_message_does_not_refill_the_budget_of_a_workflows_step(limits: Limits) -> None:
    model = Spendthrift("look")
    step = Agent(name="a", model=model, tools=[look], limits=limits)
    runner = Runner(SequentialAgent(name="w", sub_agents=[step]))
    for message in ("go", "go on", "and on"):
        ended = await runner.run(message, session_id="s")
        assert (ended.status, "limit of" in ended.reason, model.asked) == ("stopped", True, 3)


async def test_a_message_within_the_run_does_not_refill_the_budget_of_a_step_either() -> None:
    async def write(text: str) -> str:
        """Send the session another message."""
        if text == "one":
            await runner.steer("s", "go on")
        return text

    model = ScriptedModel(call("look"), "one", call("look"), "two")
    step = Agent(name="a", model=model, tools=[look], limits=Limits(turns=3))
    edges = [("start", "a"), ("a", "write")]
    runner = Runner(Workflow(name="w", nodes={"a": step, "write": write}, edges=edges))
    ended = await runner.run("go", session_id="s")
    assert (ended.status, len(model.requests)) == ("stopped", 3)


@pytest.mark.parametrize(("seconds", "status"), [(59.0, "stopped"), (65.0, "done")])
async def test_the_time_of_a_workflows_step_counts_over_messages_and_its_waiting_does_not(
    seconds: float, status: str
) -> None:
    said = ModelMessage(parts=(TextPart("."),))
    store = MemoryStore()
    await store.open(SCOPE)
    before: list[Event] = [
        RunStarted(message=user_message("go"), at=1000.0),
        RunStarted(path="a", message=user_message("go"), at=1100.0),
        ModelReplied(path="a", message=said, at=1120.0),
        RunEnded(path="a", status="paused", at=1130.0),
        RunEnded(status="paused", at=1200.0),
        RunStarted(at=9000.0),
        ModelReplied(path="a", message=said, at=9010.0),
        RunEnded(path="a", status="done", at=9040.0),
        RunEnded(status="done", at=9100.0),
    ]
    await store.append(SCOPE, [replace(event, seq=n) for n, event in enumerate(before, 1)])
    step = Agent(name="a", model=ScriptedModel("."), limits=Limits(seconds=seconds))
    runner = Runner(SequentialAgent(name="w", sub_agents=[step]), store=store)
    assert (await runner.run("more", session_id="s")).status == status


async def test_a_used_up_budget_of_calls_costs_no_further_turn() -> None:
    model = Spendthrift("look")
    runner = Runner(Agent(name="a", model=model, tools=[look], limits=Limits(tool_calls=2)))
    await runner.run("go", session_id="s")
    assert model.asked == 3
    for _ in range(2):
        ended = await runner.resume("s")
        assert (ended.status, "limit of 2 tool_calls" in ended.reason) == ("stopped", True)
    assert model.asked == 3


async def test_a_call_of_a_tool_that_is_not_there_counts_in_this_run_and_in_the_next() -> None:
    model = Spendthrift("nothing")
    runner = Runner(Agent(name="a", model=model, tools=[look], limits=Limits(tool_calls=2)))
    for _ in range(2):
        ended = await runner.run("go", session_id="s")
        assert (ended.status, model.asked) == ("stopped", 3)


async def test_the_guard_against_endless_loops_counts_in_each_run_alone() -> None:
    model = Spendthrift("look")
    limits = Limits(turns_per_run=2)
    runner = Runner(Agent(name="a", model=model, tools=[look], limits=limits))
    for message in ("go", "go on"):
        assert "turns_per_run" in (await runner.run(message, session_id="s")).reason
    assert model.asked == 4


async def test_an_inner_agents_own_limit_holds_over_resumes_too() -> None:
    inner = Spendthrift("wait")
    sub = Agent(name="sub", description="s", model=inner, tools=[wait], limits=Limits(turns=3))
    outer = Spendthrift("sub", arguments='{"request": "x"}')
    agent = Agent(name="top", model=outer, tools=[AgentTool(sub)], limits=Limits(turns=50))
    runner = Runner(agent)
    result: Any = await runner.run("go", session_id="s")
    for _ in range(3):
        await runner.answer("s", result.pending[0].call_id, "done")
        result = await Runner(agent, store=runner.store).resume("s")
    ends = [r.text for m in result.history if m.kind == "tool" for r in m.results]
    assert "limit of 3 turns" in ends[0]
    assert inner.asked == 3 + 1, "another call of the agent begins with a budget of its own"


async def test_a_result_says_what_its_own_run_has_used() -> None:
    model = Spendthrift("wait", cost=1.0)
    runner = Runner(Agent(name="a", model=model, tools=[wait]))
    paused = await runner.run("go", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, "done")
    again = await runner.resume("s")
    assert (paused.usage.cost, again.usage.cost) == (1.0, 1.0)


async def test_a_call_that_is_run_again_after_an_approval_counts_once() -> None:
    model = Spendthrift("pay")

    @tool(require_confirmation=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    limits = Limits(tool_calls=2)
    runner = Runner(Agent(name="a", model=model, tools=[pay], limits=limits))
    result = await runner.run("go", session_id="s")
    for _ in range(2):
        assert result.status == "paused"
        await runner.answer("s", result.pending[0].call_id, True)
        result = await Runner(runner.agent, store=runner.store).resume("s")
    assert (result.status, model.asked) == ("stopped", 3)
