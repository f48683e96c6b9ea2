"""Results that come late for a workflow: whoever made the call reads them, and its round is finished."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from toolwright import Agent, LongRunningFunctionTool, Runner, deferred_tool, tool
from toolwright.agent import (
    AgentTool,
    BaseAgent,
    LoopAgent,
    ParallelAgent,
    SequentialAgent,
    Workflow,
    exit_loop,
)
from toolwright.messages import PendingRequest, ToolMessage, UserMessage
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Output

pytestmark = pytest.mark.anyio


@deferred_tool()
def order(item: str) -> None:
    """Order something; the shop calls back."""


@tool(require_confirmation=True)
def wipe() -> str:
    """Wipe the disk."""
    return "wiped"


def buyer(*script: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(*script)
    return Agent(name="buyer", description="b", model=model, tools=[order, wipe]), model


def in_sequence(agent: Agent) -> BaseAgent:
    return SequentialAgent(name="w", sub_agents=[agent])


def side_by_side(agent: Agent) -> BaseAgent:
    return ParallelAgent(name="w", sub_agents=[agent])


def in_a_loop(agent: Agent) -> BaseAgent:
    return LoopAgent(name="w", sub_agents=[agent], max_iterations=1)


def in_a_graph(agent: Agent) -> BaseAgent:
    return Workflow(name="w", nodes={"buy": agent}, edges=[("start", "buy")])


def nested(agent: Agent) -> BaseAgent:
    return SequentialAgent(name="outer", sub_agents=[in_sequence(agent)])


def read(request: ModelRequest) -> str:
    """All that a model was sent, but for its own words."""
    texts = [m.text for m in request.history if isinstance(m, UserMessage)]
    texts += [r.text for m in request.history if isinstance(m, ToolMessage) for r in m.results]
    return "\n".join(texts)


SHAPES = pytest.mark.parametrize(
    "shape", [in_sequence, side_by_side, in_a_loop, in_a_graph, nested], ids=lambda f: f.__name__
)


@SHAPES
async def test_a_late_result_reaches_the_agent_that_asked_for_it(
    shape: Callable[[Agent], BaseAgent],
) -> None:
    agent, model = buyer(call("order", item="lamp"), "Hello to you.", "The lamp came.")
    runner = Runner(shape(agent))
    await runner.run("buy a lamp", session_id="s")
    assert "Hello to you." in (await runner.run("hello", session_id="s")).text
    [open_call] = await runner.pending("s")
    assert not open_call.blocking
    assert await runner.answer("s", open_call.call_id, "lamp delivered") == "accepted"
    assert "The lamp came." in (await runner.resume("s")).text
    assert "lamp delivered" in read(model.requests[-1])
    assert "hello" not in read(model.requests[-1])
    assert await runner.pending("s") == []
    again = await runner.resume("s")
    assert (again.status, len(model.requests)) == ("done", 3)


@SHAPES
async def test_an_accepted_result_is_used_before_the_next_message(
    shape: Callable[[Agent], BaseAgent],
) -> None:
    agent, model = buyer(call("order", item="lamp"), "The lamp came.", "Hello to you.")
    runner = Runner(shape(agent))
    paused = await runner.run("buy a lamp", session_id="s")
    assert await runner.answer("s", paused.pending[0].call_id, "delivered") == "accepted"
    assert "Hello to you." in (await runner.run("hello", session_id="s")).text
    assert "delivered" in read(model.requests[1])


async def test_the_steps_after_the_one_that_waited_run_when_its_result_has_come() -> None:
    agent, _ = buyer(call("order", item="lamp"), "Hello to you.", "A lamp.")
    writer = ScriptedModel("Greetings.", "We bought a lamp.")
    steps = [agent, Agent(name="writer", model=writer)]
    runner = Runner(SequentialAgent(name="w", sub_agents=steps))
    paused = await runner.run("buy a lamp", session_id="s")
    await runner.run("hello", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, "delivered")
    assert (await runner.resume("s")).text == "We bought a lamp."
    assert read(writer.requests[1]).startswith("buy a lamp")


async def test_a_node_that_waited_hands_its_late_result_to_the_next_node() -> None:
    def loud(text: str) -> str:
        """Make it loud."""
        return text.upper()

    @deferred_tool()
    def fetch(text: str) -> None:
        """Fetch it; only the first time does it take long."""

    flow = Workflow(
        name="w",
        nodes={"fetch": fetch, "loud": loud},
        edges=[("start", "fetch"), ("fetch", "loud")],
    )
    runner = Runner(flow)
    first = await runner.run("one", session_id="s")
    second = await runner.run("two", session_id="s")
    assert second.status == "paused"
    assert await runner.answer("s", first.pending[0].call_id, "late") == "accepted"
    assert (await runner.resume("s")).status == "paused"
    state = await runner.state("s")
    assert state["loud"] == "LATE"
    [left] = await runner.pending("s")
    await runner.answer("s", left.call_id, "second")
    assert (await runner.resume("s")).text == "SECOND"


@SHAPES
async def test_a_question_to_a_person_who_wrote_instead_is_closed(
    shape: Callable[[Agent], BaseAgent],
) -> None:
    agent, _ = buyer(call("wipe"), "Hello to you.")
    runner = Runner(shape(agent))
    paused = await runner.run("wipe it", session_id="s")
    await runner.run("hello", session_id="s")
    assert await runner.pending("s") == []
    assert await runner.answer("s", paused.pending[0].call_id, True) == "finished"


async def test_of_two_calls_that_waited_the_model_reads_what_became_of_both() -> None:
    agent, model = buyer([call("wipe"), call("order", item="x")], "Hello.", "Only the order.")
    runner = Runner(in_sequence(agent))
    paused = await runner.run("both", session_id="s")
    await runner.run("hello", session_id="s")
    await runner.answer("s", paused.pending[1].call_id, "came")
    assert (await runner.resume("s")).text == "Only the order."
    assert "was not run" in read(model.requests[-1])
    assert "came" in read(model.requests[-1])


async def test_a_result_for_a_call_inside_a_step_s_own_sub_agent_is_delivered() -> None:
    agent, inner = buyer(call("order", item="lamp"), "The lamp came.")
    outer = ScriptedModel(call("buyer", request="buy"), "Hello.", "All is bought.")
    step = Agent(name="step", model=outer, tools=[AgentTool(agent)])
    runner = Runner(in_sequence(step))
    paused = await runner.run("buy a lamp", session_id="s")
    await runner.run("hello", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, "delivered")
    assert (await runner.resume("s")).text == "All is bought."
    assert "delivered" in read(inner.requests[-1])


async def test_a_workflow_inside_a_call_leaves_its_late_result_to_the_agent_that_called_it() -> (
    None
):
    agent, _ = buyer(call("order", item="lamp"))
    model = ScriptedModel(call("w", request="buy"), "Hello.", "It came.")
    runner = Runner(Agent(name="top", model=model, tools=[AgentTool(in_sequence(agent))]))
    paused = await runner.run("buy a lamp", session_id="s")
    await runner.run("hello", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, "delivered")
    assert (await runner.resume("s")).text == "It came."
    assert "delivered" in read(model.requests[-1])


@SHAPES
async def test_the_outcome_of_a_long_running_call_is_told_to_the_step_that_made_it(
    shape: Callable[[Agent], BaseAgent],
) -> None:
    def print_it() -> dict[str, str]:
        """Print it."""
        return {"status": "pending"}

    model = ScriptedModel(call("print_it"), "It prints.", "It is printed.")
    agent = Agent(name="printer", model=model, tools=[LongRunningFunctionTool(print_it)])
    runner = Runner(shape(agent))
    await runner.run("print", session_id="s")
    [open_call] = await runner.pending("s")
    assert await runner.answer("s", open_call.call_id, "out of the printer") == "accepted"
    assert (await runner.resume("s")).status == "done"
    assert "out of the printer" in read(model.requests[-1])
    await runner.resume("s")
    assert len(model.requests) == 3


async def test_a_late_result_is_used_in_another_process_after_the_first_one_failed() -> None:
    class Fails(RuntimeError):
        pass

    fail = True

    def script(request: ModelRequest) -> str:
        if fail:
            raise Fails("the process dies")
        return "The lamp came."

    agent, model = buyer(call("order", item="lamp"), "Hello.", script, script)
    runner = Runner(in_sequence(agent))
    paused = await runner.run("buy a lamp", session_id="s")
    await runner.run("hello", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, "delivered")
    with pytest.raises(Fails):
        await runner.resume("s")
    fail = False
    other = Runner(runner.agent, store=runner.store)
    assert (await other.resume("s")).text == "The lamp came."
    assert "delivered" in read(model.requests[-1])


async def test_a_loop_that_was_left_late_stays_left() -> None:
    model = ScriptedModel(
        call("order", item="x"), call("exit_loop"), call("exit_loop"), "never asked"
    )
    agent = Agent(name="a", model=model, tools=[order, exit_loop])
    runner = Runner(LoopAgent(name="w", sub_agents=[agent]))
    paused = await runner.run("go", session_id="s")
    await runner.run("hello", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, "came")
    assert (await runner.resume("s")).status == "done"
    assert len(model.requests) == 3


@SHAPES
async def test_that_an_outcome_can_come_no_more_is_told_in_the_run_in_which_its_time_passes(
    shape: Callable[[Agent], BaseAgent], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()

    @tool
    def ship() -> Output:
        """Send a parcel; the carrier says when it has come."""
        later = PendingRequest(kind="result", timeout=600, blocking=False)
        return Output(text="On its way.", request=later)

    @tool
    def wait() -> str:
        """Wait for half an hour."""
        monkeypatch.setattr(time, "time", lambda: now + 1800)
        return "waited"

    model = ScriptedModel(call("ship"), call("wait"), "Sent.", "Lost.")
    agent = Agent(name="buyer", description="b", model=model, tools=[ship, wait])
    runner = Runner(shape(agent))
    assert (await runner.run("go", session_id="s")).status == "done"
    assert "no outcome came in time" not in read(model.requests[2])
    assert "no outcome came in time" in read(model.requests[-1])
    assert len(model.requests) == 4
