"""A run holds its session: another one is refused before it does anything, or waits."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests._postgres import new_database

from toolwright import Agent, AgentTool, Approve, Runner, TextPart, ToolContext, UsageError, tool
from toolwright.backends import Hold, Holder, Loaded, MemoryArtifacts, MemoryStore, SqlStore, Store
from toolwright.errors import ModelError, SessionHeld, StoreConflict, StoreError
from toolwright.messages import Event, RunEnded, RunStarted, Scope, UserMessage
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
SCOPE = Scope(app_name="app", user_id="user", session_id="s")
Open = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite"])
async def open_it(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens the same sessions each time, as every process does for itself."""
    memory, opened = MemoryStore(), []
    address = new_database() if request.param == "postgres" else f"sqlite:///{tmp_path}/s.db"

    def make() -> Store:
        if request.param == "memory":
            return memory
        opened.append(SqlStore(address))
        return opened[-1]

    yield make
    for store in opened:
        await store.close()


on_every_store = pytest.mark.parametrize(
    "open_it",
    ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)],
    indirect=True,
)


class Desk:
    """Payments, of which the first waits until it may go on."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.pays = anyio.Event()
        self.may_end = anyio.Event()

    def runner(self, store: Store, *turns: Any, **settings: Any) -> Runner:
        @tool
        async def pay(by: str) -> str:
            """Pay."""
            self.paid.append(by)
            self.pays.set()
            await self.may_end.wait()
            return "paid"

        model = ScriptedModel(*turns)
        return Runner(Agent(name="payer", model=model, tools=[pay]), store=store, **settings)

    @asynccontextmanager
    async def paying(self, runner: Runner) -> AsyncIterator[None]:
        """While this goes on, the runner's run is in the middle of its payment."""
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: runner.run("pay", session_id="s"))
                await self.pays.wait()
                yield
                self.may_end.set()


FIRST = (call("pay", by="first"), "First is done.")
SECOND = (call("pay", by="second"), "Second is done.")


async def test_a_second_run_is_told_who_holds_the_session_and_does_nothing(open_it: Open) -> None:
    desk = Desk()
    first, second = desk.runner(open_it(), *FIRST), desk.runner(open_it(), *SECOND)
    async with desk.paying(first):
        with pytest.raises(
            SessionHeld, match=r"Session 's' is held by process \d+ on .* since"
        ) as e:
            await second.run("pay", session_id="s")
        for attempt in (second.resume("s"), second.abandon("s")):
            with pytest.raises(SessionHeld):
                await attempt
        holder = await second.holder("s")
    assert "nothing was run here" in str(e.value)
    assert holder is not None
    assert (e.value.holder, e.value.since) == (holder.process, holder.since)
    assert (desk.paid, await first.holder("s")) == (["first"], None)
    assert (await second.run("pay", session_id="s")).text == "Second is done."
    assert desk.paid == ["first", "second"]


async def test_a_stream_that_is_refused_shows_no_event(open_it: Open) -> None:
    desk = Desk()
    stream = desk.runner(open_it(), *SECOND).stream("pay", session_id="s")
    async with desk.paying(desk.runner(open_it(), *FIRST)):
        with pytest.raises(SessionHeld):
            await anext(stream)


async def test_of_two_streams_begun_at_once_one_shows_no_event(open_it: Open) -> None:
    desk = Desk()
    seen: dict[str, list[Event]] = {"first": [], "second": []}
    refused: list[str] = []

    async def go(name: str) -> None:
        runner = desk.runner(open_it(), call("pay", by=name), "Done.")
        try:
            async for event in runner.stream("pay", session_id="s"):
                seen[name].append(event)
        except StoreConflict:
            refused.append(name)
            desk.may_end.set()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for name in seen:
                group.start_soon(go, name)
    [loser] = refused
    assert seen[loser] == []
    assert loser not in desk.paid


