"""Runs that belong to the server: when one is over."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from toolwright import Agent, Runner, tool
from toolwright.backends import Hold, MemoryStore, SessionRow
from toolwright.errors import StoreConflict, StoreError
from toolwright.messages import AnyEvent, Event, RunEnded, RunStarted, Scope
from toolwright.serve.live import LiveRuns, Notices, _runs
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


class _Lingering(Runner):
    """Takes its time between the last event and the end."""

    async def stream(self, *args: Any, **settings: Any) -> AsyncGenerator[AnyEvent, None]:
        async for event in super().stream(*args, **settings):
            yield event
        for _ in range(100):
            await anyio.lowlevel.checkpoint()


async def test_a_run_is_over_when_its_end_is_announced_so_the_next_may_begin() -> None:
    runner = _Lingering(Agent(name="t", model=ScriptedModel("One.", "Two.")))
    runs = LiveRuns(runner, Notices())
    texts = []
    with anyio.fail_after(30):
        async with runs.open():
            await runs.start("s", "user", "first")
            row = await runner.store.find(runner.app_name, "s")
            assert row is not None
            async with aclosing(runs.follow(row, 0)) as batches:
                async for batch in batches:
                    for shown in batch or ():
                        if isinstance(shown.event, RunEnded):
                            texts.append(shown.event.text)
                            if len(texts) == 1:
                                await runs.start("s", "user", "second")
                    if len(texts) == 2:
                        break
    assert texts == ["One.", "Two."]


class Follower:
    """A page that stays connected: what it has, and how often it has begun anew."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.resets = 0
        self.is_over = False
        self._news = anyio.Event()

    async def follow(self, runs: LiveRuns, row: SessionRow) -> None:
        async with aclosing(runs.follow(row, 0)) as batches:
            async for batch in batches:
                if batch is None:
                    self.events.clear()
                    self.resets += 1
                self.events += [shown.event for shown in batch or () if shown.event.seq]
                self._tell()
        self.is_over = True
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    async def has(self, events: Sequence[Event], resets: int = 0) -> None:
        """Wait until it has these events, and has begun anew so often."""
        with anyio.fail_after(20):
            while (self.events, self.resets) != (list(events), resets):
                await self._news.wait()

    async def ended(self) -> None:
        with anyio.fail_after(20):
            while not self.is_over:
                await self._news.wait()


class Away(MemoryStore):
    """A store that refuses what is added, once it was told so."""

    why: StoreError | None = None

    async def append(
        self,
        scope: Scope,
        events: Sequence[Event],
        hold: Hold | None = None,
        *,
        expected: Mapping[str, Any] | None = None,
    ) -> None:
        if Away.why is not None:
            raise Away.why
        await super().append(scope, events, hold, expected=expected)


@pytest.mark.parametrize("why", [StoreError("away"), StoreConflict("taken over")], ids=repr)
async def test_whoever_was_shown_what_could_not_be_stored_begins_anew(why: StoreError) -> None:
    @tool(effects="read")
    def look(n: int) -> str:
        """Look."""
        Away.why = why if n == 2 else None
        return "seen"

    store, page = Away(), Follower()
    model = ScriptedModel(call("look", n=1), call("look", n=2), "Lost.", "Hello.")
    runner = Runner(Agent(name="t", model=model, tools=[look]), store=store, retry_writes=0)
    runs = LiveRuns(runner, Notices())
    row = await store.open(Scope(app_name=runner.app_name, user_id="user", session_id="s"))
    async with runs.open(), anyio.create_task_group() as group:
        group.start_soon(page.follow, runs, row)
        await runs.start("s", "user", "go")
        await runs.ended("s")
        Away.why = None
        await page.has(await runner.events("s"), resets=1)
        await runs.start("s", "user", "again")
        await runs.ended("s")
        await page.has(await runner.events("s"), resets=1)
        assert isinstance(page.events[-1], RunEnded)
        group.cancel_scope.cancel()


async def test_an_end_that_could_not_be_stored_is_not_shown() -> None:
    class Endless(MemoryStore):
        async def append(
            self, scope: Scope, events: Sequence[Event], *more: Any, **named: Any
        ) -> None:
            if any(isinstance(event, RunEnded) for event in events):
                raise StoreError("away")
            await super().append(scope, events, *more, **named)

    store, page = Endless(), Follower()
    agent = Agent(name="t", model=ScriptedModel("Hi."))
    runner = Runner(agent, store=store, retry_writes=0)
    runs = LiveRuns(runner, Notices())
    row = await store.open(Scope(app_name=runner.app_name, user_id="user", session_id="s"))
    async with runs.open(), anyio.create_task_group() as group:
        group.start_soon(page.follow, runs, row)
        await runs.start("s", "user", "go")
        await runs.ended("s")
        await page.has(await runner.events("s"), resets=1)
        group.cancel_scope.cancel()
    assert page.events
    assert not any(isinstance(event, RunEnded) for event in page.events)


@pytest.mark.parametrize("where", ["here", "elsewhere", "elsewhere, and run here at once"])
async def test_whoever_follows_a_session_that_is_deleted_sees_the_next_of_its_id(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_runs, "_LOOK_SECONDS", 1000.0)  # No look but those below.
    store, page = MemoryStore(), Follower()
    agent = Agent(name="t", model=ScriptedModel("Hi.", "Hi."))
    runner, other = (Runner(agent, store=store) for _ in range(2))
    runs = LiveRuns(runner, Notices())
    old = await other.run("go", session_id="s")
    row = await store.find(runner.app_name, "s")
    assert row is not None
    async with runs.open(), anyio.create_task_group() as group:
        group.start_soon(page.follow, runs, row)
        await page.has(old.events)
        await runs._look("s")
        await other.delete("s")
        if where == "here":
            runs.deleted("s")
            await page.has([], resets=1)
        if where == "elsewhere":
            # As many events as the old one had.
            new = (await other.run("go", session_id="s")).events
            await runs._look("s")
            await page.has(new, resets=1)
        else:
            await store.open(row.scope)
            await runs.start("s", "user", "go")
            await runs.ended("s")
            await page.has(await runner.events("s"), resets=2 if where == "here" else 1)
        assert page.events[0] != old.events[0]
        group.cancel_scope.cancel()


async def test_a_session_that_is_gone_is_empty_and_that_of_another_user_is_not_shown() -> None:
    store, page, agent = MemoryStore(), Follower(), Agent(name="t", model=ScriptedModel("Hi."))
    runner = Runner(agent, store=store)
    runs = LiveRuns(runner, Notices())
    old = await runner.run("go", session_id="s")
    row = await store.find(runner.app_name, "s")
    assert row is not None
    async with runs.open(), anyio.create_task_group() as group:
        group.start_soon(page.follow, runs, row)
        await page.has(old.events)
        await runner.delete("s")
        await runs._look("s")
        await runs._look("s")
        await page.has([], resets=1)
        theirs = Scope(app_name=runner.app_name, user_id="eve", session_id="s")
        await store.open(theirs)
        await store.append(theirs, [RunStarted(seq=1)])
        await runs._look("s")
        await page.ended()
        assert page.events == []
