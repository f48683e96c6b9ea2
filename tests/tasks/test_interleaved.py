"""Steps of tasks in one Postgres, interleaved statement by statement."""

import uuid
from collections.abc import AsyncIterator, Awaitable

import anyio
import pytest
from sqlalchemy import Connection, delete, select, update
from tests._interleaved import Together, hold_at, until_blocked
from tests._postgres import new_database

from toolwright.backends.sql import WORKERS, Roll
from toolwright.messages import (
    Event,
    Given,
    Pending,
    PendingOpened,
    RunEnded,
    RunStarted,
    user_message,
)
from toolwright.tasks import NewTask, Orchestrator, _line
from toolwright.tasks._line import Line
from toolwright.tasks._roll import WorkerRoll
from toolwright.tasks._schema import TASKS
from toolwright.tasks._store import CHILDREN
from toolwright.tasks._task import APP, task_scope

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]


@pytest.fixture(scope="module")
def url() -> str:
    return new_database()


@pytest.fixture
async def tasks(url: str) -> AsyncIterator[Orchestrator]:
    async with Orchestrator(url) as orchestrator:
        yield orchestrator


async def claimed(tasks: Orchestrator, new: NewTask) -> str:
    """The id of a task that this process works on."""
    worker = uuid.uuid4().hex
    await Roll(tasks.store.database).join(worker, 3000.0)
    [task_id] = await tasks.queue.enqueue([new])
    [claim] = await tasks.queue.claim(lambda: [Line(agent=new.agent, slots=1)], worker)
    assert claim.task.id == task_id
    tasks.store.holders[task_id] = worker
    return task_id


async def write(tasks: Orchestrator, task_id: str, *events: Event) -> None:
    scope = task_scope(task_id, "owner")
    last = len(await tasks.store.events(scope))
    for seq, event in enumerate(events, last + 1):
        object.__setattr__(event, "seq", seq)
    await tasks.store.append(scope, events)


async def test_a_message_that_is_left_as_a_task_ends_is_read(url: str, tasks: Orchestrator) -> None:
    task_id = await claimed(tasks, NewTask(agent="steered", prompt="go"))
    await write(tasks, task_id, RunStarted())
    async with anyio.create_task_group() as group:
        together = Together(group)
        database = tasks.store.database
        with hold_at(database, "INSERT INTO toolwright_task_inbox", after=True) as left:
            steer = together.start(lambda: tasks.queue.steer(task_id, user_message("and that")))
            await left.reached()
            end = together.start(lambda: write(tasks, task_id, RunEnded(status="done")))
            await until_blocked(url, end)
        assert await steer.result()
        await end.result()
    assert (await tasks.status(task_id)).status == "QUEUED"


async def test_an_answer_and_the_end_of_the_child_it_is_for_wait_for_each_other_in_one_order(
    url: str, tasks: Orchestrator
) -> None:
    parent = await claimed(tasks, NewTask(agent="parent", prompt="go"))
    waits = Pending(call_id="c1", name="start", kind="result", payload=CHILDREN)
    child = await claimed(
        tasks, NewTask(agent="child", prompt="go", parent_id=parent, parent_call="c1")
    )
    await write(
        tasks, parent, RunStarted(), PendingOpened(pending=waits), RunEnded(status="paused")
    )
    async with anyio.create_task_group() as group:
        together = Together(group)
        with hold_at(tasks.store.database, "UPDATE toolwright_pending", after=True) as given:
            by_hand = Given(value="by hand")
            answer = together.start(lambda: tasks.store.answer(APP, parent, "c1", by_hand))
            await given.reached()
            end = together.start(lambda: write(tasks, child, RunStarted(), RunEnded(status="done")))
            await until_blocked(url, end)
        assert await answer.result() == "accepted"
        await end.result()
    [call] = await tasks.store.open_calls(APP, parent)
    assert call.answer == by_hand
    assert (await tasks.status(parent)).status == "QUEUED"


