"""Long-running tools: an answer now, the outcome later."""

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import (
    Agent,
    FunctionTool,
    Hooks,
    LongRunningFunctionTool,
    Reject,
    Result,
    Runner,
    ToolContext,
    deferred_tool,
)
from toolwright.messages import ToolProgress
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Output

pytestmark = pytest.mark.anyio

started: list[str] = []


@pytest.fixture(autouse=True)
def nothing_was_started() -> None:
    started.clear()


def start_report(project: str, tool_context: ToolContext) -> dict[str, Any]:
    """Start a report."""
    started.append(project)
    tool_context.progress("queued", {"pct": 0})
    tool_context.state["report"] = project
    return {"status": "pending", "job_id": f"job-{project}"}


def runner_with(*script: Any, store: str = "memory://") -> Runner:
    tool = LongRunningFunctionTool(start_report)
    return Runner(Agent(name="desk", model=ScriptedModel(*script), tools=[tool]), store=store)


def last_user_text(result: Result) -> str:
    return [m for m in result.history if m.kind == "user"][-1].text


@pytest.mark.row("004-L1c")
def test_the_model_is_told_not_to_call_again() -> None:
    tool = LongRunningFunctionTool(start_report)
    assert tool.is_long_running
    assert tool.description.startswith("Start a report.")
    assert "[LONG RUNNING TOOL]" in tool.description


@pytest.mark.row("001-08", "004-L1e")
async def test_the_first_answer_goes_to_the_model_at_once_and_the_run_is_done() -> None:
    runner = runner_with(call("start_report", project="x"), "It is queued.")
    result = await runner.run("report", session_id="s")

    assert (result.status, result.text) == ("done", "It is queued.")
    (pending,) = await runner.pending("s")
    assert not pending.blocking
    assert pending.payload == {"status": "pending", "job_id": "job-x"}


async def test_the_outcome_reaches_the_conversation_as_an_update() -> None:
    runner = runner_with(call("start_report", project="x"), "Queued.", "Your report is at gs://x.")
    await runner.run("report", session_id="s")
    (pending,) = await runner.pending("s")

    said = await runner.answer("s", pending.call_id, {"status": "done", "url": "gs://x"})
    assert said == "accepted"
    done = await runner.resume("s")

    assert done.text == "Your report is at gs://x."
    assert "gs://x" in last_user_text(done)
    assert started == ["x"]
    assert await runner.pending("s") == []


async def test_an_update_is_told_once(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/s.db"
    runner = runner_with(call("start_report", project="x"), "Queued.", "Ready.", store=store)
    await runner.run("report", session_id="s")
    (pending,) = await runner.pending("s")
    await runner.answer("s", pending.call_id, "ready")
    await runner.resume("s")
    await runner.close()

    later = runner_with(store=store)
    assert (await later.resume("s")).text == "Ready."
    assert await later.answer("s", pending.call_id, "again") == "duplicate"
    await later.close()


async def test_a_conversation_can_go_on_before_the_outcome_comes() -> None:
    runner = runner_with(
        call("start_report", project="x"), "Queued.", "Still waiting.", "Here it is."
    )
    await runner.run("report", session_id="s")
    assert (await runner.run("And?", session_id="s")).text == "Still waiting."
    (pending,) = await runner.pending("s")

    await runner.answer("s", pending.call_id, "gs://x")
    assert (await runner.resume("s")).text == "Here it is."


async def test_an_outcome_that_came_is_told_with_the_next_message() -> None:
    runner = runner_with(call("start_report", project="x"), "Queued.", "It is at gs://x.")
    await runner.run("report", session_id="s")
    (pending,) = await runner.pending("s")
    await runner.answer("s", pending.call_id, "gs://x")

    done = await runner.run("And?", session_id="s")

    assert any("gs://x" in m.text for m in done.history if m.kind == "user")


async def test_a_job_that_failed_is_told_too() -> None:
    runner = runner_with(call("start_report", project="x"), "Queued.", "It failed.")
    await runner.run("report", session_id="s")
    (pending,) = await runner.pending("s")
    await runner.answer("s", pending.call_id, Reject(reason="quota"))
    done = await runner.resume("s")

    assert "quota" in last_user_text(done)


async def test_progress_is_shown_to_whoever_watches() -> None:
    runner = runner_with(call("start_report", project="x"), "Queued.")
    shown = [e async for e in runner.stream("report") if isinstance(e, ToolProgress)]
    assert [(e.text, e.data) for e in shown] == [("queued", {"pct": 0})]


async def test_a_job_that_is_done_at_once_is_an_ordinary_call() -> None:
    def quick(project: str) -> dict[str, str]:
        """Report quickly."""
        return {"status": "done"}

    model = ScriptedModel(call("quick", project="x"), "Done.")
    runner = Runner(Agent(name="desk", model=model, tools=[LongRunningFunctionTool(quick)]))
    await runner.run("report", session_id="s")
    assert await runner.pending("s") == []


async def test_an_outcome_that_does_not_come_in_time_is_told() -> None:
    tool = LongRunningFunctionTool(start_report, timeout=0.02)
    model = ScriptedModel(call("start_report", project="x"), "Queued.", "It never came.")
    runner = Runner(Agent(name="desk", model=model, tools=[tool]))
    await runner.run("report", session_id="s")
    (pending,) = await runner.pending("s")
    assert pending.deadline is not None
    await anyio.sleep(max(0, pending.deadline - time.time()))

    assert await runner.answer("s", pending.call_id, "late") == "expired"
    done = await runner.resume("s")

    assert done.text == "It never came."
    assert "no outcome came in time" in last_user_text(done)
    assert await runner.pending("s") == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 0, False, "", [], {}])
