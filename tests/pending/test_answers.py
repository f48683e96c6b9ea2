"""Answers from outside: once, in time, from anywhere, in any order."""

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import (
    Agent,
    Approve,
    FunctionTool,
    Result,
    Runner,
    ToolContext,
    deferred_tool,
    tool,
)
from toolwright.errors import UsageError
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_has_run() -> None:
    ran.clear()


@tool
def quick(name: str) -> str:
    """Answer at once."""
    ran.append(name)
    return f"{name} done"


@deferred_tool()
def order(item: str) -> None:
    """Order something; the shop calls back."""
    ran.append(item)


@deferred_tool(timeout=0.05)
def impatient() -> None:
    """Wait for a moment only."""


def runner_with(
    *script: Any, store: str = "memory://", tools: Any = (quick, order, impatient)
) -> Runner:
    return Runner(Agent(name="shop", model=ScriptedModel(*script), tools=tools), store=store)


def texts(result: Result) -> list[str]:
    return [r.text for m in result.history if m.kind == "tool" for r in m.results]


async def test_siblings_that_finished_keep_their_results_while_one_waits() -> None:
    runner = runner_with([call("quick", name="a"), call("order", item="lamp")], "Thanks.")
    paused = await runner.run("go", session_id="s")
    model = runner.agent.model  # type: ignore[attr-defined]
    assert (await runner.resume("s")).status == "paused"
    assert len(model.requests) == 1

    await runner.answer("s", paused.pending[0].call_id, {"sent": True})
    done = await runner.resume("s")

    assert texts(done) == ["a done", '{"sent":true}']
    assert sorted(ran) == ["a", "lamp"]


async def test_an_answer_says_what_became_of_it() -> None:
    runner = runner_with(call("order", item="lamp"), "Thanks.")
    paused = await runner.run("go", session_id="s")
    call_id = paused.pending[0].call_id

    assert await runner.answer("s", "no-such-call", 1) == "unknown"
    assert await runner.answer("no-such-session", call_id, 1) == "unknown"
    assert await runner.answer("s", call_id, "first") == "accepted"
    assert await runner.answer("s", call_id, "second") == "duplicate"
    assert texts(await runner.resume("s")) == ["first"]
    assert await runner.answer("s", call_id, "third") == "duplicate"


async def test_of_many_answers_at_once_exactly_one_is_accepted(tmp_path: Path) -> None:
    runner = runner_with(call("order", item="lamp"), "Ok.", store=f"sqlite:///{tmp_path}/s.db")
    paused = await runner.run("go", session_id="s")
    said: list[str] = []

    async def answer(number: int) -> None:
        said.append(await runner.answer("s", paused.pending[0].call_id, number))

    async with anyio.create_task_group() as group:
        for number in range(8):
            group.start_soon(answer, number)

    assert sorted(said) == ["accepted"] + ["duplicate"] * 7
    await runner.close()


async def test_an_answer_may_come_before_the_run_has_parked() -> None:
    async def callback(tool_context: ToolContext) -> None:
        """Set something off that is quicker than we are."""
        said = await runner.answer("s", tool_context.function_call_id, "already there")
        ran.append(said)

    runner = runner_with(call("callback"), "So quick.", tools=[deferred_tool()(callback)])
    result = await runner.run("go", session_id="s")

    assert ran == ["accepted"]
    assert (result.status, result.text) == ("done", "So quick.")
    assert texts(result) == ["already there"]


