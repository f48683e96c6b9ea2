"""Running a session at the terminal: what is asked when, and what goes on with which answers."""

import time
from collections.abc import Sequence
from typing import Any

import pytest

from toolwright import Agent, Approve, Runner, deferred_tool, tool
from toolwright.agent import Result
from toolwright.cli._go import UNANSWERED, go, last_result
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


@deferred_tool(timeout=3600)
async def supplier(part: str) -> None:
    """Ask the supplier."""


LATE, LEFT_LATE = "too late", "left, and then too late"


def runner_of(*script: Any, tools: Sequence[Any] = (wipe, supplier)) -> Runner:
    agent = Agent(name="a", model=ScriptedModel(*script), tools=tools)
    return Runner(agent, app_name=SCOPE.app_name, store="memory://")


class Person:
    """Says what is in the script, one answer per question; an exception is a key that was pressed, and
    `LATE` an answer after the deadline."""

    def __init__(self, *script: Any, clock: pytest.MonkeyPatch | None = None) -> None:
        self.clock = clock or pytest.MonkeyPatch()
        self.script = list(script)
        self.asked: list[str] = []

    async def __call__(self, pending: Pending) -> Any:
        self.asked.append(pending.name)
        answer = self.script.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        if answer in (LATE, LEFT_LATE):
            assert pending.deadline is not None
            passed = pending.deadline + 1
            self.clock.setattr(time, "time", lambda: passed)
        return UNANSWERED if answer is LEFT_LATE else answer


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
    assert (await last_result(runner, "s")).status == "paused"
    assert (await turn(runner, None, Person(UNANSWERED))).status == "paused"


@pytest.mark.parametrize("late", [LATE, LEFT_LATE], ids=["answered late", "left until it was late"])
async def test_a_call_whose_deadline_passes_at_its_question_keeps_no_other_from_running(
    late: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = runner_of([call("supplier", part="x"), call("wipe", path="a")], "fine")
    person = Person(late, Approve(), clock=monkeypatch)
    result = await turn(runner, "go", person)
    assert (result.status, result.text, wiped) == ("done", "fine", ["a"])
    assert person.asked == ["supplier", "wipe"]
    assert await runner.pending("s") == []


async def test_a_call_whose_deadline_has_passed_is_not_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = runner_of([call("supplier", part="x"), call("wipe", path="a")], "fine")
    await turn(runner, "go", Person(UNANSWERED, UNANSWERED))
    monkeypatch.setattr(time, "time", lambda: 4_000_000_000.0)
    person = Person(Approve())
    result = await turn(runner, None, person, late=True)
    assert (person.asked, wiped, result.status) == (["wipe"], ["a"], "done")


async def test_a_call_whose_deadline_passes_during_another_question_is_not_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow(Person):
        async def __call__(self, pending: Pending) -> Any:
            monkeypatch.setattr(time, "time", lambda: 4_000_000_000.0)
            return await super().__call__(pending)

    runner = runner_of([call("wipe", path="a"), call("supplier", part="x")], "fine")
    person = Slow(Approve())
    result = await turn(runner, "go", person)
    assert (person.asked, wiped, result.status) == (["wipe"], ["a"], "done")


async def test_a_run_goes_on_when_the_deadline_of_all_that_it_waits_for_has_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = runner_of(call("supplier", part="x"), "fine")
    result = await turn(runner, "go", Person(LEFT_LATE, clock=monkeypatch))
    assert (result.status, result.text) == ("done", "fine")


async def test_an_ordinary_turn_asks_only_about_what_it_waits_for() -> None:
    runner = runner_of(call("supplier", part="x"), "later", call("wipe", path="a"), "fine")
    await turn(runner, "go", Person(UNANSWERED))
    await turn(runner, "hm", Person())
    person = Person(Approve())
    assert (await turn(runner, "now wipe", person)).text == "fine"
    assert (person.asked, wiped) == (["wipe"], ["a"])


async def test_going_on_runs_what_was_approved_before_it_asks_about_late_calls() -> None:
    runner = runner_of(call("supplier", part="x"), "later", call("wipe", path="a"), "fine", "ok")
    await turn(runner, "go", Person(UNANSWERED))
    await turn(runner, "hm", Person())
    await turn(runner, "now wipe", Person(UNANSWERED))
    done: list[list[str]] = []

    class Watching(Person):
        async def __call__(self, pending: Pending) -> Any:
            done.append([*wiped])
            return await super().__call__(pending)

    person = Watching(Approve(), "77")
    await turn(runner, None, person, late=True)
    assert person.asked == ["wipe", "supplier"]
    assert done == [[], ["a"]]


async def test_a_call_that_is_left_waiting_hides_no_late_one() -> None:
    runner = runner_of(call("supplier", part="x"), "later", call("wipe", path="a"), "fine")
    await turn(runner, "go", Person(UNANSWERED))
    await turn(runner, "hm", Person())
    await turn(runner, "now wipe", Person(UNANSWERED))
    person = Person(UNANSWERED, UNANSWERED)
    await turn(runner, None, person, late=True)
    assert person.asked == ["wipe", "supplier"]
