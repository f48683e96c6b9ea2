"""A call that was interrupted and may not be repeated: the model is told, or a person is asked."""

import time

import pytest

from toolwright import Agent, Runner, Tool, tool
from toolwright.backends import MemoryStore
from toolwright.messages import (
    ModelMessage,
    ModelReplied,
    RunStarted,
    Scope,
    ToolCall,
    ToolStarted,
    UserMessage,
    user_message,
)
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio
SCOPE = Scope(app_name="app", user_id="user", session_id="s1")
CALL = ToolCall(call_id="c1", name="pay")
ran: list[str] = []


@tool
async def pay() -> str:
    """Pay."""
    ran.append("paid")
    return "paid"


async def interrupted(paying: Tool) -> Runner:
    """A session whose process died while `pay` was running."""
    store = MemoryStore()
    asked: UserMessage = user_message("pay")
    await store.open(SCOPE)
    reply = ModelMessage(parts=(CALL,), finish_reason="calls")
    await store.append(
        SCOPE,
        [
            RunStarted(seq=1, message=asked, at=time.time()),
            ModelReplied(seq=2, message=reply),
            ToolStarted(seq=3, call=CALL),
        ],
    )
    ran.clear()
    return Runner(Agent(name="a", model=ScriptedModel("done"), tools=[paying]), store=store)


async def test_the_model_is_told_that_the_outcome_is_unknown() -> None:
    runner = await interrupted(pay)
    result = await runner.resume("s1")
    assert (result.status, ran) == ("done", [])
    assert "outcome is unknown" in result.history[-2].results[0].text  # type: ignore[union-attr]


async def test_a_person_is_asked_for_the_outcome_where_the_tool_wants_that() -> None:
    runner = await interrupted(pay.replace(on_unknown="ask"))
    paused = await runner.resume("s1")
    [pending] = paused.pending
    assert (paused.status, pending.kind, "interrupted" in pending.hint) == (
        "paused",
        "result",
        True,
    )
    assert await runner.answer("s1", pending.call_id, "it was paid") == "accepted"
    result = await runner.resume("s1")
    assert (result.status, ran) == ("done", [])
    assert result.history[-2].results[0].text == "it was paid"  # type: ignore[union-attr]
