"""Big results of sub-agents that work side by side."""

import json

import pytest

from toolwright.kits import create_deep_agent
from toolwright.messages import ModelMessage, TextPart, ToolCall, UserMessage
from toolwright.models import ModelRequest, OnDelta

pytestmark = pytest.mark.anyio


class Numbered:
    """A provider that gives the calls of each conversation the same ids."""

    name = "numbered"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """Delegate twice; below, ask for a big result."""
        asked = request.history[0]
        assert isinstance(asked, UserMessage)
        if len(request.history) > 1:
            return ModelMessage(parts=(TextPart("done"),))
        if asked.text == "all":
            return ModelMessage(parts=(_task("1", "a"), _task("2", "b")))
        arguments = json.dumps({"letter": asked.text})
        return ModelMessage(parts=(ToolCall(call_id="1", name="big", arguments=arguments),))


def _task(call_id: str, text: str) -> ToolCall:
    arguments = json.dumps({"description": text, "agent": "general_purpose"})
    return ToolCall(call_id=call_id, name="task", arguments=arguments)


async def test_two_sub_agents_do_not_write_over_each_others_big_results() -> None:
    def big(letter: str) -> str:
        """Much text."""
        return letter * 30_000

    result = await create_deep_agent(model=Numbered(), tools=[big]).run("all")
    kept = [file["content"][0] for file in result.state["files"].values()]
    assert sorted(kept) == ["a", "b"]
