"""State that a run or a task is given cannot set what rules and approvals go by."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from toolwright import Agent, Orchestrator, Runner, UsageError
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio


async def drained(agent: Agent, state: dict[str, Any]) -> None:
    async for _ in agent.stream("go", state=state):
        pass


RUNS: dict[str, Callable[[Agent, dict[str, Any]], Awaitable[Any]]] = {
    "agent.run": lambda agent, state: agent.run("go", state=state),
    "agent.stream": drained,
    "runner.run": lambda agent, state: Runner(agent).run("go", state=state),
}


@pytest.mark.parametrize("key", ["_approved:x", "user:_approved:x", "app:_pinned:x", "_seal:"])
@pytest.mark.parametrize("how", RUNS)
async def test_a_run_is_not_given_what_the_framework_keeps_for_itself(how: str, key: str) -> None:
    agent = Agent(name="a", model=ScriptedModel("done"))
    with pytest.raises(UsageError, match=f"{key!r} is the framework's own; choose another one"):
        await RUNS[how](agent, {"mine": 1, key: True})


@pytest.mark.parametrize("key", ["_cost", "_asked", "_under", "_unruled", "_rules"])
async def test_a_task_is_not_given_what_its_rules_know_of_those_who_started_it(
    key: str, tmp_path: Path
) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    made.register(Agent(name="a", model=ScriptedModel("done")))
    with pytest.raises(UsageError, match=f"{key!r} is the framework's own in tasks"):
        await made.enqueue("a", "go", state={"mine": 1, key: -1000.0})
    assert await made.list() == []
    await made.close()