async def test_a_run_that_may_wait_goes_on_from_what_the_other_has_left(open_it: Open) -> None:
    desk = Desk()
    first = desk.runner(open_it(), *FIRST)
    model = ScriptedModel("Second is done.")
    agent = Agent(name="payer", model=model)
    second = Runner(agent, store=open_it(), wait_if_held=20.0)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group, desk.paying(first):
            group.start_soon(lambda: second.run("And?", session_id="s"))
            while not second._going.scopes:
                await anyio.lowlevel.checkpoint()
    texts = [m.text for m in model.requests[-1].history if isinstance(m, UserMessage)]
    assert texts == ["pay", "And?"]
    assert desk.paid == ["first"]


async def test_waiting_ends_when_its_time_is_up(open_it: Open) -> None:
    desk = Desk()
    second = desk.runner(open_it(), *SECOND, wait_if_held=0.05)
    async with desk.paying(desk.runner(open_it(), *FIRST)):
        began = time.monotonic()
        with pytest.raises(SessionHeld):
            await second.run("pay", session_id="s")
        assert 0.05 <= time.monotonic() - began < 5
    assert desk.paid == ["first"]


async def test_of_two_runs_begun_at_once_the_one_that_may_wait_comes_second() -> None:
    class Together(MemoryStore):
        """Both runs have read the session before either takes it."""

        loads = 0

        async def load(self, scope: Scope) -> Loaded:
            found = await super().load(scope)
            self.loads += 1
            while self.loads < 2:
                await anyio.lowlevel.checkpoint()
            return found

    desk, store = Desk(), Together()
    desk.may_end.set()
    texts: list[str] = []

    async def go(name: str) -> None:
        runner = desk.runner(store, call("pay", by=name), f"{name} is done.", wait_if_held=20.0)
        texts.append((await runner.run(name, session_id="s")).text)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for name in ("first", "second"):
                group.start_soon(go, name)
    assert sorted(texts) == ["first is done.", "second is done."]
    assert sorted(desk.paid) == ["first", "second"]
    assert store.loads > 2


async def test_a_run_that_may_not_wait_still_sees_whether_a_silent_holder_is_gone() -> None:
    class Doubtful(MemoryStore):
        """Of the holder nothing is known at first; then it is known to be gone."""

        looks = 0

        async def holder(self, scope: Scope) -> Holder | None:
            found = await super().holder(scope)
            if found is None:
                return None
            self.looks += 1
            return replace(found, is_gone=self.looks >= 3, known_in=0.01)

    store = Doubtful()
    await store.open(SCOPE)
    await store.append(SCOPE, [RunStarted(seq=1)], Hold(id="theirs", since=0.0, first=True))
    runner = Runner(Agent(name="a", model=ScriptedModel("Taken over.")), store=store)
    assert (await runner.run("go", session_id="s")).text == "Taken over."


@pytest.mark.parametrize("wrong", [-1.0, float("nan")])
def test_a_wait_is_a_number_of_seconds(wrong: float) -> None:
    with pytest.raises(UsageError, match="wait_if_held is a number of seconds; got"):
        Runner(Agent(name="a", model=ScriptedModel()), wait_if_held=wrong)


@pytest.mark.parametrize("by", ["the caller", "the runner"])
async def test_a_run_that_is_cancelled_while_it_waits_leaves_nothing(
    open_it: Open, by: str
) -> None:
    desk = Desk()
    second = desk.runner(open_it(), *SECOND, wait_if_held=600.0)
    refused: list[SessionHeld] = []

    async def wait() -> None:
        try:
            await second.run("pay", session_id="s")
        except SessionHeld as error:
            refused.append(error)

    async with desk.paying(desk.runner(open_it(), *FIRST)), anyio.create_task_group() as group:
        group.start_soon(wait)
        while not second._going.scopes:
            await anyio.lowlevel.checkpoint()
        assert not second.is_going("s")
        if by == "the caller":
            group.cancel_scope.cancel()
        else:
            assert second.cancel("s")
    assert len(refused) == (by == "the runner")
    assert (second._going.scopes, desk.paid) == ({}, ["first"])
    assert (await second.run("pay", session_id="s")).status == "done"


