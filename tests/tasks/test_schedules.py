"""Schedules: each tick once, however many workers look, whatever the clocks do."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import pytest
from sqlalchemy import literal

from toolwright import Agent
from toolwright.backends.sql import Database
from toolwright.errors import UsageError
from toolwright.tasks import Orchestrator, Task, _schedule
from toolwright.tasks._bell import LATER
from toolwright.tasks._schedule import next_tick
from toolwright.testing import ScriptedModel

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]
BERLIN = ZoneInfo("Europe/Berlin")


class Clock:
    """The clock that all who use the database share."""

    def __init__(self, at: str) -> None:
        self.now = datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()

    def set(self, at: str) -> None:
        self.now = datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock("2026-11-16 06:59:30")
    monkeypatch.setattr(Database, "clock", lambda _: literal(clock.now))
    return clock


def at(moment: float | None) -> str:
    assert moment is not None
    return datetime.fromtimestamp(moment, UTC).strftime("%m-%d %H:%M")


async def fire(made: Orchestrator) -> list[Any]:
    fired, _ = await made._schedules.fire_due()
    return fired


async def started(made: Orchestrator, name: str = "a") -> list[Task]:
    return list(await made.list(tag=f"schedule:{name}"))


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        # The clocks go from 2:00 to 3:00: what was to run in between runs right after.
        ("30 2 * * *", "2026-03-28 03:00", ["2026-03-29 03:00", "2026-03-30 02:30"]),
        ("0 * * * *", "2026-03-29 01:10", ["2026-03-29 03:00", "2026-03-29 04:00"]),
        # They go from 3:00 to 2:00: it runs once, and what runs each hour, each hour.
        ("30 2 * * *", "2026-10-24 03:00", ["2026-10-25 02:30", "2026-10-26 02:30"]),
        ("0 * * * *", "2026-10-25 01:10", ["2026-10-25 02:00", "2026-10-25 02:00 again"]),
        ("0 9 * * 1-5", "2026-11-13 10:00", ["2026-11-16 09:00", "2026-11-17 09:00"]),
    ],
)
def test_ticks_are_told_by_the_clocks_of_the_place(
    cron: str, after: str, expected: list[str]
) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=BERLIN).timestamp()
    seen: list[str] = []
    for _ in expected:
        later = next_tick(cron, "Europe/Berlin", moment)
        assert later > moment
        moment = later
        local = datetime.fromtimestamp(moment, BERLIN)
        seen.append(local.strftime("%Y-%m-%d %H:%M") + (" again" if local.fold else ""))
    assert seen == expected


async def test_a_tick_starts_one_task_however_many_workers_look(url: str, clock: Clock) -> None:
    async with Orchestrator(url) as made:
        made.register(Agent(name="a"))
        planned = await made.schedule("a", "report", cron="0 7 * * *", owner_id="ada", priority=3)
        assert at(planned.next_at) == "11-16 07:00"
        assert await fire(made) == []
        clock.set("2026-11-16 07:00:01")
        others = [Orchestrator(url) for _ in range(6)]
        async with anyio.create_task_group() as group:
            for other in others:
                group.start_soon(fire, other)
        [task] = await started(made)
        assert (task.owner_id, task.priority, task.status) == ("ada", 3, "QUEUED")
        [seen] = await made.schedules()
        assert (seen.last_task, at(seen.last_at)) == (task.id, "11-16 07:00")
        assert at(seen.next_at) == "11-17 07:00"
        for other in others:
            await other.close()


async def test_a_clock_that_goes_back_starts_nothing_twice(url: str, clock: Clock) -> None:
    async with Orchestrator(url) as made:
        made.register(Agent(name="a"))
        await made.schedule("a", "x", cron="0 * * * *")
        clock.set("2026-11-16 07:00:00")
        assert len(await fire(made)) == 1
        for again in ("2026-11-16 06:59:59", "2026-11-16 07:00:00", "2026-11-16 07:59:59"):
            clock.set(again)
            assert await fire(made) == []
        clock.set("2026-11-16 08:00:00")
        assert len(await fire(made)) == 1
        assert len(await started(made)) == 2


@pytest.mark.parametrize(
    ("cron", "last", "is_late"),
    [
        ("* * * * *", "03-10 12:34", False),
        ("0 * * * *", "03-10 12:00", True),
        ("0 0 1 * *", "03-01 00:00", True),
    ],
)
async def test_of_missed_ticks_the_last_is_made_up_for(
    url: str, clock: Clock, cron: str, last: str, is_late: bool
) -> None:
    async with Orchestrator(url) as made:
        made.register(Agent(name="a"))
        await made.schedule("a", "x", cron=cron)
        await made.schedule("a", "x", cron=cron, name="strict", missed="skip")
        clock.set("2027-03-10 12:34:30")
        fired = {one.name: one for one in await fire(made)}
        assert len(await started(made)) == 1
        assert len(await started(made, "strict")) == (0 if is_late else 1)
        assert ("skipped" in fired["strict"].problem) == is_late
        for seen in await made.schedules():
            assert at(seen.last_at) == last
            assert seen.next_at > clock.now
        assert await fire(made) == []


async def test_a_tick_may_wait_for_the_end_of_the_task_before(url: str, clock: Clock) -> None:
    async with Orchestrator(url) as made:
        made.register(Agent(name="a"))
        await made.schedule("a", "x", cron="* * * * *", overlap="skip")
        for minute, expected in (("07:00", 1), ("07:01", 1)):
            clock.set(f"2026-11-16 {minute}:00")
            await fire(made)
            assert len(await started(made)) == expected
        [seen] = await made.schedules()
        assert "has not ended" in seen.problem
        assert seen.last_task is not None
        await made.cancel(seen.last_task)
        clock.set("2026-11-16 07:02:00")
        await fire(made)
        assert len(await started(made)) == 2
        assert (await made.schedules())[0].problem == ""


async def test_a_schedule_is_replaced_by_name_and_keeps_its_ticks(url: str, clock: Clock) -> None:
    async with Orchestrator(url) as made:
        made.register(Agent(name="a"))
        await made.schedule("a", "old", cron="0 7 * * *")
        clock.set("2026-11-16 07:00:30")
        # As a program that is started anew says it again: the tick that is due is not lost.
        await made.schedule("a", "new", cron="0 7 * * *", state={"k": [1]})
        assert len(await fire(made)) == 1
        [task] = await started(made)
        assert [t.id for t in await made.list(text="new")] == [task.id]
        changed = await made.schedule("a", "new", cron="0 9 * * *", timezone="Europe/Berlin")
        assert at(changed.next_at) == "11-16 08:00"
        assert len(await made.schedules()) == 1
        assert await made.unschedule("a")
        assert not await made.unschedule("a")
        clock.set("2026-11-20 08:00:00")
        assert await fire(made) == []


async def test_a_tick_whose_task_cannot_be_enqueued_is_told_and_the_next_ones_come(
    url: str, clock: Clock
) -> None:
    async with Orchestrator(url) as made, Orchestrator(url, max_payload=5) as small:
        made.register(Agent(name="a"))
        await made.schedule("a", "a long prompt", cron="* * * * *")
        await made.schedule("a", "x", cron="* * * * *", name="other")
        clock.set("2026-11-16 07:00:00")
        fired = {one.name: one for one in await fire(small)}
        assert "may take 5" in fired["a"].problem
        clock.set("2026-11-16 07:01:00")
        assert all(one.task_id for one in await fire(made))


async def test_a_schedule_whose_times_cannot_be_told_here_is_left_to_other_workers(
    url: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Orchestrator(url) as made, Orchestrator(url) as other:
        made.register(Agent(name="a"))
        await made.schedule("a", "x", cron="* * * * *", timezone="Europe/Berlin")
        await made.schedule("a", "x", cron="* * * * *", name="utc")
        clock.set("2026-11-16 07:00:00")
        with monkeypatch.context() as poor:
            poor.setattr(_schedule, "ZoneInfo", lambda name: {"UTC": UTC}[name])
            fired = {one.name: one for one in await fire(made)}
            assert "left to other workers" in fired["a"].problem
            assert fired["utc"].task_id is not None
            assert await fire(made) == []
        assert [one.name for one in await fire(other) if one.task_id] == ["a"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cron": "61 * * * *"}, "cron is five fields"),
        ({"cron": "* * * * * *"}, "cron is five fields"),
        ({"cron": ""}, "cron is five fields"),
        ({"cron": "0 0 30 2 *"}, "never come|five fields"),
        ({"timezone": "Mars/Olympus"}, "there is none 'Mars/Olympus'"),
        ({"timezone": "../etc/passwd"}, "there is none"),
        ({"missed": "maybe"}, "missed is 'run' or 'skip'"),
        ({"overlap": "maybe"}, "overlap 'allow' or 'skip'"),
        ({"start_at": 5.0}, "start_at belongs to one task"),
        ({"idempotency_key": "k"}, "idempotency_key belongs to one task"),
        ({"name": "n" * 5000}, "The schedule's name"),
        ({"agent": "b"}, "No agent 'b'"),
    ],
)
async def test_what_cannot_be_scheduled_is_refused_at_once(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    async with Orchestrator(f"sqlite:///{tmp_path}/tasks.db") as made:
        made.register(Agent(name="a"))
        given: dict[str, Any] = {"agent": "a", "prompt": "x", "cron": "* * * * *", **settings}
        with pytest.raises(UsageError, match=said):
            await made.schedule(**given)
        assert await made.schedules() == []


async def test_a_worker_starts_it_when_its_time_comes(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = 0.0
    monkeypatch.setattr(Database, "clock", lambda _: literal(time.time() + ahead))
    async with Orchestrator(url) as made:
        made.register(Agent(name="a", model=ScriptedModel("reported")))
        worker = made.worker()
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                planned = await made.schedule("a", "x", cron="0 0 1 1 *")
                ahead = planned.next_at - time.time() - 0.2
                made.bell.ring(LATER)
                while not (tasks := await started(made)):
                    await made.changed(5)
                task = await made.wait(tasks[0].id)
                worker.drain()
        assert (task.status, task.text) == ("COMPLETED", "reported")
        assert task.created_at + ahead >= planned.next_at
