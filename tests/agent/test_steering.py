"""Messages put into a run: stored when `steer` returns, and read exactly once, wherever it goes on."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from toolwright import (
    Agent,
    Approve,
    AuthConfig,
    CustomAuthScheme,
    Runner,
    StoreError,
    ToolContext,
    deferred_tool,
    tool,
)
from toolwright.agent import SequentialAgent, Workflow
from toolwright.backends import MemoryCredentials, MemoryStore
from toolwright.messages import MessageQueued, Scope, Steered, UserMessage
from toolwright.models import ModelRequest, OnDelta
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@deferred_tool()
def order(item: str) -> None:
    """Order something; the shop calls back."""


class Desk:
    """An agent whose first turn makes a call that goes on until it is told to end."""

    def __init__(self, *script: Any, store: Any = None) -> None:
        self.inside, self.end = anyio.Event(), anyio.Event()
        self.model = ScriptedModel(*script)
        self.agent = Agent(name="desk", model=self.model, tools=[self.work(), order])
        self.runner = Runner(self.agent, store=store or MemoryStore())

    def work(self) -> Any:
        @tool
        async def work() -> str:
            """Work."""
            self.inside.set()
            await self.end.wait()
            return "worked"

        return work

    async def steered(self, message: str, runner: Runner | None = None) -> None:
        """Run, and put a message in while the call goes on."""
        runner = runner or self.runner
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: runner.run("go", session_id="s"))
                await self.inside.wait()
                assert await runner.steer("s", message)
                self.end.set()


def said(request: ModelRequest) -> list[str]:
    return [m.text for m in request.history if isinstance(m, UserMessage)]


async def test_a_message_is_in_the_journal_when_steer_returns() -> None:
    desk = Desk(call("work"), "Done.")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: desk.runner.run("go", session_id="s"))
            await desk.inside.wait()
            assert await desk.runner.steer("s", "be quick")
            stored = await desk.runner.events("s")
            assert [e.message.text for e in stored if isinstance(e, MessageQueued)] == ["be quick"]
            desk.end.set()


async def test_a_message_for_a_run_that_pauses_is_read_once_when_it_goes_on() -> None:
    desk = Desk([call("work"), call("order", item="x")], "Done.")
    await desk.steered("be quick")
    [pending] = await desk.runner.pending("s")
    other = Runner(desk.agent, store=desk.runner.store)
    assert (await other.resume("s")).status == "paused"
    await other.answer("s", pending.call_id, "came")
    assert (await other.resume("s")).text == "Done."
    assert said(desk.model.requests[-1]) == ["go", "be quick"]
    read = [e for e in await other.events("s") if isinstance(e, Steered)]
    assert [e.message.text for e in read] == ["be quick"]
    await other.resume("s")
    assert len(desk.model.requests) == 2


async def test_a_message_outlives_the_process_that_took_it() -> None:
    desk = Desk(call("work"), "Done.")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: desk.runner.run("go", session_id="s"))
            await desk.inside.wait()
            assert await desk.runner.steer("s", "be quick")
            copied = await desk.runner.branch("s", new_id="as-another-process-finds-it")
            desk.end.set()
    model = ScriptedModel("Done.")
    other = Runner(Agent(name="desk", model=model, tools=[desk.work()]), store=desk.runner.store)
    await other.resume(copied.scope.session_id)
    assert said(model.requests[0]) == ["go", "be quick"]


async def test_a_message_that_came_with_answers_is_stored_before_they_are_used() -> None:
    desk = Desk(call("order", item="x"), RuntimeError("the process dies"), "Hello.")
    paused = await desk.runner.run("go", session_id="s")
    await desk.runner.answer("s", paused.pending[0].call_id, "came")
    with pytest.raises(RuntimeError, match="the process dies"):
        await desk.runner.run("hello", session_id="s")
    other = Runner(desk.agent, store=desk.runner.store)
    assert (await other.resume("s")).text == "Hello."
    assert said(desk.model.requests[-1]) == ["go", "hello"]


async def test_an_ended_run_takes_no_message() -> None:
    desk = Desk("Done.")
    assert not await desk.runner.steer("s", "be quick")
    await desk.runner.run("go", session_id="s")
    assert not await desk.runner.steer("s", "be quick")


async def test_a_run_that_is_about_to_end_takes_no_message() -> None:
    class Slow(MemoryStore):
        taken: bool | None = None

        async def append(self, scope: Any, events: Any, hold: Any = None, **settings: Any) -> None:
            if events[-1].type == "run_ended":
                self.taken = await runner.steer("s", "too late")
            await super().append(scope, events, hold, **settings)

    store = Slow()
    runner = Desk("Done.", store=store).runner
    await runner.run("go", session_id="s")
    assert store.taken is False
    assert not [e for e in await runner.events("s") if isinstance(e, MessageQueued)]


async def test_a_message_that_cannot_be_stored_is_refused() -> None:
    class Full(MemoryStore):
        async def append(self, scope: Any, events: Any, hold: Any = None, **settings: Any) -> None:
            if any(isinstance(event, MessageQueued) for event in events):
                raise StoreError("the disk is full")
            await super().append(scope, events, hold, **settings)

    desk = Desk(call("work"), "Done.")
    runner = Runner(desk.agent, store=Full(), retry_writes=0)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def run() -> None:
                with pytest.raises(StoreError):
                    await runner.run("go", session_id="s")

            group.start_soon(run)
            await desk.inside.wait()
            with pytest.raises(StoreError, match="disk is full"):
                await runner.steer("s", "be quick")
            desk.end.set()


async def test_a_message_that_no_step_of_a_workflow_has_read_begins_another_round() -> None:
    desk = Desk()
    model = ScriptedModel("first", "second")
    flow = Workflow(
        name="w",
        nodes={"talk": Agent(name="talk", model=model), "work": desk.work()},
        edges=[("start", "talk"), ("talk", "work")],
    )
    runner = Runner(flow)
    await desk.steered("and again", runner)
    assert said(model.requests[1]) == ["and again"]
    assert len(model.requests) == 2


async def test_a_message_for_a_workflow_that_pauses_reaches_the_step_that_goes_on() -> None:
    desk = Desk()

    @tool(require_confirmation=True)
    def wipe() -> str:
        """Wipe."""
        return "wiped"

    model = ScriptedModel([call("work"), call("wipe")], "Done.")
    step = Agent(name="a", model=model, tools=[desk.work(), wipe])
    runner = Runner(SequentialAgent(name="w", sub_agents=[step]))
    await desk.steered("be quick", runner)
    [pending] = await runner.pending("s")
    other = Runner(runner.agent, store=runner.store)
    await other.answer("s", pending.call_id, Approve())
    assert (await other.resume("s")).text == "Done."
    assert said(model.requests[-1]) == ["go", "be quick"]
    await other.resume("s")
    assert len(model.requests) == 2


async def test_a_message_that_a_dead_process_has_not_read_comes_before_a_later_one() -> None:
    store, model = MemoryStore(), ScriptedModel("Done.")

    class Dies(ScriptedModel):
        """Ends its process while it thinks, right after a message was stored."""

        async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> Any:
            if not stored:
                await first.steer("s", "early")
                stored.extend(await first.events("s"))
            return await super().respond(request, on_delta)

    stored: list[Any] = []
    first = Runner(Agent(name="a", model=Dies("lost", "lost")))
    await first.run("go", session_id="s")
    runner = Runner(Agent(name="a", model=model), store=store)
    scope = Scope(app_name=runner.app_name, user_id="user", session_id="s")
    await store.open(scope)
    await store.append(scope, stored)
    await runner.run("later", session_id="s")
    assert said(model.requests[0]) == ["go", "early", "later"]


class Slow(MemoryCredentials):
    """Takes so long to forget a secret that somebody says something meanwhile."""

    meanwhile: Callable[[], Awaitable[Any]]

    async def delete(self, scope: Scope, key: str) -> None:
        await super().delete(scope, key)
        if key.startswith("answer:"):
            await self.meanwhile()


@pytest.mark.parametrize("as_step", [False, True], ids=["agent", "workflow"])
async def test_a_message_that_comes_while_a_run_cleans_up_behind_itself_is_read(
    as_step: bool,
) -> None:
    config = AuthConfig(
        auth_scheme=CustomAuthScheme(type="http", scheme="bearer"), credential_key="mail"
    )
    asked: list[str] = []
    taken: list[bool] = []

    @tool
    def send(tool_context: ToolContext) -> str:
        """Send, if need be without having signed in."""
        if not asked:
            asked.append("asked")
            tool_context.request_credential(config)
        return "sent"

    model = ScriptedModel(call("send"), "First end.", "I have read it.")
    agent = Agent(name="a", model=model, tools=[send])
    flow = SequentialAgent(name="flow", sub_agents=[agent])
    secrets = Slow()
    runner = Runner(flow if as_step else agent, credentials=secrets)

    async def say() -> None:
        if not taken:
            taken.append(await runner.steer("s", "and another thing"))

    secrets.meanwhile = say
    paused = await runner.run("go", session_id="s")
    assert await runner.answer("s", paused.pending[0].call_id, "s3cret") == "accepted"
    done = await runner.resume("s")
    assert (taken, done.status, done.text) == ([True], "done", "I have read it.")
    assert "and another thing" in str(list(model.requests[-1].history))