async def test_one_runner_refuses_a_second_run_as_a_mistake_of_the_program(open_it: Open) -> None:
    desk = Desk()
    runner = desk.runner(open_it(), *FIRST, wait_if_held=600.0)
    async with desk.paying(runner):
        with pytest.raises(UsageError, match="has a run going; wait for it, steer it or cancel it"):
            await runner.run("pay", session_id="s")


async def test_one_runner_waits_for_a_session_once(open_it: Open) -> None:
    desk = Desk()
    second = desk.runner(open_it(), *SECOND, wait_if_held=600.0)
    ended: list[object] = []

    async def wait() -> None:
        try:
            ended.append((await second.run("pay", session_id="s")).status)
        except UsageError as error:
            ended.append(type(error))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group, desk.paying(desk.runner(open_it(), *FIRST)):
            group.start_soon(wait)
            group.start_soon(wait)
            while not ended:
                await anyio.lowlevel.checkpoint()
    assert ended == [UsageError, "done"]


async def test_a_held_session_is_answered_and_steered_as_before(open_it: Open) -> None:
    @tool(require_confirmation=True)
    async def wipe() -> str:
        """Wipe."""
        return "wiped"

    desk = Desk()
    first = desk.runner(open_it(), [call("pay", by="first"), call("wipe")], "Done.")
    agent = first.agent.replace(tools=[*first.agent.tools, wipe])  # type: ignore[attr-defined]
    first.agent = agent
    second = Runner(agent, store=open_it())
    async with desk.paying(first):
        while not (waiting := await second.pending("s")):
            await anyio.lowlevel.checkpoint()
        assert await second.answer("s", waiting[0].call_id, Approve()) == "accepted"
        assert not await second.steer("s", "from elsewhere")
        assert await first.steer("s", "from here")
    events = await second.events("s")
    assert [e.type for e in events].count("steered") == 1  # type: ignore[attr-defined]
    assert (await second.holder("s")) is None


# -- the end of a hold ------------------------------------------------------------------------


async def _free(runner: Runner) -> bool:
    return await runner.store.holder(SCOPE) is None


async def test_a_session_is_free_whatever_its_run_ended_with(open_it: Open) -> None:
    @tool(require_confirmation=True)
    def wipe() -> str:
        """Wipe."""
        return "wiped"

    def fail(_: Any) -> str:
        raise ModelError("overloaded")

    agent = Agent(name="a", model=ScriptedModel("Fine.", call("wipe"), fail), tools=[wipe])
    runner = Runner(agent, store=open_it())
    assert (await runner.run("go", session_id="s")).status == "done"
    assert await _free(runner)
    assert (await runner.run("go", session_id="s")).status == "paused"
    assert await _free(runner)
    with pytest.raises(ModelError):
        await runner.run("go", session_id="s")
    assert await _free(runner)
    await runner.abandon("s")
    assert await _free(runner)


@pytest.mark.parametrize("by", ["the caller", "the runner", "the reader"])
async def test_a_session_is_free_when_its_run_was_cancelled(open_it: Open, by: str) -> None:
    desk = Desk()
    runner = desk.runner(open_it(), *FIRST)

    async def read() -> None:
        async for _ in runner.stream("pay", session_id="s"):
            pass

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            run = read if by == "the reader" else lambda: runner.run("pay", session_id="s")
            group.start_soon(run)
            await desk.pays.wait()
            assert not await _free(runner)
            if by == "the runner":
                assert runner.cancel("s")
            else:
                group.cancel_scope.cancel()
    assert await _free(runner)


