"""No run comes to its end with something unread: whatever has come, and whatever ends the run."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import (
    Agent,
    Approve,
    FunctionTool,
    Hooks,
    LongRunningFunctionTool,
    Runner,
    SequentialAgent,
    ToolContext,
    deferred_tool,
)
from toolwright.messages import UserMessage
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

Come = Callable[[], Awaitable[None]]


class Desk:
    """An agent that starts a job, then reports, and ends in one of several ways."""

    def __init__(self, end: str, store: str, *, confirm: bool = False, steps: bool = False) -> None:
        self.end = end
        self.jobs: list[str] = []
        self.at_the_end: Come | None = None
        """Called once, when there is nothing more to say."""
        script = (call("start"), call("report"), *["The end."] * 5)
        self.model = ScriptedModel(*script)
        agent = Agent(
            name="desk", model=self.model, hooks=Hooks(after_agent=self._after_agent),
            tools=[
                LongRunningFunctionTool(self.start),
                FunctionTool(self.report, require_confirmation=confirm),
            ],
        )  # fmt: skip
        root = SequentialAgent(name="steps", sub_agents=[agent]) if steps else agent
        self.runner = Runner(root, store=store)

    def start(self, tool_context: ToolContext) -> dict[str, str]:
        """Start a job."""
        self.jobs.append(tool_context.pending_id)
        return {"status": "pending"}

    async def report(self, tool_context: ToolContext) -> str:
        """Report."""
        if self.end == "skip":
            tool_context.actions.skip_summarization = True
        if self.end == "escalate":
            tool_context.actions.escalate = True
        if self.end in ("skip", "escalate"):
            await self._come()
        return "The report."

    async def _after_agent(self, ctx: ToolContext, text: str) -> None:
        if self.end == "hook":
            await self._come()

    async def _come(self) -> None:
        come, self.at_the_end = self.at_the_end, None
        if come is not None:
            await come()

    def times_read(self, text: str) -> int:
        """In how many messages the last request has it."""
        messages = self.model.requests[-1].history
        return sum(text in m.text for m in messages if isinstance(m, UserMessage))


ENDS = ["skip", "escalate", "hook"]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db"


@pytest.mark.parametrize("steps", [False, True], ids=["agent", "step"])
@pytest.mark.parametrize("end", ENDS)
async def test_a_message_that_comes_at_the_end_is_read_once(
    end: str, store: str, steps: bool
) -> None:
    desk = Desk(end, store, steps=steps)

    async def steer() -> None:
        assert await desk.runner.steer("s", "One more thing")

    desk.at_the_end = steer
    async with desk.runner as runner:
        done = await runner.run("go", session_id="s")
        assert (done.status, desk.times_read("One more thing")) == ("done", 1)
        asked = len(desk.model.requests)
        assert (await runner.resume("s")).status == "done"
    assert len(desk.model.requests) == asked


@pytest.mark.parametrize("end", ENDS)
async def test_an_update_is_read_once_however_the_last_run_ended(end: str, store: str) -> None:
    desk = Desk(end, store)
    async with desk.runner as runner:
        await runner.run("go", session_id="s")
        assert await runner.answer("s", desk.jobs[0], "the job is done") == "accepted"
        assert (await runner.resume("s")).status == "done"
        assert desk.times_read("the job is done") == 1
        asked = len(desk.model.requests)
        await runner.resume("s")
        assert len(desk.model.requests) == asked
        await runner.run("Hello?", session_id="s")
    assert (desk.times_read("the job is done"), desk.times_read("Hello?")) == (1, 1)


@pytest.mark.parametrize("end", ENDS)
async def test_a_message_is_read_after_an_answered_call_however_that_ends_the_run(
    end: str, store: str
) -> None:
    desk = Desk(end, store, confirm=True)
    async with desk.runner as runner:
        [asked] = [p for p in (await runner.run("go", session_id="s")).pending if p.blocking]
        assert await runner.answer("s", asked.call_id, Approve()) == "accepted"
        done = await runner.run("Hello?", session_id="s")
    assert (done.status, desk.times_read("Hello?")) == ("done", 1)


@pytest.mark.parametrize("steps", [False, True], ids=["agent", "step"])
async def test_an_answer_to_another_call_is_read_when_it_comes_with_the_awaited_one(
    store: str, steps: bool
) -> None:
    """The run takes in both; only one of them is what it waits for."""
    jobs: dict[str, str] = {}
    runner: Runner

    def start(tool_context: ToolContext) -> dict[str, str]:
        """Start a job."""
        jobs["start"] = tool_context.pending_id
        return {"status": "pending"}

    @deferred_tool()
    async def order(tool_context: ToolContext) -> None:
        """Order; both answers are there before this returns."""
        with anyio.fail_after(5):
            assert await runner.answer("s", jobs["start"], "started job") == "accepted"
            assert await runner.answer("s", tool_context.pending_id, "delivered") == "accepted"

    model = ScriptedModel(call("start"), call("order"), *["The end."] * 3)
    tools: list[Any] = [LongRunningFunctionTool(start), order]
    agent = Agent(name="a", model=model, tools=tools)
    runner = Runner(SequentialAgent(name="s", sub_agents=[agent]) if steps else agent, store=store)
    async with runner:
        assert (await runner.run("go", session_id="s")).status == "done"
    history = list(model.requests[-1].history)
    told = [m.text for m in history if isinstance(m, UserMessage) and "started job" in m.text]
    assert len(told) == 1
    assert "delivered" in [r.text for m in history if m.kind == "tool" for r in m.results]


async def test_an_update_that_is_about_to_be_told_is_told_once_when_more_comes(store: str) -> None:
    jobs: dict[str, str] = {}
    runner: Runner

    def start(tool_context: ToolContext) -> dict[str, str]:
        """Start a job."""
        jobs["start"] = tool_context.pending_id
        return {"status": "pending"}

    @deferred_tool()
    async def order(tool_context: ToolContext) -> None:
        """Order."""
        jobs["order"] = tool_context.pending_id

    async def work() -> str:
        """Work, while the order is delivered."""
        assert await runner.answer("s", jobs["order"], "delivered") == "accepted"
        return "worked"

    model = ScriptedModel(call("start"), [call("order"), call("work")], *["The end."] * 3)
    tools = [LongRunningFunctionTool(start), order, FunctionTool(work, require_confirmation=True)]
    runner = Runner(Agent(name="a", model=model, tools=tools), store=store)
    async with runner:
        paused = await runner.run("go", session_id="s")
        [asked] = [p for p in paused.pending if p.kind == "confirmation"]
        assert await runner.answer("s", jobs["start"], "started job") == "accepted"
        assert await runner.answer("s", asked.call_id, Approve()) == "accepted"
        assert (await runner.resume("s")).status == "done"
    history = model.requests[-1].history
    assert sum("started job" in m.text for m in history if isinstance(m, UserMessage)) == 1
