"""Tasks that ended long ago are forgotten with all that belongs to them, and no others."""

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import func, select, update

from toolwright import Agent, LongRunningFunctionTool, UsageError, deferred_tool, tool
from toolwright.backends.sql import SqlStore
from toolwright.backends.sql import _schema as sessions
from toolwright.errors import StoreError
from toolwright.messages import TextPart
from toolwright.tasks import NewTask, Orchestrator, _worker
from toolwright.tasks._schema import INBOX, PROMPTS, PRUNED, TASKS
from toolwright.tasks._task import APP
from toolwright.testing import ScriptedModel, call
from toolwright.tools import ToolContext

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]
DAY = 86_400.0


@tool
async def keep(tool_context: ToolContext) -> str:
    """Keep something in the state and as an artifact."""
    tool_context.state["mine"] = "x"
    await tool_context.save_artifact("a.txt", TextPart("text"))
    return "kept"


async def run(made: Orchestrator, *ids: str) -> None:
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            for task_id in ids:
                await made.wait(task_id)
            worker.drain()


async def age(made: Orchestrator, seconds: float, *ids: str) -> None:
    older = update(TASKS).where(TASKS.c.id.in_(ids)).values(updated_at=time.time() - seconds)
    await made.store.database.write(lambda connection: connection.execute(older))


def kept_in(directory: Path) -> list[Path]:
    return [path for path in (directory / "artifacts").rglob("*") if path.is_file()]


async def rows(made: Orchestrator) -> dict[str, int]:
    """How many rows each table has."""
    tables = [TASKS, PROMPTS, INBOX, PRUNED, *(getattr(sessions, n) for n in
              ("SESSIONS", "EVENTS", "STATE", "PENDING"))]  # fmt: skip
    counts = {t.name: select(func.count()).select_from(t) for t in tables}
    return {
        name.removeprefix("toolwright_"): await made.store.database.read(
            lambda c, query=query: c.execute(query).scalar_one()
        )
        for name, query in counts.items()
    }


async def test_a_task_that_ended_long_ago_leaves_nothing_behind(url: str, tmp_path: Path) -> None:
    async with Orchestrator(url) as made:
        agent = Agent(name="a", model=ScriptedModel(call("keep"), "done", "done"), tools=[keep])
        made.register(agent, artifacts=f"file://{tmp_path}/artifacts")
        old = await made.enqueue("a", "go", idempotency_key="k")
        await run(made, old)
        before = await rows(made)
        assert before["state"]
        assert before["events"]
        assert kept_in(tmp_path)
        young = await made.enqueue("a", "go")
        await run(made, young)
        await age(made, 2 * DAY, old)
        assert await made.prune(timedelta(days=3)) == 0
        assert await made.prune(DAY, agent="b") == 0
        assert await made.prune(DAY, status="FAILED") == 0
        assert await made.prune(DAY) == 1
        assert [task.id for task in await made.list()] == [young]
        await age(made, 2 * DAY, young)
        assert await made.prune(DAY) == 1
        assert set((await rows(made)).values()) == {0}
        assert not kept_in(tmp_path)
        assert await made.enqueue("a", "go", idempotency_key="k") != old


async def test_what_is_not_over_is_kept(url: str) -> None:
    @deferred_tool(timeout=60)
    async def ask() -> None:
        """Ask somebody."""

    async with Orchestrator(url) as made:
        made.register(Agent(name="a", model=ScriptedModel(call("ask")), tools=[ask]))
        waiting = await made.enqueue("a", "go")
        queued = await made.enqueue("b", "go", elsewhere=True)
        parent = await made.enqueue("b", "go", elsewhere=True)
        [child] = await made.enqueue_many(
            [NewTask(agent="b", prompt="go", elsewhere=True, parent_id=parent, parent_call="c")]
        )
        assert await made.cancel(child)
        worker = made.worker()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                while not await made.pending(waiting):
                    await made.changed(0.5)
                worker.drain()
        await age(made, 9 * DAY, waiting, queued, parent, child)
        assert await made.prune(DAY) == 0
        assert await made.cancel(parent)
        await age(made, 9 * DAY, parent)
        assert await made.prune(DAY) >= 1
        assert {task.id for task in await made.list()} == {waiting, queued}


async def test_a_session_that_could_not_be_deleted_is_deleted_the_next_time(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Orchestrator(url) as made:
        made.register(Agent(name="a", model=ScriptedModel("done")))
        task_id = await made.enqueue("a", "go")
        await run(made, task_id)
        await age(made, DAY, task_id)

        async def refuse(*_: Any) -> None:
            raise StoreError("away")

        with monkeypatch.context() as away:
            away.setattr(SqlStore, "delete", refuse)
            assert await made.prune(60) == 1
        assert (await rows(made))["sessions"] == 1
        assert await made.prune(60) == 0
        assert set((await rows(made)).values()) == {0}


def order() -> dict[str, str]:
    """Order something that may take days."""
    return {"status": "pending"}


async def ordered(made: Orchestrator) -> tuple[str, str]:
    """A task that is done, and its call whose result is still to come."""
    model = ScriptedModel(call("order"), "Ordered.", "It came.")
    made.register(Agent(name="a", model=model, tools=[LongRunningFunctionTool(order)]))
    task_id = await made.enqueue("a", "go")
    await run(made, task_id)
    [(_, pending)] = await made.pending(task_id)
    return task_id, pending.call_id


async def test_an_answer_to_a_task_that_is_forgotten_is_not_accepted(url: str) -> None:
    async with Orchestrator(url) as made:
        task_id, call_id = await ordered(made)
        assert await made.queue.prune({}, time.time(), 100) == 1  # And the process dies.
        assert await made.pending() == await made.pending(task_id) == []
        runner = made.agents["a"].runner
        assert await runner.answer(task_id, call_id, {"came": 1}) == "unknown"
        [left] = await made.store.open_calls(APP, task_id)
        assert not left.answered
        assert await made.prune(0) == 0
        assert set((await rows(made)).values()) == {0}


async def test_a_task_that_an_answer_has_come_for_is_kept(url: str) -> None:
    async with Orchestrator(url) as made:
        task_id, call_id = await ordered(made)
        came = {"came": 1}
        assert await made.answer(task_id=task_id, tool_call_id=call_id, result=came) == "accepted"
        await age(made, 9 * DAY, task_id)
        assert await made.prune(0) == 0
        await run(made, task_id)
        assert (await made.status(task_id)).text == "It came."


async def test_workers_forget_what_their_agents_do_not_keep(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_worker, "PRUNE_SECONDS", 0.05)
    async with Orchestrator(url) as made:
        made.register(Agent(name="a", model=ScriptedModel("done")), retention=timedelta(days=30))
        made.register(Agent(name="b", model=ScriptedModel("done")))
        ids = [await made.enqueue("a", "go"), await made.enqueue("b", "go")]
        worker = made.worker()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                for task_id in ids:
                    await made.wait(task_id)
                await age(made, 31 * DAY, *ids)
                while len(await made.list()) > 1:
                    await made.changed(0.05)
                worker.drain()
        assert [task.id for task in await made.list()] == ids[1:]


async def test_an_age_that_is_none_is_refused(tmp_path: Path) -> None:
    async with Orchestrator(f"sqlite:///{tmp_path}/tasks.db") as made:
        with pytest.raises(UsageError, match="older is a timedelta or a number of seconds; got -1"):
            await made.prune(-1)
