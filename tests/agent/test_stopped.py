"""Whoever stops a run, and however: a call that was running is found as a crash would have left it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    Limits,
    Result,
    Runner,
    SequentialAgent,
    Tool,
    ToolContext,
    tool,
)
from toolwright.messages import ToolStarted
from toolwright.testing import ScriptedModel, call
from toolwright.tools import deferred_tool

pytestmark = pytest.mark.anyio


class Desk:
    """A tool that hangs the first time that it is called, and what it has done."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.begun = asyncio.Event()
        self.let_go = threading.Event()
        self.ran: list[str] = []

    async def hang(self, what: str) -> str:
        self.ran.append(what)
        if self.ran.count(what) == 1:
            self.begun.set()
            await anyio.sleep_forever()
        return f"{what} is done"

    def runner(self, store: str, tool: Tool, **settings: Any) -> Runner:
        arguments = {"request": "look"} if tool.name == "helper" else {}
        model = ScriptedModel(call(tool.name, **arguments), *["Done."] * 9)
        agent = Agent(name="a", model=model, tools=[tool], **settings)
        where = "memory://" if store == "memory" else f"sqlite:///{self.directory}/s.db"
        return Runner(agent, store=where)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.let_go.set()


# -- tools -----------------------------------------------------------------------------------


def async_tool(desk: Desk, **settings: Any) -> Tool:
    @tool(**settings)
    async def work() -> str:
        """Work."""
        return await desk.hang("work")

    return work


def plain_tool(desk: Desk, **settings: Any) -> Tool:
    loop = asyncio.get_running_loop()

    @tool(**settings)
    def work() -> str:
        """Work, in a thread that nobody can stop."""
        desk.ran.append("work")
        if len(desk.ran) == 1:
            loop.call_soon_threadsafe(desk.begun.set)
            desk.let_go.wait(30)
        return "work is done"

    return work


def deferred(desk: Desk, **settings: Any) -> Tool:
    @deferred_tool(**settings)
    async def order(tool_context: ToolContext) -> None:
        """Order."""
        await desk.hang("order")

    return order


def helper(desk: Desk) -> Tool:
    @tool
    async def pay() -> str:
        """Pay."""
        desk.ran.append("pay")
        return "paid"

    @tool
    async def look() -> str:
        """Look."""
        return await desk.hang("look")

    script = (call("pay"), call("look"), *["Looked."] * 9)
    model = ScriptedModel(*script)
    return AgentTool(Agent(name="helper", description="Helps.", model=model, tools=[pay, look]))


TOOLS: dict[str, Callable[[Desk], Tool]] = {
    "async": async_tool,
    "plain": plain_tool,
    "idempotent": lambda desk: async_tool(desk, idempotent=True),
    "plain-idempotent": lambda desk: plain_tool(desk, idempotent=True),
    "reads": lambda desk: async_tool(desk, effects="read"),
    "asks": lambda desk: async_tool(desk, on_unknown="ask"),
    "plain-asks": lambda desk: plain_tool(desk, on_unknown="ask"),
    "deferred": deferred,
    "deferred-idempotent": lambda desk: deferred(desk, idempotent=True),
    "agent": helper,
}


AGENT_STOPPED = (
    "The user stopped the run and sent a new message instead; it was stopped. What it has called is "
    "done: pay. What it was at may or may not have taken effect; check before you repeat it."
)

# -- who stops -------------------------------------------------------------------------------

Stop = Callable[[Runner, Desk], Awaitable[None]]


async def cancel(runner: Runner, desk: Desk) -> None:
    """A person stops the run."""
    task = asyncio.create_task(runner.run("go", session_id="s"))
    await desk.begun.wait()
    await runner.branch("s", new_id="crashed")
    assert runner.cancel("s")
    assert (await task).reason == "cancelled"


async def caller(runner: Runner, desk: Desk) -> None:
    """The process ends, or the caller has no more patience."""
    task = asyncio.create_task(runner.run("go", session_id="s"))
    await desk.begun.wait()
    await runner.branch("s", new_id="crashed")
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def leave(runner: Runner, desk: Desk) -> None:
    """Whoever watches the run leaves."""
    async with aclosing(runner.stream("go", session_id="s")) as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                await desk.begun.wait()
                await runner.branch("s", new_id="crashed")
                break


async def go_on(runner: Runner, session_id: str, message: str) -> Result:
    if message:
        return await runner.run(message, session_id=session_id)
    return await runner.resume(session_id)


async def story(runner: Runner, session_id: str, message: str, ran: list[str]) -> Any:
    """What a session comes to when it is gone on with."""
    before = len(ran)
    result = await go_on(runner, session_id, message)
    read = [r.text for m in result.history if m.kind == "tool" for r in m.results]
    waits = [(p.call_id, p.name, p.kind, p.blocking, p.hint) for p in result.pending]
    return result.status, read, waits, ran[before:]