@pytest.mark.parametrize("limited", [False, True])
async def test_a_task_that_was_cancelled_as_it_was_looked_for_is_not_claimed(
    url: str, tasks: Orchestrator, limited: bool
) -> None:
    ids = await tasks.queue.enqueue([NewTask(agent="owned", prompt="go")])
    database = tasks.store.database
    cancel = update(TASKS).where(TASKS.c.id.in_(ids)).values(status="CANCELLED")
    # As a worker looks, but it waits where that leaves out what is locked.
    first = _line._first(_line._Kind())
    look = (_line._THESE if limited else first).with_for_update()
    in_line = {"agent": "owned", "queue": "default", "now": 1e12, "most": 9, "but": []}
    where = {"ids": ids} if limited else in_line
    async with anyio.create_task_group() as group:
        together = Together(group)
        with hold_at(database, "UPDATE toolwright_tasks SET status", after=True) as cancelled:
            end = together.start(lambda: database.write(lambda c: c.execute(cancel).rowcount))
            await cancelled.reached()
            found = together.start(lambda: database.write(lambda c: c.execute(look, where).all()))
            await until_blocked(url, found)
        assert await end.result() == 1
        assert await found.result() == []


async def test_a_task_of_a_forgotten_worker_that_another_takes_up_meanwhile_stays_with_it(
    url: str, tasks: Orchestrator
) -> None:
    task_id = await claimed(tasks, NewTask(agent="forgotten", prompt="go"))
    mine, database = TASKS.c.id == task_id, tasks.store.database
    roll = WorkerRoll(database)
    await database.write(lambda c: c.execute(delete(WORKERS)))

    def take_up(connection: Connection) -> None:
        roll.join_in(connection, "newcomer", 3000.0)
        connection.execute(update(TASKS).where(mine).values(worker="newcomer"))

    async with anyio.create_task_group() as group:
        together = Together(group)
        with hold_at(database, "UPDATE toolwright_tasks SET worker", after=True) as taken:
            other = together.start(lambda: database.write(take_up))
            await taken.reached()
            found = together.start(roll.cross_out_dead)
            await until_blocked(url, found)
        await other.result()
        await found.result()
    [row] = await database.read(lambda c: c.execute(select(TASKS).where(mine)).all())
    assert (row.status, row.worker) == ("ACTIVE", "newcomer")
    await database.write(lambda c: c.execute(delete(WORKERS)))
    await roll.cross_out_dead()
    assert (await tasks.status(task_id)).status == "QUEUED"


async def completed(tasks: Orchestrator) -> str:
    """The id of a task that has come to its end while one of its calls is open."""
    task_id = await claimed(tasks, NewTask(agent="done", prompt="go"))
    later = Pending(call_id="c1", name="order", kind="result", blocking=False)
    await write(tasks, task_id, RunStarted(), PendingOpened(pending=later), RunEnded(status="done"))
    tasks.store.holders.clear()
    assert (await tasks.status(task_id)).status == "COMPLETED"
    return task_id


def prune(tasks: Orchestrator) -> Awaitable[int]:
    return tasks.queue.prune({"agent": "done"}, 1e12, 9)


@pytest.mark.parametrize("asks", ["before", "behind"])
async def test_an_answer_that_comes_as_its_task_is_forgotten_is_not_accepted(
    url: str, tasks: Orchestrator, asks: str
) -> None:
    task_id, database = await completed(tasks), tasks.store.database

    def answer() -> Awaitable[str]:
        return tasks.store.answer(APP, task_id, "c1", Given(value=1))

    async with anyio.create_task_group() as group:
        together = Together(group)
        if asks == "before":
            # It has the session, and is about to look at the task.
            with hold_at(database, "FROM toolwright_tasks WHERE toolwright_tasks.id") as looks:
                given = together.start(answer)
                await looks.reached()
                assert await prune(tasks) == 1
        else:
            with hold_at(database, "INSERT INTO toolwright_tasks_pruned", after=True) as forgets:
                pruned = together.start(lambda: prune(tasks))
                await forgets.reached()
                given = together.start(answer)
                await until_blocked(url, given)
            assert await pruned.result() == 1
        assert await given.result() == "unknown"
    [call] = await tasks.store.open_calls(APP, task_id)
    assert not call.answered
    assert await tasks.pending(task_id) == []


async def test_a_task_that_is_about_to_be_answered_is_not_forgotten(tasks: Orchestrator) -> None:
    task_id = await completed(tasks)
    async with anyio.create_task_group() as group:
        together = Together(group)
        with hold_at(tasks.store.database, "UPDATE toolwright_pending", after=True) as given:
            value = Given(value=1)
            answer = together.start(lambda: tasks.store.answer(APP, task_id, "c1", value))
            await given.reached()
            assert await prune(tasks) == 0
        assert await answer.result() == "accepted"
    assert await prune(tasks) == 0
    assert (await tasks.status(task_id)).status == "QUEUED"
    [call] = await tasks.store.open_calls(APP, task_id)
    assert call.answer == value
