"""Everything that opens is closed, once, in reverse, whatever fails and whoever is cancelled."""

import gc
import time
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from toolwright import Agent, AgentTool, Orchestrator, ReadonlyContext, Runner, Toolset, tool
from toolwright.concurrency import Once, SessionTable, close_all
from toolwright.serve import ServeSettings, create_app
from toolwright.testing import ScriptedModel, call
from toolwright.tools import SessionInfo, Tool, combined

pytestmark = pytest.mark.anyio


class Recorded(Toolset):
    """Writes down what happens to it; closing may fail."""

    def __init__(self, name: str, log: list[str], *, fails: bool = False) -> None:
        super().__init__()
        self.name, self.log, self.fails = name, log, fails

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Tool]:
        return []

    async def close(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.log.append(self.name)
        if self.fails:
            raise ConnectionError(self.name)

    async def end_session(self, session: SessionInfo) -> None:
        self.log.append(f"{self.name} ended {session.id}")


def closer(name: str, log: list[str]) -> Callable[[], Awaitable[None]]:
    return Recorded(name, log).close


async def test_all_are_closed_in_reverse_even_if_some_fail_and_no_failure_is_lost() -> None:
    log: list[str] = []
    second, third = Recorded("2", log, fails=True), Recorded("3", log, fails=True)
    with pytest.raises(ExceptionGroup) as raised:
        await close_all([closer("1", log), second.close, third.close, closer("4", log)])
    assert log == ["4", "3", "2", "1"]
    assert [str(error) for error in raised.value.exceptions] == ["3", "2"]


async def test_a_single_failure_is_raised_as_it_is() -> None:
    log: list[str] = []
    with pytest.raises(ConnectionError, match="2"):
        await close_all([closer("1", log), Recorded("2", log, fails=True).close])
    assert log == ["2", "1"]


async def test_a_cancelled_close_still_closes_everything() -> None:
    log: list[str] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        await close_all([closer("1", log), closer("2", log)])
    assert log == ["2", "1"]


async def test_a_close_that_hangs_does_not_keep_the_others_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolwright.concurrency._closing._SECONDS", 0.01)
    log: list[str] = []
    with anyio.fail_after(5), pytest.raises(TimeoutError):
        await close_all([closer("1", log), anyio.sleep_forever])
    assert log == ["1"]


async def test_an_agent_closes_all_its_toolsets_although_one_fails() -> None:
    log: list[str] = []
    helper = Agent(name="helper", tools=[Recorded("inner", log)])
    agent = Agent(
        name="a",
        tools=[
            Recorded("first", log),
            combined(Recorded("second", log, fails=True)),
            AgentTool(helper),
        ],
        sub_agents=[Agent(name="sub", tools=[Recorded("below", log)])],
    )
    with pytest.raises(ConnectionError, match="second"):
        async with agent:
            pass
    assert log == ["second", "first", "inner", "below"]


async def test_a_runner_closes_its_store_although_a_toolset_fails(tmp_path: Path) -> None:
    log: list[str] = []
    runner = Runner(
        Agent(name="a", tools=[Recorded("tools", log, fails=True)]),
        store=f"sqlite:///{tmp_path / 'a.db'}",
    )
    close = runner.store.close

    async def noted() -> None:
        log.append("store")
        await close()

    runner.store.close = noted  # type: ignore[method-assign]
    with pytest.raises(ConnectionError, match="tools"):
        async with runner:
            pass
    assert log == ["tools", "store"]


async def test_an_orchestrator_closes_the_agents_that_were_registered(tmp_path: Path) -> None:
    log: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        async with Orchestrator(f"sqlite:///{tmp_path / 'tasks.db'}") as tasks:
            tasks.register(Agent(name="a", model=ScriptedModel("."), tools=[Recorded("a", log)]))
            tasks.register(Agent(name="b", model=ScriptedModel("."), tools=[Recorded("b", log)]))
            await tasks.enqueue("a", "go")
        del tasks
        gc.collect()
    assert log == ["b", "a"]


async def test_a_server_that_was_told_to_closes_runner_and_tasks_when_it_stops(
    tmp_path: Path,
) -> None:
    log: list[str] = []
    runner = Runner(Agent(name="a", model=ScriptedModel("."), tools=[Recorded("a", log)]))
    tasks = Orchestrator(f"sqlite:///{tmp_path / 'tasks.db'}")
    tasks.register(Agent(name="b", model=ScriptedModel("."), tools=[Recorded("b", log)]))
    app = create_app(runner, settings=ServeSettings(), tasks=tasks, close=True)
    async with app.router.lifespan_context(app):
        assert log == []
    assert log == ["b", "a"]


async def test_a_deleted_session_is_over_for_toolsets_and_for_the_agents_that_tools_call() -> None:
    log: list[str] = []
    helper = Agent(name="helper", model=ScriptedModel("."), tools=[Recorded("inner", log)])
    agent = Agent(
        name="a",
        model=ScriptedModel("."),
        tools=[Recorded("own", log), AgentTool(helper)],
        sub_agents=[Agent(name="sub", tools=[Recorded("below", log)])],
    )
    runner = Runner(agent)
    await runner.run("go", session_id="s1")
    assert log == []
    await runner.delete("s1")
    assert log == ["own ended s1", "inner ended s1", "below ended s1"]


async def test_a_session_that_nobody_stores_ends_with_its_run_unless_it_waits() -> None:
    log: list[str] = []

    @tool(require_confirmation=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    model = ScriptedModel(call("pay"), "Done.")
    agent = Agent(name="a", model=model, tools=[pay, Recorded("own", log)])
    paused = await agent.run("go")
    assert log == []
    await agent.resume(paused, {paused.pending[0].call_id: True})
    assert log == [f"own ended {paused.session_id}"]
    model = ScriptedModel("Done.")
    async for _ in Agent(name="a", model=model, tools=[Recorded("streamed", log)]).stream("go"):
        pass
    assert log[1].startswith("streamed ended ")


class Opened:
    """Something that is open until it is closed."""

    def __init__(self) -> None:
        self.closed = 0

    async def close(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.closed += 1


class Opening:
    """Opens such things when it is let, and remembers them."""

    def __init__(self) -> None:
        self.made: list[Opened] = []
        self.begun = anyio.Event()
        self.go_on = anyio.Event()
        self.fail = False

    async def __call__(self) -> Opened:
        self.begun.set()
        await self.go_on.wait()
        if self.fail:
            raise ConnectionError("not now")
        self.made.append(Opened())
        return self.made[-1]


async def use(table: SessionTable[Opened], key: str, found: list[Opened]) -> None:
    async with table.use(key) as value:
        found.append(value)


async def test_two_first_users_get_the_same_one() -> None:
    opening, found = Opening(), list[Opened]()
    table = SessionTable(opening, most=5, idle=60)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(use, table, "s1", found)
            group.start_soon(use, table, "s1", found)
            group.start_soon(use, table, "s2", found)
            await opening.begun.wait()
            opening.go_on.set()
    assert len(opening.made) == 2
    assert len(set(found)) == 2


async def test_a_first_user_who_is_cancelled_neither_leaks_nor_spoils_it_for_the_next() -> None:
    opening, found = Opening(), list[Opened]()
    table = SessionTable(opening, most=5, idle=60)
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            scope = anyio.CancelScope()

            async def impatient() -> None:
                with scope:
                    await use(table, "s1", [])

            group.start_soon(impatient)
            await opening.begun.wait()
            group.start_soon(use, table, "s1", found)
            opening.begun = anyio.Event()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            opening.go_on.set()
    assert not opening.begun.is_set(), "what was half open was left, and opened a second time"
    assert found == opening.made
    await table.close()
    assert [one.closed for one in opening.made] == [1]


async def test_one_that_failed_to_open_is_tried_again() -> None:
    opening, found = Opening(), list[Opened]()
    opening.go_on.set()
    opening.fail = True
    table = SessionTable(opening, most=5, idle=60)
    with pytest.raises(ConnectionError):
        await use(table, "s1", found)
    assert len(table) == 0
    opening.fail = False
    await use(table, "s1", found)
    assert found == opening.made


async def test_the_least_recently_used_is_closed_but_never_one_in_use() -> None:
    opening, found = Opening(), list[Opened]()
    opening.go_on.set()
    table = SessionTable(opening, most=2, idle=60)
    async with table.use("first"):
        for key in ("second", "third", "fourth"):
            await use(table, key, found)
        assert [one.closed for one in opening.made] == [0, 1, 1, 0]
    await table.close()
    assert [one.closed for one in opening.made] == [1, 1, 1, 1]


async def test_one_that_is_idle_is_closed_though_nobody_asks_and_one_in_use_is_not() -> None:
    opening, found = Opening(), list[Opened]()
    opening.go_on.set()
    table = SessionTable(opening, most=5, idle=0.01)
    with anyio.fail_after(10):
        async with table.use("in use"):
            for _ in range(2):  # Again after the first time.
                await use(table, "idle", found)
                while not found[-1].closed:
                    await anyio.lowlevel.checkpoint()
            assert opening.made[0].closed == 0
        while not opening.made[0].closed:
            await anyio.lowlevel.checkpoint()
    assert [one.closed for one in opening.made] == [1, 1, 1]
    assert len(table) == 0


async def test_one_that_was_used_later_is_closed_later_and_not_forgotten() -> None:
    opening, found = Opening(), list[Opened]()
    opening.go_on.set()
    table = SessionTable(opening, most=5, idle=0.02)
    with anyio.fail_after(10):
        async with table.use("in use"):
            await use(table, "sooner", found)
            await use(table, "later", found)
            table._entries["later"].used_at = time.monotonic() + 0.2
            while not found[0].closed:
                await anyio.lowlevel.checkpoint()
            assert found[1].closed == 0
            while not found[1].closed:
                await anyio.lowlevel.checkpoint()
    await table.close()


async def test_one_that_is_dropped_while_it_opens_is_closed_too() -> None:
    opening = Opening()
    table = SessionTable(opening, most=5, idle=60)
    errors: list[str] = []

    async def user() -> None:
        try:
            await use(table, "s1", [])
        except RuntimeError as error:
            errors.append(str(error))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(user)
            await opening.begun.wait()
            await table.drop("s1")
            opening.go_on.set()
    assert [one.closed for one in opening.made] == [1]
    assert errors == ["The session ended while this was being opened for it."]
    assert len(table) == 0


async def test_what_was_opened_for_nobody_goes_to_the_first_who_comes() -> None:
    opening, found = Opening(), list[Opened]()
    opening.go_on.set()
    table = SessionTable(opening, most=5, idle=60)
    async with table.use(None):
        pass
    await use(table, "s1", found)
    await use(table, "s2", found)
    assert found == opening.made
    assert len(opening.made) == 2


async def test_what_is_looked_up_once_survives_a_cancelled_first_caller() -> None:
    opening, found = Opening(), list[Opened]()
    once = Once(opening)
    with anyio.move_on_after(0):
        await once.get()

    async def get() -> None:
        found.append(await once.get())

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(get)
            group.start_soon(get)
            opening.go_on.set()
    assert len(opening.made) == 1
    assert found == opening.made * 2
