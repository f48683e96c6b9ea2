"""At its start a server goes on with what was cut off or answered, and leaves alone what was stopped."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from toolwright import Agent, Approve, LongRunningFunctionTool, Runner, deferred_tool, tool
from toolwright.backends import SessionRow, Store, open_store
from toolwright.errors import StoreError
from toolwright.messages import (
    CancelRequested,
    Event,
    RunEnded,
    RunStarted,
    Scope,
    ToolEnded,
    ToolResult,
    user_message,
)
from toolwright.serve import ServeSettings, _background, create_app
from toolwright.serve.live import LiveRuns
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
SCOPE = Scope(app_name="app", user_id="local", session_id="s")
RESULT = ToolResult(call_id="call-1", name="work", status="error")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db")


@asynccontextmanager
async def served(runner: Runner) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(runner, settings=ServeSettings(requests_per_second=0))
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            yield http


async def becomes(http: httpx2.AsyncClient, wanted: str, session_id: str = "s") -> None:
    with anyio.fail_after(30):
        while (await http.get(f"/api/sessions/{session_id}")).json()["status"] != wanted:
            await anyio.lowlevel.checkpoint()


def started(number: int = 1) -> Event:
    return RunStarted(seq=number, at=1.0, message=user_message("go"))


class Paying:
    """A runner whose agent pays when a person lets it."""

    def __init__(self, store: Store, *turns: Any, tools: Sequence[Any] = ()) -> None:
        self.paid: list[int] = []

        @tool(require_confirmation=True)
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        agent = Agent(name="payer", model=ScriptedModel(*turns), tools=[pay, *tools])
        self.runner = Runner(agent, store=store)


async def test_all_that_was_interrupted_goes_on_the_latest_first_with_pauses_and_is_logged(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "toolwright.serve")
    pauses: list[float] = []
    real = anyio.sleep

    async def sleep(seconds: float) -> None:
        if seconds == _background._RESUME_PAUSE:
            pauses.append(seconds)
            seconds = 0
        await real(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    names = [f"s{number}" for number in range(230)]
    for name in names:
        scope = Scope(app_name="app", user_id="local", session_id=name)
        await store.open(scope)
        end = [RunEnded(seq=2, at=1.0, status="done")] if name in ("s3", "s200") else []
        await store.append(scope, [started(), *end])
    going = [name for name in names if name not in ("s3", "s200")]
    async with served(Paying(store, *["Done."] * len(going)).runner) as http:
        await becomes(http, "done", going[0])
    logged = [r.getMessage() for r in caplog.records if r.name == _background.__name__]
    assert logged[0] == "Going on with 228 sessions that were interrupted or answered"
    assert [line.split()[1] for line in logged[1:]] == going[::-1]
    assert len(pauses) >= len(going) - 1
    assert _background._RESUME_PAUSE > 0


async def test_one_session_that_cannot_go_on_keeps_no_other_from_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("s", "newer"):
        scope = Scope(app_name="app", user_id="local", session_id=name)
        await store.open(scope)
        await store.append(scope, [started()])
    runner = Paying(store, "Done.").runner
    real = runner.store.find

    async def find(app_name: str, session_id: str) -> Any:
        if session_id == "newer":
            raise RuntimeError("its row is broken")
        return await real(app_name, session_id)

    monkeypatch.setattr(type(store), "find", staticmethod(find))
    async with served(runner) as http:
        await becomes(http, "done")
    assert "Session newer cannot be resumed: its row is broken" in caplog.text


async def test_what_was_answered_just_before_the_server_died_goes_on_at_its_start(
    store: Store,
) -> None:
    first = Paying(store, call("pay", amount=1))
    paused = await first.runner.run("go", user_id="local", session_id="s")
    assert await first.runner.answer("s", paused.pending[0].call_id, Approve()) == "accepted"
    second = Paying(store, "Done.")
    async with served(second.runner) as http:
        await becomes(http, "done")
    assert second.paid == [1]


async def test_what_still_waits_for_another_answer_goes_on_waiting(store: Store) -> None:
    first = Paying(store, [call("pay", amount=1), call("pay", amount=2)])
    paused = await first.runner.run("go", user_id="local", session_id="s")
    one, other = [pending.call_id for pending in paused.pending]
    await first.runner.answer("s", one, Approve())
    second = Paying(store, "Done.")
    async with served(second.runner) as http:
        await becomes(http, "waiting")
        body = {"call_id": other, "answer": {"kind": "approve"}}
        assert (await http.post("/api/sessions/s/answers", json=body)).status_code == 200
        await becomes(http, "done")
    assert sorted(second.paid) == [1, 2]


async def test_the_same_answer_again_sets_going_what_nobody_went_on_with(store: Store) -> None:
    paying = Paying(store, call("pay", amount=1), "Done.")
    async with served(paying.runner) as http:
        paused = await paying.runner.run("go", user_id="local", session_id="s")
        call_id = paused.pending[0].call_id
        await paying.runner.answer("s", call_id, Approve())  # by a process that dies here
        body = {"call_id": call_id, "answer": {"kind": "approve"}}
        for _ in range(2):
            assert (await http.post("/api/sessions/s/answers", json=body)).status_code == 409
            await becomes(http, "done")
    assert paying.paid == [1]
    ends = [e for e in await store.events(SCOPE) if isinstance(e, RunEnded)]
    assert [end.status for end in ends] == ["paused", "done"]


class Slow:
    """A runner whose tool takes its time to clean up when it is cancelled."""

    def __init__(self, store: Store) -> None:
        self.begun, self.cleaning, self.may_end = anyio.Event(), anyio.Event(), anyio.Event()

        @tool(idempotent=True)
        async def work() -> None:
            """Work."""
            self.begun.set()
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    self.cleaning.set()
                    await self.may_end.wait()

        agent = Agent(name="slow", model=ScriptedModel(call("work")), tools=[work])
        self.runner = Runner(agent, store=store)


async def test_a_person_s_stop_outlives_a_stop_of_the_server(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, stop_all = Slow(store), LiveRuns._stop_all

    async def stopping(runs: LiveRuns) -> None:
        slow.may_end.set()  # The run ends while the server does.
        await stop_all(runs)

    monkeypatch.setattr(LiveRuns, "_stop_all", stopping)
    async with served(slow.runner) as http:
        await http.post("/api/sessions", json={"session_id": "s"})
        await http.post("/api/sessions/s/runs", json={"message": "go"})
        with anyio.fail_after(20):
            await slow.begun.wait()
            assert (await http.post("/api/sessions/s/cancel")).status_code == 204
            assert any(isinstance(e, CancelRequested) for e in await store.events(SCOPE))
            await slow.cleaning.wait()
    await _stays_stopped(store)
    assert sum(isinstance(event, RunEnded) for event in await store.events(SCOPE)) == 1


@pytest.mark.parametrize("after", [0, 1])
async def test_a_person_s_stop_outlives_the_death_of_the_server(store: Store, after: int) -> None:
    await store.open(SCOPE)
    earlier = [started(), RunEnded(seq=2, at=1.0, status="done"), started(3)]
    tail = [ToolEnded(seq=5, at=1.0, result=RESULT)] * after
    await store.append(SCOPE, [*earlier, CancelRequested(seq=4, at=1.0), *tail])
    await _stays_stopped(store)
    assert isinstance((await store.events(SCOPE))[-1], RunEnded)


async def test_what_was_stopped_before_and_then_begun_again_goes_on(store: Store) -> None:
    await store.open(SCOPE)
    stopped = [started(), CancelRequested(seq=2, at=1.0), RunEnded(seq=3, at=1.0, status="stopped")]
    await store.append(SCOPE, [*stopped, started(4)])
    async with served(Paying(store, "Done.").runner) as http:
        await becomes(http, "done")


async def _stays_stopped(store: Store) -> None:
    paying = Paying(store)  # whose model has nothing to say
    async with served(paying.runner) as http:
        await becomes(http, "stopped")
    assert await paying.runner.unfinished() == []
    last = (await store.events(SCOPE))[-1]
    assert isinstance(last, RunEnded)
    assert (last.status, last.reason) == ("stopped", "cancelled")


async def test_cancel_for_good_of_nothing_is_no_cancel(store: Store) -> None:
    paying = Paying(store, "Done.")
    await paying.runner.run("go", user_id="local", session_id="s")
    assert not await paying.runner.cancel_for_good("s")
    assert not any(isinstance(e, CancelRequested) for e in await store.events(SCOPE))


async def test_what_another_process_leaves_behind_later_is_tried_once(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_background, "_SUCCESSION_SECONDS", 0.001)
    runner = Paying(store, "Done.").runner
    take_over, unfinished = LiveRuns.take_over, store.unfinished
    looks = 0

    async def go_on_with_most(self: LiveRuns, row: SessionRow) -> None:
        if row.scope.session_id == "broken":
            raise RuntimeError("it is broken")
        await take_over(self, row)

    async def counted(app_name: str) -> Any:
        nonlocal looks
        looks += 1
        return await unfinished(app_name)

    monkeypatch.setattr(LiveRuns, "take_over", go_on_with_most)
    monkeypatch.setattr(type(store), "unfinished", staticmethod(counted))
    async with served(runner) as http:
        for name in ("broken", "s"):
            scope = Scope(app_name="app", user_id="local", session_id=name)
            await store.open(scope)
            await store.append(scope, [started()])
        await becomes(http, "done")
        seen = looks
        with anyio.fail_after(30):
            while looks < seen + 6:
                await anyio.lowlevel.checkpoint()
    refused = [r for r in caplog.records if "cannot be resumed" in r.getMessage()]
    assert len(refused) == 1


async def looks(store: Store, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Waits for so many further looks of the server for what others have left behind."""
    monkeypatch.setattr(_background, "_SUCCESSION_SECONDS", 0.001)
    unfinished, count = store.unfinished, 0

    async def counted(app_name: str) -> Any:
        nonlocal count
        count += 1
        return await unfinished(app_name)

    async def wait(number: int) -> None:
        seen = count
        with anyio.fail_after(30):
            while count < seen + number:
                await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(type(store), "unfinished", staticmethod(counted))
    return wait


