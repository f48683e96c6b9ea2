"""Which tasks a worker takes next: limits hold, nobody who may go waits, and looking stays cheap."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import event, update

from toolwright import Agent
from toolwright.errors import UsageError
from toolwright.tasks import NewTask, Orchestrator, Task, _line
from toolwright.tasks._line import Line
from toolwright.tasks._roll import WorkerRoll
from toolwright.tasks._schema import TASKS

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]


async def claim(made: Orchestrator, **settings: Any) -> list[Task]:
    """Take tasks up, as the worker 'w' would."""
    line = Line(agent="a", slots=settings.pop("slots", 9), **settings)
    claims = await made.queue.claim(lambda: [line], "w")
    made.store.holders.update({claim.task.id: "w" for claim in claims})
    return [claim.task for claim in claims]


async def filled(url: str, tasks: Sequence[dict[str, Any]]) -> Orchestrator:
    made = Orchestrator(url)
    made.register(Agent(name="a"))
    if tasks:
        await made.enqueue_many([NewTask(agent="a", prompt="x", **task) for task in tasks])
    await WorkerRoll(made.store.database).join("w", lease=30)
    return made


@contextmanager
def near(tasks: int) -> Iterator[None]:
    """Only so many at the head of a line are looked at before it is asked who else is in it."""
    with patch.object(_line, "_WINDOW", tasks):
        yield


@pytest.mark.parametrize(
    ("crowd", "others"),
    [
        pytest.param({"owner_id": "a", "priority": 5}, {"owner_id": "b"}, id="owner"),
        pytest.param(
            {"concurrency_key": "k", "priority": 5}, {"concurrency_key": "l"}, id="key"
        ),
    ],
)  # fmt: skip
async def test_those_behind_a_crowd_that_is_at_its_limit_are_found(
    url: str, crowd: dict[str, Any], others: dict[str, Any]
) -> None:
    async with await filled(url, [crowd] * 20 + [others] * 3) as made:
        with near(5):
            first = await claim(made, per_owner=2 if "owner_id" in crowd else None)
            limit = 2 if "owner_id" in crowd else 1
            found = Counter(task.priority for task in first)
            assert found == {5: limit, 0: limit}
            assert await claim(made, per_owner=2 if "owner_id" in crowd else None) == []


async def test_limits_hold_and_nobody_who_may_go_waits(url: str) -> None:
    chance = random.Random(4)
    owners, keys = ["a", "b", "c"], ["k", "l", None, None]
    tasks = [
        {
            "owner_id": chance.choice(owners),
            "concurrency_key": chance.choice(keys),
            "priority": chance.randrange(3),
        }
        for _ in range(60)
    ]
    async with await filled(url, tasks) as made:
        running: list[Task] = []
        left = 60
        while left:
            with near(chance.choice([1, 4, 100])):
                slots = chance.randrange(1, 5)
                taken = await claim(made, per_owner=2, per_key=1, slots=slots)
            running += taken
            left -= len(taken)
            assert max(Counter(task.owner_id for task in running).values()) <= 2
            of_keys = Counter(t.concurrency_key for t in running if t.concurrency_key)
            assert max(of_keys.values(), default=0) <= 1
            assert running, "nothing runs, and nothing was taken"
            ended = running.pop(chance.randrange(len(running)))
            await made.queue.conclude(ended.id, "COMPLETED")
            made.store.holders.pop(ended.id)


@pytest.mark.parametrize(
    ("of_both", "limits"),
    [
        ({"concurrency_key": "k"}, {}),
        ({"owner_id": "ada"}, {"per_owner": 1}),
        ({}, {"rate": (1, 60.0)}),
    ],
    ids=["key", "owner", "rate"],
)
@pytest.mark.parametrize("suspect", [False, True])
async def test_limits_hold_over_all_lines_of_a_look(
    url: str, of_both: dict[str, Any], limits: dict[str, Any], suspect: bool
) -> None:
    queue = {} if suspect else {"queue": "gpu"}
    async with await filled(url, [of_both, {**of_both, **queue}]) as made:
        if suspect:
            [first, _] = await made.list()
            killed = update(TASKS).where(TASKS.c.id == first.id).values(crashes=2)
            await made.store.database.write(lambda connection: connection.execute(killed))
        lines = [Line(agent="a", slots=9, queue=name, **limits) for name in ("gpu", "default")]
        assert len(await made.queue.claim(lambda: lines, "w")) == 1


@pytest.mark.parametrize("per_owner", [None, 2])
async def test_those_without_a_key_do_not_wait_for_a_crowd_that_has_one(
    url: str, per_owner: int | None
) -> None:
    crowd = {"concurrency_key": "k", "owner_id": "ada"}
    async with await filled(url, [crowd] * 20 + [{"owner_id": "ada"}] * 2) as made:
        with near(5):
            taken = await claim(made, per_owner=per_owner, slots=3)
    keys = sorted(str(task.concurrency_key) for task in taken)
    assert keys == (["None", "k"] if per_owner else ["None", "None", "k"])


async def test_who_is_free_in_both_ways_is_found_behind_those_who_are_not(url: str) -> None:
    active = [{"owner_id": "a"}, {"owner_id": "c", "concurrency_key": "k"}]
    async with await filled(url, active) as made:
        assert len(await claim(made, per_owner=1)) == 2
        of = [("b", "k")] * 3 + [("a", "l")] * 3 + [("b", "l")]
        tasks = [{"owner_id": owner, "concurrency_key": key} for owner, key in of]
        await made.enqueue_many([NewTask(agent="a", prompt="x", **task) for task in tasks])
        with near(1):
            [task] = await claim(made, per_owner=1, slots=2)
        assert (task.owner_id, task.concurrency_key) == ("b", "l")


async def test_keys_that_come_just_after_it_was_asked_for_them_count(url: str) -> None:
    async with await filled(url, [{"concurrency_key": "k"}] * 2) as made:
        with patch.object(_line._Looking, "has_keys", lambda _: False):
            assert len(await claim(made)) == 1


async def test_a_task_of_any_version_that_is_cancelled_is_ended(url: str) -> None:
    async with await filled(url, [{}]) as made:
        [task] = await claim(made, version="1")
        await made.queue.give_back("w", but=())
        made.store.holders.clear()
        of_two = {"version": "2", "goes_on_from": ()}
        again = update(TASKS).values(start_at=0.0)
        await made.store.database.write(lambda connection: connection.execute(again))
        assert await claim(made, **of_two) == []
        assert await made.queue.versions_waiting("a", ["2"]) == ["1"]
        await made.queue.request_cancel(task.id)
        [found] = await claim(made, **of_two)
        assert (found.id, (await made.status(task.id)).version) == (task.id, "1")


async def test_tasks_that_ran_under_no_version_are_told_of_too(url: str) -> None:
    async with await filled(url, [{}]) as made:
        await claim(made)
        await made.queue.give_back("w", but=())
        assert await made.queue.versions_waiting("a", ["2"]) == [""]
        assert await made.queue.versions_waiting("a", [""]) == []


async def test_children_wait_in_the_queue_of_their_parent(url: str) -> None:
    async with await filled(url, [{"queue": "gpu"}]) as made:
        [parent] = await made.list()
        child = NewTask(agent="a", prompt="x", parent_id=parent.id, parent_call="c")
        [task_id, elsewhere] = await made.enqueue_many([child, replace(child, queue="cpu")])
        assert (await made.status(task_id)).queue == "gpu"
        assert (await made.status(elsewhere)).queue == "cpu"


async def test_a_queue_that_no_worker_takes_from_is_refused_the_default_one_too(url: str) -> None:
    async with await filled(url, []) as made:
        await made.queue.announce(["gpu"])
        for queue in (None, "default", "gpus"):
            with pytest.raises(UsageError, match="only from 'gpu'"):
                await made.enqueue("a", "x", queue=queue)
        await made.enqueue("a", "x", queue="default", elsewhere=True)
        await made.queue.announce(["default"])
        await made.enqueue("a", "x")


async def test_the_next_in_line_is_taken_first_under_limits(url: str) -> None:
    tasks = [{"owner_id": "a", "priority": p} for p in (0, 1, 2)]
    async with await filled(url, [*tasks, {"owner_id": "b", "priority": 1}]) as made:
        taken = await claim(made, per_owner=2)
        assert [(t.owner_id, t.priority) for t in taken] == [("a", 2), ("a", 1), ("b", 1)]


async def test_a_task_that_somebody_is_changing_keeps_nobody_else_waiting(url: str) -> None:
    async with await filled(url, [{"owner_id": "a", "priority": 5}, {"owner_id": "a"}]) as made:
        take = _line._Looking.take
        tried: list[Sequence[str]] = []

        def busy(self: _line._Looking, ids: Sequence[str]) -> list[Any]:
            tried.append(ids)
            return [] if len(tried) == 1 else take(self, ids)

        with patch.object(_line._Looking, "take", busy):
            [task] = await claim(made, per_owner=1)
        assert task.priority == 0


@contextmanager
def steps(made: Orchestrator) -> Iterator[Counter[str]]:
    """How many steps SQLite takes, in thousands."""
    counted: Counter[str] = Counter()
    engines = made.store.database._engines
    assert engines is not None

    def count(connection: Any, *_: Any) -> None:
        raw = connection.connection.dbapi_connection
        raw.set_progress_handler(lambda: counted.update(["steps"]), 1000)

    event.listen(engines[1], "before_cursor_execute", count)
    yield counted
    event.remove(engines[1], "before_cursor_execute", count)


@pytest.mark.parametrize("key", [False, True])
async def test_the_crowd_of_one_who_is_at_its_limit_costs_no_look(tmp_path: Any, key: bool) -> None:
    crowd: dict[str, Any] = {"concurrency_key": "k"} if key else {"owner_id": "a"}
    url = f"sqlite:///{tmp_path}/tasks.db"
    async with await filled(url, [crowd] * 1500) as made:
        per_owner = None if key else 1
        assert len(await claim(made, per_owner=per_owner)) == 1
        with steps(made) as few:
            assert await claim(made, per_owner=per_owner) == []
        await made.enqueue_many([NewTask(agent="a", prompt="x", **crowd) for _ in range(6000)])
        with steps(made) as many:
            assert await claim(made, per_owner=per_owner) == []
    assert many["steps"] <= few["steps"] + 2, (few, many)


async def test_settings_of_queues_and_keys_that_make_no_sense_are_refused(url: str) -> None:
    async with Orchestrator(url) as made:
        for settings in ({"queue": ""}, {"concurrency_key": ""}, {"queue": "q" * 10_000}):
            with pytest.raises(UsageError):
                await made.enqueue("a", "x", **settings)
        with pytest.raises(UsageError, match="per_key must be at least 1"):
            made.register(Agent(name="b"), per_key=0)
        made.register(Agent(name="a"))
        for queues in ("gpu", [], [""]):
            with pytest.raises(UsageError, match="queues are one or more names"):
                made.worker(queues=queues)