async def test_a_session_is_held_until_the_outer_run_has_ended(open_it: Open) -> None:
    held: list[bool] = []

    @tool
    async def look() -> str:
        """Look."""
        held.append(not await _free(runner))
        return "seen"

    inner = Agent(name="inner", model=ScriptedModel("Inner is done."))
    model = ScriptedModel(call("inner", request="go"), call("look"), "Done.")
    outer = Agent(name="outer", model=model, tools=[AgentTool(inner), look])
    runner = Runner(outer, store=open_it())
    assert (await runner.run("go", session_id="s")).text == "Done."
    assert (held, await _free(runner)) == ([True], True)


@on_every_store
async def test_a_session_is_not_deleted_while_a_run_of_another_process_has_it(
    open_it: Open,
) -> None:
    desk, other = Desk(), Runner(Agent(name="a", model=ScriptedModel("New.")), store=open_it())
    async with desk.paying(desk.runner(open_it(), *FIRST)):
        with pytest.raises(SessionHeld, match="'s' is held by process"):
            await other.delete("s")
    assert isinstance((await other.events("s"))[-1], RunEnded)
    assert (desk.paid, await _free(other)) == (["first"], True)
    await other.delete("s")
    assert await other.sessions() == []
    assert (await other.run("anew", session_id="s")).text == "New."


async def test_a_runner_does_not_delete_a_session_that_it_runs_itself() -> None:
    desk = Desk()
    runner = desk.runner(MemoryStore(), *FIRST)
    async with desk.paying(runner):
        with pytest.raises(UsageError, match="has a run going; wait for it, steer it or cancel it"):
            await runner.delete("s")
        assert len(await runner.sessions()) == 1


@on_every_store
async def test_a_deletion_waits_for_the_run_if_it_may(open_it: Open) -> None:
    desk, order = Desk(), list[str]()
    agent = Agent(name="a", model=ScriptedModel())
    other = Runner(agent, store=open_it(), wait_if_held=30)

    async def delete() -> None:
        await other.delete("s")
        order.append("deleted")

    async with anyio.create_task_group() as group, desk.paying(desk.runner(open_it(), *FIRST)):
        group.start_soon(delete)
        await anyio.wait_all_tasks_blocked()
        order.append("paid")
    assert (order, await other.sessions()) == (["paid", "deleted"], [])


@on_every_store
async def test_no_run_begins_in_a_session_while_it_is_deleted_and_it_is_free_if_that_fails(
    open_it: Open,
) -> None:
    refused: list[SessionHeld] = []

    class Artifacts(MemoryArtifacts):
        async def delete_session(self, scope: Scope) -> None:
            with pytest.raises(SessionHeld) as caught:
                await other.run("late", session_id="s")
            refused.append(caught.value)
            raise StoreError("the disk is away")

    agent = Agent(name="a", model=ScriptedModel("First.", "Second."))
    other = Runner(agent, store=open_it())
    runner = Runner(agent, store=open_it(), artifacts=Artifacts())
    await runner.run("go", session_id="s")
    before = await runner.events("s")
    with pytest.raises(StoreError, match="disk is away"):
        await runner.delete("s")
    assert len(refused) == 1
    assert (await other.events("s"), await _free(other)) == (before, True)
    assert (await other.run("go on", session_id="s")).text == "Second."


