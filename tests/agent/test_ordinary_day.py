"""An ordinary day's work under `careful()`: what asks, and that nothing else does."""

import json
from typing import Any

import pytest
from tests.agent._ordinary_day import DAY, Task

from toolwright import Agent, FunctionTool, Output, Tool, ToolContext, careful
from toolwright.messages import ToolSpec
from toolwright.testing import ScriptedModel, call

AREAS = {"read_mail": "untrusted", "read_calendar": "untrusted", "web_page": "untrusted",
         "read_ticket": "untrusted", "read_file": "trusted"}  # fmt: skip
MOST = 7
"""Tasks of the day that ask; the guide gives the number."""


def reader(name: str, text: str) -> FunctionTool[Any, Any]:
    def read() -> str:
        return text

    trust: Any = AREAS[name]
    return FunctionTool(read, name=name, description="Read.", effects="read", trust=trust)


def doer(task: Task) -> Tool:
    """A tool that takes what the call has, whatever that is."""

    async def run(args: dict[str, Any], ctx: ToolContext) -> Output:
        return Output(text="Done.")

    spec = ToolSpec(name=task.call, description="Do it.", parameters={"type": "object"})
    return Tool(spec=spec, parse=json.loads, run=run)


@pytest.mark.parametrize("task", DAY, ids=lambda task: f"{task.area}: {task.said}")
def test_only_what_names_something_from_outside_is_asked_about(task: Task) -> None:
    reads = [reader(name, text) for name, text in task.read]
    calls = [call(name) for name, _ in task.read]
    model = ScriptedModel(calls, call(task.call, **task.args), "Done.")
    agent = Agent(name="day", model=model, tools=[*reads, doer(task)], policy=careful())
    result = agent.run_sync(task.said)
    assert result.status == ("paused" if task.asks else "done"), result.pending


def test_few_of_them_ask() -> None:
    assert len(DAY) >= 60
    assert sum(task.asks for task in DAY) == MOST
