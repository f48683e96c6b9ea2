"""Calls that an MCP client was asked something about and did not come back to."""

import pytest

from toolwright import Agent, Runner, tool
from toolwright.messages import ToolProgress, ToolResult
from toolwright.serve.mcp._desk import Asked, Desk
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@tool(require_confirmation=True)
def wipe(disk: str) -> str:
    """Wipe a disk."""
    return f"{disk} is empty"


async def ignore(event: ToolProgress) -> None:
    """Show nothing."""


def sessions_of(desk: Desk) -> Runner:
    return desk._runner


async def test_calls_that_nobody_comes_back_to_are_forgotten_the_oldest_first() -> None:
    desk = Desk(wipe)
    asked = [await desk.call(f"s{n}", "wipe", {"disk": "sda"}, ignore) for n in range(110)]
    kept = {row.scope.session_id for row in await sessions_of(desk).sessions()}
    assert kept == {f"s{number}" for number in range(10, 110)}
    assert await desk.waiting("s9") == []
    last = asked[-1]
    assert isinstance(last, Asked)
    done = await desk.answer("s109", last.pending, True, ignore)
    assert isinstance(done, ToolResult)
    assert done.text == "sda is empty"
    assert len(await sessions_of(desk).sessions()) == 99


async def test_an_answer_is_taken_once_and_only_where_its_question_waits() -> None:
    calls = [call("wipe", disk="sda"), call("wipe", disk="sdb")]
    desk = Desk(Agent(name="operator", model=ScriptedModel(calls, "Done."), tools=[wipe]))
    first = await desk.call("s", "operator", {"request": "go"}, ignore)
    assert isinstance(first, Asked)
    second = await desk.answer("s", first.pending, True, ignore)
    assert isinstance(second, Asked)
    assert second.pending.arguments == {"disk": "sdb"}
    assert await desk.answer("s", first.pending, True, ignore) is None
    assert await desk.answer("another", second.pending, True, ignore) is None
    done = await desk.answer("s", second.pending, False, ignore)
    assert isinstance(done, ToolResult)
    assert await desk.answer("s", second.pending, True, ignore) is None


async def test_a_call_that_has_waited_for_too_long_is_forgotten_when_another_begins_to_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = Desk(wipe)
    await desk.call("old", "wipe", {"disk": "sda"}, ignore)
    monkeypatch.setattr("toolwright.serve.mcp._desk._PATIENCE", -1.0)
    await desk.call("new", "wipe", {"disk": "sda"}, ignore)
    assert [row.scope.session_id for row in await sessions_of(desk).sessions()] == []