async def test_a_deferred_result_reads_as_that_of_a_plain_tool(value: Any, tmp_path: Path) -> None:
    def compute() -> Any:
        """Compute."""
        return value

    async def later() -> None:
        """Compute elsewhere."""

    script = call("compute"), call("later"), "Done."
    tools = [FunctionTool(compute), deferred_tool()(later)]
    agent = Agent(name="a", model=ScriptedModel(*script), tools=tools)
    async with Runner(agent, store=f"sqlite:///{tmp_path}/s.db") as runner:
        paused = await runner.run("go", session_id="s")
        await runner.answer("s", paused.pending[0].call_id, value)
        done = await runner.resume("s")
    plain, deferred = [r.text for m in done.history if m.kind == "tool" for r in m.results]
    assert deferred == plain.strip('"')  # a text is shown as it is


@pytest.mark.parametrize("status", ["pending", "PENDING", "In progress", "inProgress", " queued "])
async def test_a_status_may_be_written_in_any_way(status: str) -> None:
    def start() -> dict[str, str]:
        """Start it."""
        return {"status": status}

    model = ScriptedModel(call("start"), "It is queued.")
    agent = Agent(name="desk", model=model, tools=[LongRunningFunctionTool(start)])
    assert [pending.name for pending in (await agent.run("x")).pending] == ["start"]


@pytest.mark.parametrize("status", ["done", "PENDING_REVIEW_DONE", 7, None])
async def test_any_other_status_is_a_result(status: object) -> None:
    def start() -> dict[str, object]:
        """Start it."""
        return {"status": status}

    model = ScriptedModel(call("start"), "It is done.")
    agent = Agent(name="desk", model=model, tools=[LongRunningFunctionTool(start)])
    assert (await agent.run("x")).pending == ()


@pytest.mark.parametrize("said", ["Started; be patient.", Output(text="Started; be patient.")])
async def test_a_hook_may_say_it_otherwise_and_the_update_still_comes(said: Any) -> None:
    async def otherwise(ctx: Any, tool: Any, args: Any, output: Output) -> Any:
        return said

    model = ScriptedModel(call("start_report", project="x"), "Queued.", "There it is.")
    tools = [LongRunningFunctionTool(start_report)]
    agent = Agent(name="desk", model=model, tools=tools, hooks=Hooks(after_tool=otherwise))
    runner = Runner(agent)
    first = await runner.run("report", session_id="s")
    read = [item.text for m in first.history if m.kind == "tool" for item in m.results]
    assert read == ["Started; be patient."]
    await runner.answer("s", first.pending[0].call_id, {"url": "report.pdf"})
    assert "report.pdf" in last_user_text(await runner.resume("s"))


async def test_the_rejection_of_a_job_says_that_it_ran() -> None:
    runner = runner_with(call("start_report", project="x"), "Queued.", "A pity.")
    first = await runner.run("report", session_id="s")
    await runner.answer("s", first.pending[0].call_id, Reject(reason="the disk is full"))
    told = last_user_text(await runner.resume("s"))
    assert "No result will come for this call: its function ran" in told
    assert "the disk is full" in told
