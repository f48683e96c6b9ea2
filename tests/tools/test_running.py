"""Functions that run in threads or yield: progress, state and what is left of them when they end."""

import contextvars
import threading
from collections.abc import AsyncIterator, Iterator

import anyio
import pytest

from toolwright import Agent, ToolContext, tool
from toolwright.agent import Result
from toolwright.messages import ToolEnded, ToolProgress
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


def agent(*tools: object, turns: tuple[str, ...]) -> Agent:
    model = ScriptedModel(*(call(name) for name in turns), "Done.")
    return Agent(name="t", model=model, tools=list(tools))


def texts(result: Result) -> list[str]:
    return [event.result.text for event in result.events if isinstance(event, ToolEnded)]


async def test_an_endless_generator_ends_with_its_call() -> None:
    closed, go_on = threading.Event(), threading.Event()

    @tool(timeout=0.5)
    def endless() -> Iterator[str]:
        """Never stop."""
        try:
            while True:
                go_on.wait(0.01)
                yield "still here"
        finally:
            closed.set()

    result = await agent(endless, turns=("endless",)).run("go")
    assert "did not finish within 0.5 s" in texts(result)[0]
    assert await anyio.to_thread.run_sync(closed.wait, 5)


async def test_an_async_generator_is_closed_when_what_it_yields_cannot_be_shown() -> None:
    closed = anyio.Event()

    class Unshowable:
        def _repr_png_(self) -> bytes:
            raise ValueError("no picture")

    @tool
    async def picture() -> AsyncIterator[object]:
        """Show a picture."""
        try:
            yield Unshowable()
        finally:
            closed.set()

    result = await agent(picture, turns=("picture",)).run("go")
    assert "no picture" in texts(result)[0]
    assert closed.is_set()


async def test_progress_may_be_shown_from_any_thread() -> None:
    @tool
    def work(tool_context: ToolContext) -> str:
        """Work in a thread of its own."""
        thread = threading.Thread(target=tool_context.progress, args=("half",))
        thread.start()
        thread.join()
        return "whole"

    events = [event async for event in agent(work, turns=("work",)).stream("go")]
    assert [event.text for event in events if isinstance(event, ToolProgress)] == ["half"]


async def test_a_thread_that_was_left_behind_cannot_change_the_state() -> None:
    release, refused = threading.Event(), threading.Event()

    @tool(timeout=0.05)
    def late(tool_context: ToolContext) -> str:
        """Write too late."""
        release.wait(5)
        try:
            tool_context.state["late"] = True
        except Exception:
            refused.set()
            raise
        return ""

    @tool
    def look(tool_context: ToolContext) -> str:
        """Look at the state."""
        release.set()
        refused.wait(5)
        return str("late" in tool_context.state)

    result = await agent(late, look, turns=("late", "look")).run("go")
    assert texts(result)[1] == "False"
    assert result.state == {}


@pytest.mark.row("004-F7")
async def test_a_plain_function_can_await_show_write_and_see_context_variables() -> None:
    person = contextvars.ContextVar("person", default="nobody")

    async def fetch() -> str:
        await anyio.lowlevel.checkpoint()
        return "fetched"

    @tool
    def work(tool_context: ToolContext) -> str:
        """Do all a thread may do."""
        tool_context.progress("working")
        tool_context.state["n"] = tool_context.state.get("n", 0) + 1
        return f"{tool_context.wait(fetch())} for {person.get()}"

    person.set("ada")
    result = await agent(work, turns=("work", "work")).run("go")
    assert texts(result) == ["fetched for ada"] * 2
    assert result.state == {"n": 2}
