"""Who holds a session in a database, for how long, and what is seen of processes that are gone."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import Connection, delete, select, update
from tests._postgres import new_database

from toolwright import Agent, Runner
from toolwright.backends import Hold, Holder, SqlStore, _processes
from toolwright.backends._processes import Process, described, is_running, new_name, this_process
from toolwright.backends.sql import WORKERS, Roll
from toolwright.errors import SessionHeld, StoreError, UsageError
from toolwright.messages import Event, RunEnded, RunStarted, Scope, StateChanged
from toolwright.tasks import Orchestrator
from toolwright.tasks._task import task_scope
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio
ADA = Scope(app_name="app", user_id="ada", session_id="s1")
MINE = Hold(id="mine", since=1.0)
LEASE = 3000.0
"""So long that no heartbeat comes by itself: the tests beat."""
Store = Callable[[], SqlStore]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Opens the same database each time, as every process does for itself."""
    url = new_database() if request.param == "postgres" else f"sqlite:///{tmp_path}/s.db"
    opened: list[SqlStore] = []

    def make() -> SqlStore:
        opened.append(SqlStore(url, lease=LEASE))
        return opened[-1]

    yield make
    for made in opened:
        await made.close()


async def take(store: SqlStore, hold: Hold = MINE) -> None:
    row = await store.open(ADA)
    await store.append(ADA, [RunStarted(seq=row.last_seq + 1)], replace(hold, first=True))


async def held(store: SqlStore) -> Holder:
    found = await store.holder(ADA)
    assert found is not None
    return found


async def change(store: SqlStore, **values: Any) -> None:
    """As if the process that is signed in were another."""
    await store.database.write(lambda c: c.execute(update(WORKERS).values(**values)))


async def names(store: SqlStore) -> list[str]:
    return await store.database.read(lambda c: list(c.execute(select(WORKERS.c.name)).scalars()))