async def test_what_another_process_leaves_behind_is_tried_again_when_the_store_failed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await looks(store, monkeypatch)
    take_over, failed = LiveRuns.take_over, []

    async def go_on_later(self: LiveRuns, row: SessionRow) -> None:
        if len(failed) < 3:
            failed.append(row)
            raise StoreError("away")
        await take_over(self, row)

    monkeypatch.setattr(LiveRuns, "take_over", go_on_later)
    async with served(Paying(store, "Done.").runner) as http:
        await store.open(SCOPE)
        await store.append(SCOPE, [started()])
        await becomes(http, "done")


DONE = RunEnded(seq=3, at=1.0, status="done", text="Done elsewhere.")
STOPPED = RunEnded(seq=3, at=1.0, status="stopped", reason="cancelled")
CANCELLED = CancelRequested(seq=2, at=1.0)
NEXT = started(2)


@pytest.mark.parametrize(
    ("left", "meanwhile"),
    [(NEXT, DONE), (NEXT, STOPPED), (CANCELLED, STOPPED), (CANCELLED, DONE)],
    ids=["done", "stopped by a person", "cancelled and stopped", "cancelled and done"],
)
async def test_a_takeover_adds_nothing_to_a_session_that_another_process_has_just_ended(
    store: Store, monkeypatch: pytest.MonkeyPatch, left: Event, meanwhile: Event
) -> None:
    """It looked interrupted; between that look and the run that is to take it, it ended."""
    wait = await looks(store, monkeypatch)
    load, tried = store.load, anyio.Event()

    async def ended_first(scope: Scope) -> Any:
        if not tried.is_set():
            await store.append(SCOPE, [meanwhile])
            tried.set()
        return await load(scope)

    await store.open(SCOPE)
    await store.append(SCOPE, [started(), left])
    monkeypatch.setattr(type(store), "load", staticmethod(ended_first))
    async with served(Paying(store).runner):
        with anyio.fail_after(30):
            await tried.wait()
        await wait(4)
    assert [event.seq for event in await store.events(SCOPE)] == [1, 2, 3]


