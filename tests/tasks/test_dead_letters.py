"""A task that kills its workers, or cannot be stored, is tried a bounded number of times and kept."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import update
from tests.tasks._story import DIE, END, orchestrator
from tests.tasks.conftest import Nursery, wait_for_end

from toolwright import Agent, UsageError
from toolwright.errors import StoreError
from toolwright.tasks import Orchestrator
from toolwright.tasks._queue import Claim, Line
from toolwright.tasks._roll import WorkerRoll
from toolwright.tasks._schema import TASKS
from toolwright.testing import ScriptedModel

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]


async def crash(made: Orchestrator, worker: str) -> list[Claim]:
    """What a worker has claimed that then died."""
    roll = WorkerRoll(made.store.database)
    await roll.join(worker, lease=30)
    claims = await made.queue.claim(lambda: [Line(agent="a", slots=9)], worker)
    await roll.leave(worker)
    return claims


async def work_until_ended(made: Orchestrator, task_id: str) -> Any:
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            task = await made.wait(task_id)
            worker.drain()
    return task


async def test_a_task_that_is_lost_with_its_worker_five_times_in_a_row_fails_and_can_be_retried(
    url: str,
) -> None:
    async with Orchestrator(url) as made:
        made.register(Agent(name="a", model=ScriptedModel("done")))
        task_id = await made.enqueue("a", "go", retries=9)
        assert [len(await crash(made, f"w{n}")) for n in range(5)] == [1] * 5
        assert (await made.status(task_id)).crashes == 5
        task = await work_until_ended(made, task_id)
        assert task.status == "FAILED"
        assert "5 times in a row. The last time: Worker w4 was lost" in task.reason
        assert [letter.id for letter in await made.dead_letters(agent="a")] == [task_id]
        assert await made.dead_letters(owner_id="nobody") == []
        assert await made.retry_dead_letters(agent="nobody") == 0
        assert await made.retry_dead_letters(agent="a") == 1
        assert await made.dead_letters() == []
        assert (await made.status(task_id)).crashes == 0
        assert (await work_until_ended(made, task_id)).status == "COMPLETED"


async def test_crashes_count_from_the_last_time_that_the_task_was_settled(url: str) -> None:
    async with Orchestrator(url) as made:
        made.register(Agent(name="a", model=ScriptedModel("done")), max_crashes=2)
        task_id = await made.enqueue("a", "go")
        await crash(made, "w1")
        task = await work_until_ended(made, task_id)
        assert (task.status, task.crashes, task.reason) == ("COMPLETED", 0, "")


async def test_a_worker_runs_one_at_a_time_of_those_that_may_kill_it(url: str) -> None:
    async with Orchestrator(url) as made:
        ids = [await made.enqueue("a", "go", priority=9) for _ in range(3)]
        suspects = update(TASKS).values(crashes=2)
        await made.store.database.write(lambda connection: connection.execute(suspects))
        innocent = await made.enqueue("a", "go")
        claims = await crash(made, "w1")
        assert len(claims) == 2
        assert {claim.task.id for claim in claims} - {*ids} == {innocent}
        line = Line(agent="a", slots=9, per_owner=9, suspect=False)
        roll = WorkerRoll(made.store.database)
        await roll.join("w2", lease=30)
        [claim] = await made.queue.claim(lambda: [line], "w2")
        assert claim.task.id == innocent


async def test_a_task_that_cannot_be_stored_fails_with_the_database_s_reason(url: str) -> None:
    async with Orchestrator(url) as made:
        made.register(
            Agent(name="a", model=ScriptedModel(*["done"] * 9)), max_crashes=2, retry_writes=0
        )
        append = made.store.append

        async def refuse(scope: Any, *args: Any, **settings: Any) -> None:
            if scope.session_id == task_id:
                raise StoreError("the row is too wide")
            await append(scope, *args, **settings)

        made.store.append = refuse  # type: ignore[method-assign]
        task_id = await made.enqueue("a", "go")
        other = await made.enqueue("a", "go")
        task = await work_until_ended(made, task_id)
        assert (task.status, task.attempts) == ("FAILED", 3)
        assert (
            "could not be stored, 2 times in a row. The last time: the row is too wide"
            in task.reason
        )
        assert (await made.status(other)).status == "COMPLETED"


async def test_workers_that_a_task_kills_are_not_killed_for_ever(
    tmp_path: Path, nursery: Nursery
) -> None:
    url, log = f"sqlite:///{tmp_path}/tasks.db", tmp_path / "log"
    async with orchestrator(url, log) as made:
        task_id = await made.enqueue("shop", "buy")
        for _ in range(5):
            with nursery.worker(url, log, DIE) as killed:
                await wait_for_end(killed)
        with nursery.worker(url, log, DIE):
            task = await made.wait(task_id, timeout=30)
        assert (task.status, "5 times in a row" in task.reason) == ("FAILED", True)
        assert (await anyio.Path(log).read_text()).split().count("look_up") == 5
        assert await made.retry(task_id)
        with nursery.worker(url, log), anyio.fail_after(30):
            while not (waiting := await made.pending(task_id)):
                await made.changed(0.5)
            await made.answer(task_id=task_id, tool_call_id=waiting[0][1].call_id, result="yes")
            assert (await made.wait(task_id)).text == END


async def test_the_number_of_crashes_must_be_one_at_least(tmp_path: Path) -> None:
    made = Orchestrator(f"sqlite:///{tmp_path}/tasks.db")
    with pytest.raises(UsageError, match="max_crashes must be at least 1, or None; got 0"):
        made.register(Agent(name="a", model=ScriptedModel("done")), max_crashes=0)
