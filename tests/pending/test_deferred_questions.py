"""A tool that waits for its result may ask something first, and gets each answer for its own question."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import Agent, Approve, Runner, ToolContext, deferred_tool
from toolwright.backends import MemoryCredentials, MemoryStore
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


class Late(MemoryStore):
    """Takes answers only when it is let: whoever gives one has read the call before."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.go_on = anyio.Event(), anyio.Event()

    async def answer(self, *given: Any, **more: Any) -> Any:
        self.reading.set()
        await self.go_on.wait()
        return await super().answer(*given, **more)


@pytest.mark.parametrize("what", ASKED)
async def test_a_result_that_is_under_way_while_its_function_asks_is_the_result(what: str) -> None:
    asks, kind, _ = ASKED[what]
    store, began, said = Late(), list[str](), list[str]()

    @deferred_tool()
    async def order(tool_context: ToolContext) -> None:
        """Order something that comes before we have been told whether we may."""
        group.start_soon(bring, tool_context.pending_id)
        await store.reading.wait()
        if not asks(tool_context):
            began.append(tool_context.pending_id)

    async def bring(call_id: str) -> None:
        said.append(await runner.answer("s", call_id, {"shipped": 7}))

    model = ScriptedModel(call("order"), "Done.")
    agent = Agent(name="clerk", model=model, tools=[order])
    runner = Runner(agent, store=store, credentials=MemoryCredentials())
    async with anyio.create_task_group() as group:
        [asked] = (await runner.run("go", session_id="s")).pending
        assert asked.kind == kind
        store.go_on.set()
    assert said == ["accepted"]
    done = await runner.resume("s")
    [result] = [r for m in done.history if m.kind == "tool" for r in m.results]
    assert (done.status, result.status, result.text, began) == ("done", "ok", '{"shipped":7}', [])
