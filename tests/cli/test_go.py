"""Running a session at the terminal: what is asked when, and what goes on with which answers."""

from collections.abc import Sequence
from typing import Any

import pytest

from toolwright import Agent, Approve, Runner, deferred_tool, tool
from toolwright.agent import Result
from toolwright.cli._go import UNANSWERED, go
from toolwright.messages import Pending, Prompt, Scope
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
SCOPE = Scope(app_name="toolwright", user_id="me", session_id="s")
wiped: list[str] = []


@pytest.fixture(autouse=True)
def nothing_is_wiped() -> None:
    wiped.clear()


@tool(require_confirmation=True)
async def wipe(path: str) -> str:
    """Wipe."""
    wiped.append(path)
    return f"wiped {path}"


@deferred_tool()
async def supplier(part: str) -> None:
    """Ask the supplier."""


def runner_of(*script: Any, tools: Sequence[Any] = (wipe, supplier)) -> Runner:
    agent = Agent(name="a", model=ScriptedModel(*script), tools=tools)
    return Runner(agent, app_name=SCOPE.app_name, store="memory://")


class Person:
    """Says what is in the script, one answer per question; an exception is a key that was pressed."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.asked: list[str] = []

    async def __call__(self, pending: Pending) -> Any:
        self.asked.append(pending.name)
        answer = self.script.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


async def turn(
    runner: Runner, prompt: Prompt | None, person: Person, *, late: bool = False
) -> Result:
    return await go(runner, SCOPE, prompt, lambda event: None, person, late=late)


@pytest.mark.parametrize("key", [KeyboardInterrupt(), EOFError()], ids=["ctrl-c", "ctrl-d"])
async def test_what_was_approved_before_ctrl_c_is_not_run_by_the_next_message(
    key: BaseException,
) -> None:
    runner = runner_of([call("wipe", path="a"), call("wipe", path="b")], "fine")
    with pytest.raises(type(key)):
        await turn(runner, "go", Person(Approve(), key))
    assert [pending.arguments["path"] for pending in await runner.pending("s")] == ["b"]
    await turn(runner, "Forget it.", Person())
    assert wiped == []


async def test_what_was_approved_before_ctrl_c_runs_when_the_person_goes_on_answering() -> None:
    runner = runner_of([call("wipe", path="a"), call("wipe", path="b")], "fine")
    with pytest.raises(KeyboardInterrupt):
        await turn(runner, "go", Person(Approve(), KeyboardInterrupt()))
    await turn(runner, None, Person(Approve()), late=True)
    assert wiped == ["a", "b"]


async def test_ctrl_c_at_the_first_question_leaves_the_session_waiting() -> None:
    runner = runner_of(call("wipe", path="a"), "fine")
    with pytest.raises(KeyboardInterrupt):
        await turn(runner, "go", Person(KeyboardInterrupt()))
    assert (await turn(runner, None, Person(UNANSWERED))).status == "paused"