@on_every_store
async def test_a_run_that_was_taken_for_gone_keeps_nothing_for_a_session_that_was_deleted(
    open_it: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves, may_save, artifacts = anyio.Event(), anyio.Event(), MemoryArtifacts()

    @tool
    async def save(tool_context: ToolContext) -> str:
        """Save."""
        saves.set()
        await may_save.wait()
        await tool_context.save_artifact("old.txt", TextPart("a secret"))
        return "saved"

    store = open_it()
    holder = type(store).holder

    async def gone(self: Store, scope: Scope) -> Holder | None:
        found = await holder(self, scope)
        return None if found is None else replace(found, is_gone=True)

    first = Agent(name="a", model=ScriptedModel(call("save"), "Done."), tools=[save])
    other = Runner(Agent(name="a", model=ScriptedModel("New.")), store=store, artifacts=artifacts)

    async def run() -> None:
        with pytest.raises(StoreConflict):
            await Runner(first, store=open_it(), artifacts=artifacts).run("go", session_id="s")

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await saves.wait()
            with monkeypatch.context() as patch:
                patch.setattr(type(store), "holder", gone)
                await other.delete("s")
            await other.run("anew", session_id="s")
            may_save.set()
    assert await artifacts.names(SCOPE) == []
    assert await _free(other)


class Broken(MemoryStore):
    """Refuses all events from some moment on, and takes a moment to release."""

    refuses = False

    async def release(self, scope: Scope, hold_id: str) -> None:
        await anyio.lowlevel.checkpoint()
        await super().release(scope, hold_id)

    async def append(self, scope: Any, events: Any, hold: Any = None, **settings: Any) -> None:
        if self.refuses:
            raise StoreError("the disk is full")
        await super().append(scope, events, hold, **settings)


async def test_a_session_is_free_when_its_run_could_not_store_its_end() -> None:
    store = Broken()

    def refuse(_: Any) -> str:
        store.refuses = True
        return "Fine."

    runner = Runner(Agent(name="a", model=ScriptedModel(refuse)), store=store, retry_writes=0)
    with pytest.raises(StoreError, match="disk is full"):
        await runner.run("go", session_id="s")
    assert await _free(runner)


async def test_a_session_is_free_when_its_run_was_cancelled_and_could_not_store_that() -> None:
    desk, store = Desk(), Broken()
    runner = desk.runner(store, *FIRST, retry_writes=0)

    async def run() -> None:
        with pytest.raises(StoreError, match="disk is full"):
            await runner.run("pay", session_id="s")

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await desk.pays.wait()
            store.refuses = True
            group.cancel_scope.cancel()
    assert await _free(runner)


@pytest.mark.parametrize("kind", [StoreError, OSError, TimeoutError, RuntimeError])
async def test_a_store_that_cannot_release_does_not_hide_why_the_run_failed(
    caplog: pytest.LogCaptureFixture, kind: type[Exception]
) -> None:
    class Worse(Broken):
        async def release(self, scope: Scope, hold_id: str) -> None:
            raise kind("nor can it be released")

    store = Worse()
    store.refuses = True
    runner = Runner(Agent(name="a", model=ScriptedModel("Fine.")), store=store, retry_writes=0)
    with pytest.raises(StoreError, match="disk is full"):
        await runner.run("go", session_id="s")
    assert "session s could not be released: nor can it be released" in caplog.text


async def test_a_session_whose_holder_is_gone_is_taken_over() -> None:
    class Haunted(MemoryStore):
        """Its sessions' holders are gone."""

        async def holder(self, scope: Scope) -> Holder | None:
            found = await super().holder(scope)
            return None if found is None else replace(found, is_gone=True)

    desk, store = Desk(), Haunted()
    first, second = desk.runner(store, *FIRST), desk.runner(store, "Second is done.")
    lost: list[StoreConflict] = []

    async def pay() -> None:
        try:
            await first.run("pay", session_id="s")
        except StoreConflict as error:
            lost.append(error)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(pay)
            await desk.pays.wait()
            assert await second.holder("s") is None
            assert (await second.run("go on", session_id="s")).text == "Second is done."
            desk.may_end.set()
    assert ["not held by this run any more" in str(error) for error in lost] == [True]
    assert desk.paid == ["first"]


async def test_whoever_hears_of_a_run_finds_it_stored_and_its_session_held(open_it: Open) -> None:
    desk = Desk()
    runner = desk.runner(open_it(), *FIRST)
    async for event in runner.stream("pay", session_id="s"):
        if isinstance(event, RunStarted):
            assert [e.seq for e in await runner.events("s")][:1] == [event.seq]
            assert await runner.holder("s") is not None
            desk.may_end.set()
    assert desk.paid == ["first"]
