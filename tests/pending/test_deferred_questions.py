"""A tool that waits for its result may ask something first, and gets each answer for its own question."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolwright import Agent, Approve, Runner, ToolContext, deferred_tool
from toolwright.backends import MemoryCredentials
from toolwright.messages import AuthConfig, CustomAuthScheme, encode_event
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
MAIL = AuthConfig(
    auth_scheme=CustomAuthScheme(type="apiKey", location="header", name="key"),
    credential_key="mail",
)


def asks_for_credential(ctx: ToolContext) -> bool:
    if ctx.get_auth_response(MAIL) is None:
        ctx.request_credential(MAIL)
        return True
    return False


def asks_for_yes(ctx: ToolContext) -> bool:
    if ctx.tool_confirmation is None:
        ctx.request_confirmation(hint="Sure?")
        return True
    return False


ASKED: dict[str, tuple[Callable[[ToolContext], bool], str, Any]] = {
    "credential": (asks_for_credential, "credential", "SECRET-TOKEN"),
    "confirmation": (asks_for_yes, "confirmation", Approve()),
}


@pytest.mark.parametrize("store", ["memory://", "sqlite:///{}/kept.db"])
@pytest.mark.parametrize("what", ASKED)
async def test_the_question_of_a_deferred_function_comes_before_its_result(
    what: str, store: str, tmp_path: Path
) -> None:
    asks, kind, answer = ASKED[what]
    began: list[str] = []

    @deferred_tool()
    def order(tool_context: ToolContext) -> None:
        """Order something."""
        if not asks(tool_context):
            began.append(tool_context.pending_id)

    model = ScriptedModel(call("order"), "Done.")
    agent = Agent(name="clerk", model=model, tools=[order])
    async with Runner(
        agent, store=store.format(tmp_path), credentials=MemoryCredentials()
    ) as runner:
        [first] = (await runner.run("go", session_id="s")).pending
        assert (first.kind, began) == (kind, [])
        assert await runner.answer("s", first.call_id, answer) == "accepted"
        resumed = await runner.resume("s")
        [second] = resumed.pending
        assert (second.kind, began) == ("result", [second.call_id])
        assert await runner.answer("s", second.call_id, "delivered") == "accepted"
        assert (await runner.resume("s")).status == "done"
        log = "".join(encode_event(event) for event in await runner.events("s"))
    assert "SECRET-TOKEN" not in log
    assert "SECRET-TOKEN" not in str(model.requests[-1].history)
    assert "delivered" in log