async def test_a_takeover_begins_nothing_in_a_session_that_was_begun_anew(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = await looks(store, monkeypatch)
    load, tried = store.load, anyio.Event()

    async def deleted_first(scope: Scope) -> Any:
        if not tried.is_set():
            await store.delete(SCOPE)
            await store.open(SCOPE)
            # As many events, and ended: nothing to take over.
            await store.append(SCOPE, [started(), replace(STOPPED, seq=2)])
            tried.set()
        return await load(scope)

    await store.open(SCOPE)
    await store.append(SCOPE, [started(), NEXT])
    monkeypatch.setattr(type(store), "load", staticmethod(deleted_first))
    async with served(Paying(store).runner):
        with anyio.fail_after(30):
            await tried.wait()
        await wait(4)
    assert [event.seq for event in await store.events(SCOPE)] == [1, 2]


@pytest.mark.parametrize("then", ["done", "paused"])
async def test_an_answered_session_with_which_another_process_has_just_gone_on_gets_no_empty_run(
    store: Store, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    wait = await looks(store, monkeypatch)
    last = "Paid." if then == "done" else call("pay", amount=2)
    paying = Paying(store, call("pay", amount=1), last)
    [asked] = (await paying.runner.run("go", user_id="local", session_id="s")).pending
    await paying.runner.answer("s", asked.call_id, Approve())
    other = Runner(paying.runner.agent, store=store)
    load, begun, tried = store.load, anyio.Event(), anyio.Event()

    async def finished_first(scope: Scope) -> Any:
        if not begun.is_set():
            begun.set()
            await other.resume("s")
            tried.set()
        return await load(scope)

    monkeypatch.setattr(type(store), "load", staticmethod(finished_first))
    async with served(paying.runner):
        with anyio.fail_after(30):
            await tried.wait()
        await wait(4)
    ends = [event for event in await store.events(SCOPE) if isinstance(event, RunEnded)]
    assert ([end.status for end in ends], paying.paid) == (["paused", then], [1])


async def test_a_session_that_is_deleted_while_it_is_looked_at_hurts_nobody(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = await looks(store, monkeypatch)
    unfinished = store.unfinished
    gone = SessionRow(scope=SCOPE, title="", created_at=1.0, updated_at=1.0, last_seq=3)

    async def with_one_that_is_gone(app_name: str) -> list[SessionRow]:
        return [gone, *await unfinished(app_name)]

    monkeypatch.setattr(type(store), "unfinished", staticmethod(with_one_that_is_gone))
    async with served(Paying(store).runner) as http:
        await wait(4)
        assert (await http.get("/api/health")).status_code == 200


async def test_a_session_begun_anew_is_not_shown_with_the_end_of_the_old_one(store: Store) -> None:
    async with served(Paying(store).runner) as http:
        await store.open(SCOPE)
        await store.append(SCOPE, [started(), RunEnded(seq=2, at=1.0, status="done")])
        await becomes(http, "done")
        await store.delete(SCOPE)
        await store.open(SCOPE)
        await store.append(SCOPE, [started(1), started(2)])
        assert (await http.get("/api/sessions/s")).json()["status"] == "interrupted"


async def test_a_run_that_a_person_stopped_stays_so_though_an_answer_came(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = await looks(store, monkeypatch)
    lingers = anyio.Event()

    @tool
    async def linger() -> str:
        """Take long."""
        lingers.set()
        await anyio.sleep_forever()
        return ""

    paying = Paying(store, [call("pay", amount=9), call("linger")], "Done.", tools=[linger])
    async with served(paying.runner) as http:
        session = (await http.post("/api/sessions", json={})).json()["id"]
        await http.post(f"/api/sessions/{session}/runs", json={"message": "go"})
        with anyio.fail_after(30):
            await lingers.wait()
            while not (waiting := (await http.get("/api/pending")).json()):
                await anyio.lowlevel.checkpoint()
        answer = {"call_id": waiting[0]["pending"]["call_id"], "answer": {"kind": "approve"}}
        answered = await http.post(f"/api/sessions/{session}/answers", json=answer)
        assert answered.status_code == 200
        assert (await http.post(f"/api/sessions/{session}/cancel")).status_code == 204
        await becomes(http, "stopped", session)
        await wait(6)
        assert (await http.get(f"/api/sessions/{session}")).json()["status"] == "stopped"
    assert paying.paid == []


def impatient(store: Store, kind: str) -> Runner:
    """A runner whose agent asks the supplier, who has a moment to answer."""

    def supplier() -> dict[str, str]:
        """Ask the supplier."""
        return {"status": "pending"}

    late = LongRunningFunctionTool(supplier, timeout=0.2)
    asks = late if kind == "late" else deferred_tool(timeout=0.2)(supplier)
    model = ScriptedModel(call("supplier"), *["Asked."] * (kind == "late"), "Nobody answered.")
    return Runner(Agent(name="buyer", model=model, tools=[asks]), store=store)


async def is_told(runner: Runner, http: httpx2.AsyncClient) -> None:
    """The model hears that nobody has answered, and nothing waits any more."""
    await becomes(http, "done")
    assert (await http.get("/api/pending")).json() == []
    ends = [e.text for e in await runner.events("s") if isinstance(e, RunEnded)]
    assert ends[-1] == "Nobody answered."


@pytest.mark.parametrize("kind", ["blocking", "late"])
async def test_a_session_goes_on_when_a_deadline_passes(
    store: Store, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_background, "_SUCCESSION_SECONDS", 0.001)
    runner = impatient(store, kind)
    async with served(runner) as http:
        await runner.run("order", user_id="local", session_id="s")
        await is_told(runner, http)


@pytest.mark.parametrize("kind", ["blocking", "late"])
async def test_a_session_where_a_deadline_has_passed_can_be_resumed_by_hand(
    store: Store, kind: str
) -> None:
    runner = impatient(store, kind)
    async with served(runner) as http:
        await runner.run("order", user_id="local", session_id="s")
        with anyio.fail_after(30):
            while not await store.unfinished("app"):
                await anyio.lowlevel.checkpoint()
        assert (await http.post("/api/sessions/s/resume")).status_code == 202
        await is_told(runner, http)