class Clocks:
    """The wall clock and the one that never jumps, each put forward as a test likes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall = self.steady = 0.0
        now, monotonic = time.time, time.monotonic
        monkeypatch.setattr(time, "time", lambda: now() + self.wall)
        monkeypatch.setattr(time, "monotonic", lambda: monotonic() + self.steady)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


# -- a process that is gone, or silent ---------------------------------------------------------


async def test_a_process_that_beats_holds_its_session_for_ever(
    store: Store, clocks: Clocks
) -> None:
    first, second = store(), store()
    await take(first)
    for _ in range(6):
        clocks.wall += LEASE * 0.9
        clocks.steady += LEASE * 0.9
        first._holds._beat()
        found = await held(second)
        assert (found.is_gone, found.known_in) == (False, 0.0)


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
async def test_a_clock_that_jumps_takes_no_session(
    tmp_path: Path, clocks: Clocks, jump: float
) -> None:
    first, second = (SqlStore(f"sqlite:///{tmp_path}/s.db", lease=LEASE) for _ in range(2))
    await take(first)
    clocks.wall += jump
    found = await held(second)
    assert not found.is_gone
    assert LEASE - 1 < found.known_in <= LEASE
    clocks.steady += LEASE - 1
    first._holds._beat()
    found = await held(second)
    assert (found.is_gone, found.known_in) == (False, 0.0)
    await first.close()
    await second.close()


async def test_a_silent_process_is_watched_for_a_lease_before_it_is_gone(
    store: Store, clocks: Clocks
) -> None:
    first, second = store(), store()
    await take(first)
    await change(second, beat_at=WORKERS.c.beat_at - LEASE)
    assert not (await held(second)).is_gone
    clocks.steady += LEASE - 1
    found = await held(second)
    assert not found.is_gone
    assert 0 < found.known_in <= 1
    clocks.steady += 1
    found = await held(second)
    assert (found.is_gone, found.known_in) == (True, 0.0)


async def test_a_silent_process_that_beats_while_it_is_watched_is_not_gone(
    store: Store, clocks: Clocks
) -> None:
    first, second = store(), store()
    await take(first)
    await change(second, beat_at=WORKERS.c.beat_at - LEASE)
    assert (await held(second)).known_in > 0
    clocks.steady += LEASE
    first._holds._beat()
    assert not (await held(second)).is_gone
    await change(second, beat_at=WORKERS.c.beat_at - LEASE)
    assert (await held(second)).known_in == pytest.approx(LEASE, abs=1)


async def test_a_process_that_is_silent_for_less_than_its_lease_keeps_its_session_whoever_looks(
    store: Store, clocks: Clocks
) -> None:
    first, second = store(), store()
    await take(first)
    await change(second, machine="elsewhere")
    workers = Roll(second.database)
    # By the clocks of some who look it has been silent for a day and more.
    for wall in (0.0, 90_000.0, -90_000.0):
        clocks.wall = wall
        assert await workers.cross_out_dead() == 0
        second._holds._beat()
        assert not (await held(second)).is_gone
        clocks.steady += LEASE * 0.33
    assert await workers.cross_out_dead() == 0
    second._holds._beat()
    assert not (await held(second)).is_gone
    clocks.steady += LEASE * 0.01
    assert (await held(second)).is_gone
    assert await workers.cross_out_dead() == 1


async def test_a_process_that_signs_in_again_is_not_taken_for_what_it_was_when_it_signed_in_first(
    store: Store, clocks: Clocks
) -> None:
    first, second = store(), store()
    await take(first)
    assert not (await held(second)).is_gone
    clocks.wall += LEASE
    clocks.steady += LEASE
    await change(second, name="crossed out by another")
    first._holds._beat()
    assert not (await held(second)).is_gone


async def test_a_run_whose_clock_is_a_day_off_is_told_that_the_session_is_held(
    tmp_path: Path, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (SqlStore(f"sqlite:///{tmp_path}/s.db", lease=LEASE) for _ in range(2))
    await take(first)
    await change(second, machine="elsewhere")
    beats = 0

    async def pause(seconds: float) -> None:
        """Pass the time at once; the holder, whose clock is right, beats four times in a lease."""
        nonlocal beats
        clocks.steady += seconds
        assert clocks.steady < 2 * LEASE, "it waits without end"
        if clocks.steady >= LEASE / 4 * (beats + 1):
            beats += 1
            clocks.wall = 0.0
            first._holds._beat()
            clocks.wall = 90_000.0

    monkeypatch.setattr(anyio, "sleep", pause)
    monkeypatch.setattr("toolwright.agent._patience._LONGEST_PAUSE", LEASE / 10)
    clocks.wall = 90_000.0
    runner = Runner(Agent(name="a", model=ScriptedModel("never")), store=second)
    with pytest.raises(SessionHeld, match="nothing was run here"):
        await runner.run("x", session_id="s1", user_id="ada")
    # It was watched until it showed life, not for ever.
    assert beats == 1
    await first.close()
    await second.close()


async def test_a_process_of_this_machine_that_has_ended_is_gone_at_once(store: Store) -> None:
    first, second = store(), store()
    await take(first)
    await change(second, pid=_ended().pid)
    assert (await held(second)).is_gone
    await second.append(
        ADA, [RunStarted(seq=2)], Hold(id="next", since=2.0, first=True, instead_of="mine")
    )
    with pytest.raises(SessionHeld, match="was taken over by process"):
        await first.append(ADA, [StateChanged(seq=2, delta={})], MINE)


async def test_a_process_whose_id_another_one_has_now_is_gone(store: Store) -> None:
    first, second = store(), store()
    await take(first)
    await change(second, started="long ago")
    assert (await held(second)).is_gone


async def test_of_another_machine_only_the_signs_of_life_are_known(store: Store) -> None:
    first, second = store(), store()
    await take(first)
    await change(second, machine="elsewhere", pid=_ended().pid)
    assert not (await held(second)).is_gone


async def test_a_process_that_was_crossed_out_wrongly_signs_in_again(store: Store) -> None:
    first, second = store(), store()
    await take(first)
    await second.database.write(lambda c: c.execute(delete(WORKERS)))
    assert (await held(second)).is_gone
    first._holds._beat()
    assert not (await held(second)).is_gone
    await first.append(ADA, [RunEnded(seq=2, status="done")], replace(MINE, last=True))


def _ended() -> Process:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return Process(this_process().machine, process.pid)


@pytest.fixture
def zombie() -> Iterator[Process]:
    """A process that was killed, and after which nobody has asked."""
    with subprocess.Popen(["sleep", "60"]) as process:
        machine = this_process().machine
        known = Process(machine, process.pid, _processes._state(process.pid)[1])
        assert is_running(known)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        yield known


def test_a_process_is_told_by_its_id_and_by_when_it_was_started(zombie: Process) -> None:
    me = this_process()
    assert is_running(me)
    assert is_running(replace(me, started=""))
    assert not is_running(replace(me, started="long ago"))
    assert not is_running(zombie)
    assert not is_running(_ended())
    assert is_running(replace(_ended(), machine="elsewhere"))
    assert described(new_name()).startswith(f"process {me.pid} on ")


# -- signs of life -----------------------------------------------------------------------------


async def test_a_process_signs_in_with_the_first_session_and_out_when_it_holds_none(
    store: Store,
) -> None:
    first, second = store(), store()
    await take(first)
    [name] = await names(second)
    holds = first._holds
    assert holds._heartbeat is not None
    holds._heartbeat.stop()
    for _ in range(8):
        assert holds._beat()
    await first.append(ADA, [RunEnded(seq=2, status="done")], replace(MINE, last=True))
    # A pause between two runs is no reason to leave.
    assert [holds._beat() for _ in range(4)] == [True, True, True, False]
    assert await names(second) == []
    await take(first, Hold(id="again", since=2.0))
    [again] = await names(second)
    assert again != name
    assert holds._heartbeat is not None


async def test_a_process_that_was_refused_shows_no_life_for_it(store: Store) -> None:
    first, second = store(), store()
    await take(first)
    with pytest.raises(SessionHeld):
        await take(second, Hold(id="another", since=2.0))
    assert (second._holds._live, second._holds._heartbeat) == (set(), None)
    assert await names(second) == [first._holds._name]


async def test_whoever_signs_in_crosses_out_processes_of_this_machine_that_have_ended(
    store: Store,
) -> None:
    first, second = store(), store()
    await take(first)
    await change(second, pid=_ended().pid)
    await take(second, Hold(id="x", since=2.0, instead_of="mine"))
    assert await names(second) == [second._holds._name]


async def test_a_process_elsewhere_that_is_silent_for_a_day_is_watched_and_then_crossed_out(
    store: Store, clocks: Clocks
) -> None:
    first, second = store(), store()
    await take(first)
    await change(second, machine="elsewhere", beat_at=WORKERS.c.beat_at - 86_401)
    another, own = replace(ADA, session_id="s2"), Hold(id="y", since=2.0, first=True)
    await second.open(another)
    await second.append(another, [RunStarted(seq=1)], own)
    # It may be the clock: a process that lives would beat.
    assert len(await names(second)) == 2
    clocks.steady += LEASE
    second._holds._beat()
    assert await names(second) == [second._holds._name]


async def test_a_runner_that_is_closed_leaves_the_runs_of_others_on_its_store_alive(
    store: Store, clocks: Clocks
) -> None:
    shared, other = store(), store()
    await take(shared)
    async with Runner(Agent(name="a", model=ScriptedModel("quick")), store=shared) as request:
        await request.run("x", session_id="s2")
    assert shared._holds._beats
    for _ in range(4):
        clocks.wall += LEASE / 2
        clocks.steady += LEASE / 2
        assert shared._holds._beat()
        assert not (await held(other)).is_gone
    await shared.append(ADA, [StateChanged(seq=2, delta={})], replace(MINE, last=True))
    await shared.close()
    assert shared._holds._heartbeat is None


async def test_a_store_says_that_it_shows_no_life_for_the_runs_on_it(
    store: Store, clocks: Clocks
) -> None:
    mine = store()
    assert mine.problem == ""
    await take(mine)
    assert mine.problem == ""
    mine._holds._heartbeat = None  # As if its thread had died.
    clocks.steady += LEASE + 1
    assert "no sign of life" in mine.problem


async def test_what_could_not_be_released_is_released_with_the_next_beat(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = store(), store()
    await take(first)
    write = first.database.write

    async def refuse(work: Any) -> Any:
        raise StoreError("the disk is full")

    monkeypatch.setattr(first.database, "write", refuse)
    await first.release(ADA, "mine")
    monkeypatch.setattr(first.database, "write", write)
    assert not (await held(second)).is_gone
    assert (await held(first)).is_gone, "its own process knows that the run is over"
    assert first._holds._beat()
    assert await second.holder(ADA) is None
    assert first._holds._owed == {}


@pytest.mark.parametrize("is_back", [True, False])
async def test_a_store_that_is_closed_releases_what_it_owes_if_it_can(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_back: bool
) -> None:
    first, second = store(), store()
    await take(first)

    async def refuse(work: Any) -> Any:
        raise StoreError("the disk is full")

    with monkeypatch.context() as away:
        away.setattr(first.database, "write", refuse)
        await first.release(ADA, "mine")
        if not is_back:
            await first.close()
    if is_back:
        await first.close()
        assert await second.holder(ADA) is None
        assert first._holds._owed == {}
    else:
        assert not (await held(second)).is_gone
        assert list(first._holds._owed) == ["mine"], "it may be used again, and pay then"
        assert "1 sessions are free when the lease is over: the disk is full" in caplog.text
    assert not first._holds._beats


@pytest.mark.parametrize("times", [1, 2])
async def test_a_run_whose_append_is_under_way_when_it_is_cancelled_leaves_its_session_free(
    store: Store, times: int
) -> None:
    mine, other = store(), store()
    await mine.open(ADA)
    runner = Runner(Agent(name="a", model=ScriptedModel("hi")), store=mine)
    may_commit = threading.Event()
    began = threading.Event()

    def slow(connection: Connection, scope: Scope, events: Sequence[Event], *, waits: bool) -> None:
        began.set()
        assert may_commit.wait(10)

    mine.on_append = slow
    run = asyncio.create_task(runner.run("x", user_id="ada", session_id="s1"))
    await asyncio.to_thread(began.wait, 10)
    for _ in range(times):
        run.cancel()
        for _ in range(20):  # So that whoever does not wait is far ahead.
            await asyncio.sleep(0)
    may_commit.set()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await other.holder(ADA) is None


async def test_a_release_that_is_cancelled_is_finished(store: Store) -> None:
    mine, other = store(), store()
    await take(mine)
    release = asyncio.create_task(mine.release(ADA, MINE.id))
    for _ in range(3):
        await asyncio.sleep(0)
        release.cancel()
    with pytest.raises(asyncio.CancelledError):
        await release
    assert await other.holder(ADA) is None


async def test_a_beat_that_fails_is_not_the_last(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/s.db", lease=0.02)
    beats: list[str] = []
    beat = store._holds._beat

    def fail_at_first() -> bool:
        beats.append("beat")
        if len(beats) == 1:
            raise StoreError("the disk is full")
        if len(beats) == 2:
            raise RuntimeError("a mistake")
        return beat()

    store._holds._beat = fail_at_first  # type: ignore[method-assign]
    await take(store)
    await store.append(ADA, [RunEnded(seq=2, status="done")], replace(MINE, last=True))
    heartbeat = store._holds._heartbeat
    assert heartbeat is not None
    heartbeat._thread.join(20)
    assert len(beats) >= 6, "two that failed, and four that had nothing to show life for"
    assert await names(store) == []
    await store.close()


def test_a_lease_is_positive() -> None:
    with pytest.raises(UsageError, match="lease must be positive; got 0"):
        SqlStore("sqlite:///x.db", lease=0)


# -- what it costs -----------------------------------------------------------------------------


async def test_a_run_that_holds_its_session_writes_no_more_often(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, writes = store(), []
    write = made.database.write

    async def count(work: Any, **how: Any) -> Any:
        writes.append(work)
        return await write(work, **how)

    monkeypatch.setattr(made.database, "write", count)
    runner = Runner(Agent(name="a", model=ScriptedModel("Fine.", "Fine.")), store=made)
    await runner.run("go", session_id="s")
    assert len(writes) == 3, "the session, the run's beginning and its end"
    await runner.run("go", session_id="s")
    assert len(writes) == 5


async def test_the_session_of_a_task_is_held_by_its_worker_alone(tmp_path: Path) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    seen: list[Any] = []

    async def look(_: Any) -> str:
        seen.extend([await made.store.holder(task_scope(task_id, "")), await names(made.store)])
        return "done"

    made.register(Agent(name="a", model=ScriptedModel(look)))
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            task_id = await made.enqueue("a", "go")
            group.start_soon(worker.run)
            task = await made.wait(task_id)
            worker.drain()
    assert (task.status, seen) == ("COMPLETED", [None, [worker.name]])
    await made.close()