@pytest.mark.parametrize("message", ["", "Hello?"], ids=["resume", "message"])
@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("stop", [cancel, caller, leave], ids=lambda stop: stop.__name__)
@pytest.mark.parametrize("kind", TOOLS)
async def test_a_call_that_is_stopped_is_gone_on_with_as_after_a_crash(
    desk: Desk, kind: str, stop: Stop, store: str, message: str
) -> None:
    async with desk.runner(store, TOOLS[kind](desk)) as runner:
        with anyio.fail_after(30):
            await stop(runner, desk)
            stopped = await story(runner, "s", message, desk.ran)
            crashed = await story(runner, "crashed", message, desk.ran)
    if kind == "agent" and message:
        # After a crash it goes on; after a stop the message is read first.
        assert crashed == ("done", ["Looked."], [], [])
        crashed = ("done", [AGENT_STOPPED], [], [])
    assert stopped == crashed


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_the_model_reads_the_truth_of_a_call_that_a_person_has_stopped(
    desk: Desk, store: str
) -> None:
    async with desk.runner(store, plain_tool(desk)) as runner:
        await cancel(runner, desk)
        assert not any(e.type == "tool_ended" for e in await runner.events("s"))  # type: ignore[attr-defined]
        status, [read], waits, again = await story(runner, "s", "", desk.ran)
    assert (status, waits, again) == ("done", [], [])
    assert read.startswith("This call was interrupted and its outcome is unknown")


async def test_a_call_that_outlasts_the_time_of_its_run_is_left_as_by_a_crash(desk: Desk) -> None:
    hanging = async_tool(desk, idempotent=True)
    runner = desk.runner("memory", hanging, limits=Limits(seconds=0.02))
    result = await runner.run("go", session_id="s")
    assert (result.status, "wall time" in result.reason) == ("stopped", True)
    more = Agent(name="a", model=ScriptedModel("Done."), tools=[hanging])
    status, read, _, again = await story(Runner(more, store=runner.store), "s", "", desk.ran)
    assert (status, read, again) == ("done", ["work is done"], ["work"])


async def test_what_waits_inside_an_agent_that_ran_out_of_time_waits_no_more(desk: Desk) -> None:
    @tool(require_confirmation=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    turn = [call("pay"), call("work")]
    helping = Agent(
        name="helper", description="Helps.", model=ScriptedModel(turn),
        tools=[pay, async_tool(desk)], limits=Limits(seconds=0.02),
    )  # fmt: skip
    runner = desk.runner("memory", AgentTool(helping))
    result = await runner.run("go", session_id="s")
    assert (result.status, result.pending, await runner.pending("s")) == ("done", (), [])
    assert (await runner.resume("s")).events == []


@pytest.mark.parametrize("abandon", [False, True], ids=["cancelled", "abandoned"])
@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_what_waits_beside_a_call_that_is_stopped_is_closed_only_with_its_session(
    desk: Desk, store: str, abandon: bool
) -> None:
    @tool(require_confirmation=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    model = ScriptedModel([call("pay"), call("work")], "Done.")
    agent = Agent(name="a", model=model, tools=[pay, async_tool(desk)])
    where = "memory://" if store == "memory" else f"sqlite:///{desk.directory}/s.db"
    async with Runner(agent, store=where) as runner:
        task = asyncio.create_task(runner.run("go", session_id="s"))
        await desk.begun.wait()
        while not (waiting := await runner.pending("s")):
            await anyio.lowlevel.checkpoint()
        assert runner.cancel("s", abandon=abandon)
        result = await task
        assert [p.call_id for p in result.pending] == [p.call_id for p in waiting][abandon:]
        said = await runner.answer("s", waiting[0].call_id, Approve())
        assert said == ("finished" if abandon else "accepted")
        _, read, waits, _ = await story(runner, "s", "", desk.ran)
    told = "This call was not answered: cancelled; it was not run." if abandon else "paid"
    assert (read[0], waits) == (told, [])
    assert "outcome is unknown" in read[1]


async def test_a_round_in_which_an_agent_ran_out_of_time_is_over(desk: Desk) -> None:
    """Nobody goes on with what ran inside that agent: its call has ended."""

    @tool(require_confirmation=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    helping = Agent(
        name="helper", description="Helps.", model=ScriptedModel(call("work")),
        tools=[async_tool(desk)], limits=Limits(seconds=0.02),
    )  # fmt: skip
    script = (call("helper", request="work"), "First.", call("pay"), "Second.")
    step = Agent(name="step", model=ScriptedModel(*script), tools=[AgentTool(helping), pay])
    runner = Runner(SequentialAgent(name="steps", sub_agents=[step]))
    assert (await runner.run("one", session_id="s")).text == "First."
    [asked] = (await runner.run("two", session_id="s")).pending
    assert await runner.answer("s", asked.call_id, Approve()) == "accepted"
    assert (await runner.resume("s")).text == "Second."
