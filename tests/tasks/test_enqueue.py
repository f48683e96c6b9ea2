"""What may be enqueued: a key stands for one piece of work, an agent is known, a payload has a limit."""

import time
from collections import Counter
from pathlib import Path

import anyio
import pytest

from toolwright import Agent, UsageError, deferred_tool
from toolwright.tasks import NewTask, Orchestrator
from toolwright.tasks._queue import Line
from toolwright.tasks._roll import WorkerRoll
from toolwright.testing import ScriptedModel, call

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]


async def test_a_key_that_stands_for_other_work_is_refused(url: str) -> None:
    async with Orchestrator(url) as made:
        task_id = await made.enqueue("a", "pay ada", owner_id="u", idempotency_key="k")
        assert await made.enqueue("a", "pay ada", owner_id="u", idempotency_key="k") == task_id
        for new in (
            NewTask(agent="a", prompt="pay bob", owner_id="u", idempotency_key="k"),
            NewTask(agent="b", prompt="pay ada", owner_id="u", idempotency_key="k"),
            NewTask(agent="a", prompt="pay ada", owner_id="v", idempotency_key="k"),
        ):
            other = NewTask(agent="a", prompt="other")
            with pytest.raises(UsageError, match=f"key 'k' belongs to task {task_id} of agent 'a'"):
                await made.enqueue_many([other, new])
        twice = [NewTask(agent="a", prompt=p, idempotency_key="two") for p in ("x", "y")]
        with pytest.raises(UsageError, match="key 'two' belongs to task"):
            await made.enqueue_many(twice)
        assert [task.id for task in await made.list()] == [task_id]


async def test_an_agent_that_nobody_knows_is_refused_unless_that_is_asked_for(url: str) -> None:
    async with Orchestrator(url) as made, Orchestrator(url) as client:
        # While nobody has said which there are, every name may be right.
        await client.enqueue("anything", "go")
        made.register(Agent(name="clerk", model=ScriptedModel("done")))
        await made.enqueue("clerk", "go")
        with pytest.raises(UsageError, match=r"No agent 'clrek' .* did you mean 'clerk'\?"):
            await made.enqueue("clrek", "go")
        worker = made.worker()
        worker.drain()
        await worker.run()
        await client.enqueue("clerk", "go")
        with pytest.raises(UsageError, match=r"No agent 'anything' .* elsewhere=True"):
            await client.enqueue("anything", "go")
        await client.enqueue("anything", "go", elsewhere=True)


async def test_a_payload_that_is_too_large_is_refused_where_it_enters(url: str) -> None:
    @deferred_tool(timeout=60)
    async def ask() -> None:
        """Ask somebody."""

    large = "x" * 1_000
    async with Orchestrator(url, max_payload=500) as made:
        made.register(Agent(name="a", model=ScriptedModel(call("ask"), "done"), tools=[ask]))
        with pytest.raises(
            UsageError, match=r"The prompt takes 1,0\d\d characters and may take 500"
        ):
            await made.enqueue("a", large)
        with pytest.raises(UsageError, match="The state takes"):
            await made.enqueue("a", "go", state={"x": large})
        task_id = await made.enqueue("a", "go")
        with pytest.raises(UsageError, match="The message takes"):
            await made.steer(task_id, large)
        worker = made.worker()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                while not (waiting := await made.pending(task_id)):
                    await made.changed(0.5)
                call_id = waiting[0][1].call_id
                with pytest.raises(UsageError, match="The answer takes"):
                    await made.answer(task_id=task_id, tool_call_id=call_id, result=large)
                await made.answer(task_id=task_id, tool_call_id=call_id, result="yes")
                assert (await made.wait(task_id)).status == "COMPLETED"
                worker.drain()


async def test_a_task_for_tomorrow_does_not_let_an_owner_pass_the_others(url: str) -> None:
    async with Orchestrator(url) as made:
        await made.enqueue("a", "later", owner_id="c", start_at=time.time() + 86_400)
        await made.enqueue_many([NewTask(agent="a", prompt="go", owner_id="a") for _ in range(40)])
        roll, line = WorkerRoll(made.store.database), Line(agent="a", slots=1)
        await roll.join("w", lease=30)
        taken = Counter[str]()
        for _ in range(20):
            await made.enqueue("a", "go", owner_id="b")
            [claim] = await made.queue.claim(lambda: [line], "w")
            taken[claim.task.owner_id] += 1
        assert 8 <= taken["a"] <= 12, taken


def test_a_limit_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="max_payload must be at least 1; got 0"):
        Orchestrator(f"sqlite:///{tmp_path}/tasks.db", max_payload=0)
