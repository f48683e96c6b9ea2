"""What several sessions make of `app:` and `user:` state at the same time is not lost."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests._postgres import new_database

from toolwright import Agent, Runner, ToolContext, deferred_tool, tool
from toolwright.backends import MemoryStore, Store, open_store
from toolwright.errors import StoreError
from toolwright.messages import PendingRequest, ToolEnded
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Output, Tool

pytestmark = pytest.mark.anyio
MakeStore = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MakeStore]:
    """A connection for each process; what is in memory is only in one."""
    made: list[Store] = [MemoryStore()]
    address = {"memory": str, "sqlite": lambda: f"sqlite:///{tmp_path}/s.db"}
    url = address.get(request.param, new_database)()

    def connect() -> Store:
        made.append(open_store(url) if url else made[0])
        return made[-1]

    yield connect
    for store in made:
        await store.close()


class Together:
    """Lets calls of several sessions go on when all have come so far."""

    def __init__(self, number: int) -> None:
        self._left = number
        self._all = anyio.Event()

    async def wait(self) -> None:
        self._left -= 1
        if not self._left:
            self._all.set()
        with anyio.fail_after(20):
            await self._all.wait()


async def run_in(store: Store, session_id: str, used: Tool, **arguments: Any) -> str:
    """What the model reads of one call in a session."""
    model = ScriptedModel(call(used.name, **arguments), "done")
    runner = Runner(Agent(name="a", model=model, tools=[used]), store=store)
    result = await runner.run("go", user_id="ada", session_id=session_id)
    assert result.status == "done"
    [ended] = [event for event in result.events if isinstance(event, ToolEnded)]
    [stored] = [e for e in await runner.events(session_id) if isinstance(e, ToolEnded)]
    assert stored == ended
    [read] = [r for m in result.history if m.kind == "tool" for r in m.results]
    assert read == ended.result, "the model reads what is stored"
    return f"{ended.result.status}: {ended.result.text}"


@pytest.mark.parametrize("key", ["app:n", "user:n"])
async def test_changes_by_several_sessions_at_once_all_count(make: MakeStore, key: str) -> None:
    together = Together(4)

    @tool
    async def count(tool_context: ToolContext) -> str:
        """Count twice."""
        for _ in range(2):
            tool_context.state.change(key, lambda n: n + 1, default=10)
        tool_context.state["own"] = "mine"
        await together.wait()
        return "ok"

    stores = [make() for _ in range(4)]
    async with anyio.create_task_group() as group:
        for number, store in enumerate(stores):
            group.start_soon(run_in, store, f"s{number}", count)
    again = Runner(Agent(name="a", model=ScriptedModel()), store=stores[0])
    for number in range(4):
        assert await again.state(f"s{number}") == {key: 18, "own": "mine"}
    deltas = []
    for number in range(4):
        [ended] = [e for e in await again.events(f"s{number}") if isinstance(e, ToolEnded)]
        assert ended.actions is not None
        deltas.append(ended.actions.state_delta[key])
    assert sorted(deltas) == [12, 14, 16, 18], "each log says what its call has made of it"


async def test_a_write_after_another_session_s_change_fails_and_the_next_call_reads_it(
    make: MakeStore,
) -> None:
    first_may_end, first_has_read = anyio.Event(), anyio.Event()

    @tool
    async def add(item: str, tool_context: ToolContext) -> str:
        """Add to the cart."""
        items = tool_context.state.get("user:cart", [])
        if item == "slow":
            first_has_read.set()
            await first_may_end.wait()
        tool_context.state["user:cart"] = [*items, item]
        tool_context.state["own"] = item
        return "added"

    model = ScriptedModel(call("add", item="slow"), call("add", item="again"), "done")
    store = make()
    runner = Runner(Agent(name="a", model=model, tools=[add]), store=store)
    results: list[Any] = []

    async def slow() -> None:
        results.append(await runner.run("go", user_id="ada", session_id="phone"))

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(slow)
            await first_has_read.wait()
            assert await run_in(make(), "laptop", add, item="quick") == "ok: added"
            first_may_end.set()
    ended = [e.result for e in results[0].events if isinstance(e, ToolEnded)]
    assert [result.status for result in ended] == ["error", "ok"]
    assert "'user:cart' was changed by another session" in ended[0].text
    read = [r for m in results[0].history if m.kind == "tool" for r in m.results]
    assert read == ended, "the model reads what is stored"
    state = await runner.state("phone")
    assert state == {"user:cart": ["quick", "again"], "own": "again"}


async def test_a_call_whose_write_fails_does_not_end_the_run_though_it_was_to(
    make: MakeStore,
) -> None:
    @tool
    async def add(item: str, tool_context: ToolContext) -> str:
        """Add to the cart, and be done."""
        items = tool_context.state.get("user:cart", [])
        if item == "mine":
            assert await run_in(make(), "laptop", add, item="theirs") == "ok: added"
        tool_context.state["user:cart"] = [*items, item]
        tool_context.actions.skip_summarization = item == "mine"
        return "added"

    model = ScriptedModel(call("add", item="mine"), "It was not added.")
    runner = Runner(Agent(name="a", model=model, tools=[add]), store=make())
    result = await runner.run("go", user_id="ada", session_id="phone")
    assert (result.status, result.text) == ("done", "It was not added.")


async def test_what_is_written_without_being_read_is_written(make: MakeStore) -> None:
    together = Together(2)

    @tool
    async def choose(colour: str, tool_context: ToolContext) -> str:
        """Choose."""
        tool_context.state["user:colour"] = colour
        await together.wait()
        return "chosen"

    said: list[str] = []

    async def one(colour: str) -> None:
        said.append(await run_in(make(), colour, choose, colour=colour))

    async with anyio.create_task_group() as group:
        for colour in ("red", "blue"):
            group.start_soon(one, colour)
    assert said == ["ok: chosen"] * 2


@pytest.mark.parametrize("fails", ["before", "after"])
async def test_a_write_that_the_store_refuses_is_counted_once(fails: str) -> None:
    class Refusing(MemoryStore):
        refused = False

        async def append(self, *args: Any, **settings: Any) -> None:
            first = bool(settings.get("expected")) and not self.refused
            if not (first and fails == "before"):
                await super().append(*args, **settings)
            if first:
                self.refused = True
                raise StoreError("the connection was lost")

    @tool
    async def count(tool_context: ToolContext) -> str:
        """Count."""
        tool_context.state.change("app:n", lambda n: n + 1, default=0)
        return "ok"

    store = Refusing()
    assert await run_in(store, "s", count) == "ok: ok"
    assert store.refused
    runner = Runner(Agent(name="a", model=ScriptedModel()), store=store)
    assert await runner.state("s") == {"app:n": 1}


async def test_a_change_that_cannot_be_made_again_fails_with_the_reason(make: MakeStore) -> None:
    together = Together(2)

    def only_once(value: int | None) -> int:
        if value is not None:
            raise ValueError("it is there")
        return 1

    @tool
    async def begin(tool_context: ToolContext) -> str:
        """Begin."""
        tool_context.state.change("app:begun", only_once)
        await together.wait()
        return "begun"

    said: list[str] = []

    async def one(session_id: str) -> None:
        said.append(await run_in(make(), session_id, begin))

    async with anyio.create_task_group() as group:
        for name in ("s1", "s2"):
            group.start_soon(one, name)
    expected = "error: State could not be changed once more: ValueError('it is there')."
    assert sorted(said) == [expected, "ok: begun"]


@pytest.mark.parametrize("waits", [True, False])
async def test_a_call_whose_result_follows_later_counts_once_and_undoes_nothing(
    make: MakeStore, waits: bool
) -> None:
    @deferred_tool(name="order")
    async def waiting(tool_context: ToolContext) -> None:
        """Order."""
        tool_context.state.change("app:orders", lambda n: n + 1, default=0)

    @tool(name="order")
    async def going_on(tool_context: ToolContext) -> Output:
        """Order."""
        tool_context.state.change("app:orders", lambda n: n + 1, default=0)
        return Output(text="on its way", request=PendingRequest(kind="result", blocking=False))

    order = waiting if waits else going_on
    for name in ("s1", "s2"):
        runner = Runner(
            Agent(name="a", model=ScriptedModel(call("order"), "ok"), tools=[order]), store=make()
        )
        result = await runner.run("go", user_id="ada", session_id=name)
        assert result.status == ("paused" if waits else "done")
    assert await runner.state("s1") == {"app:orders": 2}


async def test_a_waiting_call_that_overwrites_what_another_session_wrote_says_so(
    make: MakeStore, caplog: pytest.LogCaptureFixture
) -> None:
    together = Together(2)

    @deferred_tool()
    async def order(tool_context: ToolContext) -> None:
        """Order."""
        known = tool_context.state.get("app:orders", [])
        tool_context.state["app:orders"] = [*known, tool_context.session.id]
        await together.wait()

    async def one(session_id: str) -> None:
        model = ScriptedModel(call("order"), "ok")
        runner = Runner(Agent(name="a", model=model, tools=[order]), store=make())
        result = await runner.run("go", user_id="ada", session_id=session_id)
        assert result.status == "paused"

    async with anyio.create_task_group() as group:
        for name in ("s1", "s2"):
            group.start_soon(one, name)
    runner = Runner(Agent(name="a", model=ScriptedModel(), tools=[order]), store=make())
    [last] = (await runner.state("s1"))["app:orders"]
    warned = [m for m in caplog.messages if "changed by another session" in m]
    assert len(warned) == 1
    assert warned[0].startswith(f"session {last}: ")