@pytest.mark.row("003-N16")
async def test_answers_come_from_another_process_in_any_order(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    calls = [call("order", item="lamp"), call("order", item="desk")]
    here = runner_with(calls, store=store)
    paused = await here.run("go", session_id="s")
    await here.close()
    lamp, desk = paused.pending

    there = runner_with("Both came.", store=store)
    assert [p.call_id for p in await there.pending("s")] == [lamp.call_id, desk.call_id]
    await there.answer("s", desk.call_id, "desk here")
    assert (await there.resume("s")).status == "paused"
    await there.answer("s", lamp.call_id, "lamp here")
    done = await there.resume("s")

    assert texts(done) == ["lamp here", "desk here"]
    assert sorted(ran) == ["desk", "lamp"]
    await there.close()


@pytest.mark.row("003-N12")
async def test_a_deadline_that_passes_tells_the_model() -> None:
    runner = runner_with(call("impatient"), "Nobody came.")
    paused = await runner.run("go", session_id="s")
    deadline = paused.pending[0].deadline
    assert deadline is not None
    await anyio.sleep(max(0, deadline - time.time()))

    assert await runner.answer("s", paused.pending[0].call_id, "late") == "expired"
    done = await runner.resume("s")

    assert done.text == "Nobody came."
    assert "in time" in texts(done)[0]


async def test_a_deferred_call_stays_open_when_the_person_writes_and_its_late_result_is_delivered() -> (
    None
):
    runner = runner_with(call("order", item="lamp"), "It is on its way.", "The lamp is here.")
    paused = await runner.run("go", session_id="s")
    done = await runner.run("And thanks!", session_id="s")
    assert (done.status, done.text) == ("done", "It is on its way.")
    assert "still running elsewhere" in texts(done)[0]

    [open_call] = await runner.pending("s")
    assert open_call.call_id == paused.pending[0].call_id
    assert await runner.answer("s", open_call.call_id, "lamp delivered") == "accepted"
    late = await runner.resume("s")
    assert late.text == "The lamp is here."
    told = [m.text for m in late.history if m.kind == "user"]
    assert told[:2] == ["go", "And thanks!"]
    assert "Update on call" in told[2]
    assert "lamp delivered" in told[2]
    assert await runner.answer("s", open_call.call_id, "again") == "duplicate"
    assert await runner.pending("s") == []


async def test_a_session_that_is_done_stays_done() -> None:
    runner = runner_with("Hello.")
    await runner.run("go", session_id="s")
    assert (await runner.resume("s")).text == "Hello."
    with pytest.raises(UsageError, match="no session"):
        await runner.resume("nowhere")


async def test_what_waits_can_be_listed_over_all_sessions() -> None:
    runner = runner_with(call("order", item="a"), call("order", item="b"))
    await runner.run("go", session_id="s1")
    await runner.run("go", session_id="s2")
    assert [p.arguments for p in await runner.pending()] == [{"item": "a"}, {"item": "b"}]


async def test_a_result_may_be_anything_json_has() -> None:
    runner = runner_with([call("order", item=str(n)) for n in range(5)], "Ok.")
    paused = await runner.run("go", session_id="s")
    values: list[Any] = [None, 0, "", [1, {"a": None}], {"kind": "parcel"}]
    for pending, value in zip(paused.pending, values, strict=True):
        assert await runner.answer("s", pending.call_id, value) == "accepted"

    done = await runner.resume("s")

    assert done.status == "done"
    assert texts(done)[3:] == ['[1,{"a":null}]', '{"kind":"parcel"}']


async def test_an_approval_is_no_result_for_a_deferred_tool() -> None:
    runner = runner_with(call("order", item="lamp"), "Ok.")
    paused = await runner.run("go", session_id="s")
    with pytest.raises(UsageError, match="waits for the result"):
        await runner.answer("s", paused.pending[0].call_id, Approve())


async def test_a_call_that_asks_twice_is_addressed_twice() -> None:
    def two_steps(tool_context: ToolContext) -> str:
        """Ask, and ask again."""
        confirmed = tool_context.tool_confirmation
        steps = (confirmed.payload or {}).get("steps", 0) if confirmed else 0
        if steps < 2:
            tool_context.request_confirmation(
                hint=f"Step {steps + 1}?", payload={"steps": steps + 1}
            )
            return ""
        ran.append("both")
        return "both"

    runner = runner_with(call("two_steps"), "Ok.", tools=[FunctionTool(two_steps)])
    first = await runner.run("go", session_id="s")
    await runner.answer("s", first.pending[0].call_id, Approve())
    second = await runner.resume("s")
    assert second.pending[0].hint == "Step 2?"
    assert second.pending[0].call_id == f"{first.pending[0].call_id}~2"

    assert await runner.answer("s", first.pending[0].call_id, Approve()) in (
        "duplicate",
        "finished",
    )
    await runner.answer("s", second.pending[0].call_id, Approve())
    assert (await runner.resume("s")).text == "Ok."
    assert ran == ["both"]


async def test_an_answer_that_was_accepted_counts_even_if_a_message_comes_first() -> None:
    runner = runner_with(
        [call("order", item="lamp"), call("order", item="desk")], "The lamp came; no desk."
    )
    paused = await runner.run("go", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, "lamp here")
    done = await runner.run("What is new?", session_id="s")

    assert texts(done)[0] == "lamp here"
    assert "still running elsewhere" in texts(done)[1]
    assert [m.text for m in done.history if m.kind == "user"] == ["go", "What is new?"]
    assert done.text == "The lamp came; no desk."
