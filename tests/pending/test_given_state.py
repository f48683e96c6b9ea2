"""State that a run or a task is given cannot set what rules and approvals go by."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from toolwright import Agent, Runner, UsageError
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


@pytest.mark.parametrize("key", ["_approved:x", "user:_approved:x", "app:_pinned:x", "_seal"])
@pytest.mark.parametrize("how", RUNS)
async def test_a_run_is_not_given_what_the_framework_keeps_for_itself(how: str, key: str) -> None:
    agent = Agent(name="a", model=ScriptedModel("done"))
    with pytest.raises(UsageError, match=f"{key!r} is the framework's own; choose another one"):
        await RUNS[how](agent, {"mine": 1, key: True})
