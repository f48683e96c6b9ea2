"""A store that fails in the middle of a run: nothing is lost, nothing runs twice, nobody is lied to."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

from toolwright import Agent, AgentTool, Runner, StoreError, tool
from toolwright.agent._log import Log
from toolwright.backends import Hold, MemoryStore
from toolwright.errors import StoreConflict
from toolwright.messages import Event, RunStarted, Scope, ToolEnded, ToolMessage, ToolStarted
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

Fault = Callable[[Sequence[Event]], str]
"""Says of a batch that is to be appended: "" (works), "before" or "after" (it took effect)."""


class FaultyStore(MemoryStore):
    """Fails as `fault` says."""

    def __init__(self, fault: Fault, error: Exception | None = None) -> None:
        super().__init__()
        self.fault = fault
        self.error = error or StoreError("connection reset")
        self.failures = 0

    async def append(
        self, scope: Scope, events: Sequence[Event], hold: Hold | None = None, **settings: Any
    ) -> None:
        moment = self.fault(events)
        await anyio.lowlevel.checkpoint()
        if moment != "before":
            await super().append(scope, events, hold, **settings)
        if moment:
            self.failures += 1
            raise self.error


def fails(moment: str, when: type[Event], times: int = 1) -> Fault:
    """Fail the first `times` batches that have an event of this type."""
    left = [times]

    def fault(events: Sequence[Event]) -> str:
        if left[0] and any(isinstance(event, when) for event in events):
            left[0] -= 1
            return moment
        return ""

    return fault


def paying(paid: list[int], *script: Any) -> tuple[Agent, ScriptedModel]:
    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    model = ScriptedModel(*script)
    return Agent(name="payer", model=model, tools=[pay]), model


def _texts(model: ScriptedModel) -> list[str]:
    """The results that the model was sent last."""
    messages = model.requests[-1].history
    return [r.text for m in messages if isinstance(m, ToolMessage) for r in m.results]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("when", [ToolStarted, ToolEnded])
async def test_a_write_that_fails_for_a_moment_is_made_again_and_the_run_goes_on(
    moment: str, when: type[Event]
) -> None:
    paid: list[int] = []
    agent, _ = paying(paid, [call("pay", amount=1), call("pay", amount=2)], "Done.")
    store = FaultyStore(fails(moment, when, times=3))
    result = await Runner(agent, store=store).run("Pay", session_id="s")
    assert (result.status, sorted(paid), store.failures) == ("done", [1, 2], 3)
    stored = await store.events(Scope(app_name="app", user_id="user", session_id="s"))
    assert [event.seq for event in stored] == list(range(1, len(stored) + 1))
    assert sum(isinstance(event, ToolEnded) for event in stored) == 2


@pytest.mark.parametrize("error", [OSError("disk"), ConnectionResetError("reset"), TimeoutError()])
async def test_what_a_store_of_ones_own_raises_of_the_system_is_retried_too(error: OSError) -> None:
    paid: list[int] = []
    agent, _ = paying(paid, call("pay", amount=1), "Done.")
    store = FaultyStore(fails("before", ToolStarted), error)
    result = await Runner(agent, store=store).run("Pay", session_id="s")
    assert (result.status, paid, store.failures) == ("done", [1], 1)


async def test_an_error_of_the_system_that_stays_ends_the_run_as_a_store_error() -> None:
    paid: list[int] = []
    agent, _ = paying(paid, call("pay", amount=1), "Done.")
    store = FaultyStore(fails("before", ToolStarted, times=10**9), OSError("disk"))
    with pytest.raises(StoreError, match="could not be stored: disk") as raised:
        await Runner(agent, store=store, retry_writes=0.01).run("Pay", session_id="s")
    assert isinstance(raised.value.__cause__, OSError)
    assert paid == []


async def test_when_the_store_stays_away_no_sibling_starts_and_the_caller_is_told_why() -> None:
    paid: list[int] = []
    agent, model = paying(
        paid, [call("pay", amount=1), call("pay", amount=2), call("pay", amount=3)], "."
    )
    store = FaultyStore(fails("before", ToolStarted, times=10**9))
    runner = Runner(agent, store=store, retry_writes=0.05)
    with pytest.raises(StoreError, match="connection reset"):
        await runner.run("Pay", session_id="s")
    assert paid == []
    assert len(model.requests) == 1, "no further model call on a broken log"


async def test_what_ran_before_the_store_went_away_is_not_run_again() -> None:
    paid: list[int] = []
    agent, model = paying(paid, call("pay", amount=1), "Done.")
    store = FaultyStore(fails("before", ToolEnded, times=10**9))
    with pytest.raises(StoreError):
        await Runner(agent, store=store, retry_writes=0.05).run("Pay", session_id="s")
    store.fault = lambda _: ""
    result = await Runner(agent, store=store).resume("s")
    assert (result.status, paid) == ("done", [1])
    assert "outcome is unknown" in _texts(model)[-1]


async def test_calls_inside_parallel_sub_agents_never_run_on_an_unstored_start() -> None:
    started: list[str] = []

    @tool
    async def pay(key: str) -> str:
        """Pay."""
        started.append(key)
        return "paid"

    subs = [
        Agent(
            name=f"sub{n}", description="s", tools=[pay],
            model=ScriptedModel([call("pay", key=f"{n}a"), call("pay", key=f"{n}b")], "ok"),
        )
        for n in range(4)
    ]  # fmt: skip
    calls = [call(f"sub{n}", request="go") for n in range(4)]
    agent = Agent(name="top", model=ScriptedModel(calls, "."), tools=[AgentTool(s) for s in subs])
    store = FaultyStore(fails("before", ToolStarted, times=10**9))
    with pytest.raises(StoreError):
        await Runner(agent, store=store, retry_writes=0.02).run("Pay", session_id="s")
    assert started == []


async def test_on_a_broken_log_not_even_a_reading_tool_or_the_model_is_called() -> None:
    looked: list[str] = []

    @tool(effects="read")
    async def look() -> str:
        """Look."""
        looked.append("look")
        return "."

    @tool
    async def pay() -> str:
        """Pay."""
        return "paid"

    model = ScriptedModel(call("pay"), [call("look"), call("look")], ".")
    store = FaultyStore(fails("before", ToolEnded, times=10**9))
    runner = Runner(Agent(name="a", model=model, tools=[look, pay]), store=store, retry_writes=0)
    with pytest.raises(StoreError):
        await runner.run("go", session_id="s")
    assert (looked, len(model.requests)) == ([], 1)


async def test_nothing_can_be_added_to_a_log_that_is_broken() -> None:
    store = FaultyStore(lambda _: "before")
    scope = Scope(app_name="app", user_id="ada", session_id="s")
    log = Log(scope, store, retry_seconds=0)
    log.add(RunStarted())
    with pytest.raises(StoreError) as first:
        await log.flush()
    with pytest.raises(StoreError) as second:
        log.add(RunStarted())
    with pytest.raises(StoreError) as third:
        await log.flush()
    assert first.value is second.value is third.value


async def test_another_writer_ends_the_run_at_once() -> None:
    paid: list[int] = []
    agent, _ = paying(paid, call("pay", amount=1), "Done.")

    class Taken(MemoryStore):
        async def append(
            self, scope: Scope, events: Sequence[Event], hold: Hold | None = None, **settings: Any
        ) -> None:
            if any(isinstance(event, ToolStarted) for event in events):
                raise StoreConflict("held by another worker")
            await super().append(scope, events, hold, **settings)

    with anyio.fail_after(5), pytest.raises(StoreConflict):
        await Runner(agent, store=Taken(), retry_writes=600).run("Pay", session_id="s")
    assert paid == []


async def test_a_store_error_of_a_tool_ends_the_run_after_its_siblings_and_is_not_for_the_model() -> (
    None
):
    finished: list[str] = []
    failing = [True]

    @tool(effects="read")
    async def look() -> str:
        """Looks something up in a database."""
        if failing:
            raise StoreError("the memory database is away")
        return "found"

    @tool
    async def note() -> str:
        """Takes a moment."""
        await anyio.lowlevel.checkpoint()
        finished.append("note")
        return "noted"

    model = ScriptedModel([call("look"), call("note")], "Done.")
    runner = Runner(Agent(name="a", model=model, tools=[look, note]))
    with pytest.raises(StoreError, match="memory database"):
        await runner.run("go", session_id="s")
    assert finished == ["note"]
    failing.clear()
    result = await runner.resume("s")
    assert (result.status, _texts(model), finished) == ("done", ["found", "noted"], ["note"])


async def test_a_run_that_is_cancelled_while_it_stores_stores_it_and_nothing_twice() -> None:
    paid: list[int] = []
    agent, _ = paying(paid, call("pay", amount=1), "Done.")
    reached = asyncio.Event()

    class Slow(MemoryStore):
        async def append(
            self, scope: Scope, events: Sequence[Event], hold: Hold | None = None, **settings: Any
        ) -> None:
            await super().append(scope, events, hold, **settings)
            if any(isinstance(event, ToolEnded) for event in events):
                reached.set()
                await anyio.sleep(0.01)

    store = Slow()
    run = asyncio.create_task(Runner(agent, store=store).run("Pay", session_id="s"))
    await reached.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    result = await Runner(agent, store=store).resume("s")
    assert (result.status, result.text, paid) == ("done", "Done.", [1])
