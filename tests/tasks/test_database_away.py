"""The database goes away, hangs or forgets to answer: no result is lost, nothing is stuck."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import anyio.to_thread
import psycopg
import pytest
from psycopg import sql
from sqlalchemy import update
from sqlalchemy.engine import make_url
from tests._postgres import new_database, start_server
from tests.tasks._proxy import Proxy

from toolwright import Agent, tool
from toolwright.backends.sql import _postgres
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolEnded, ToolMessage
from toolwright.models import ModelRequest, OnDelta
from toolwright.tasks import NewTask, Orchestrator, Worker
from toolwright.tasks._queue import Line
from toolwright.tasks._roll import WorkerRoll
from toolwright.tasks._schema import TASKS

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]
LEASE = 2.0


class Model:
    """Pays once, in whichever task it speaks."""

    name = "scripted:payer"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        if any(isinstance(message, ToolMessage) for message in request.history):
            return ModelMessage(parts=(TextPart("done"),))
        return ModelMessage(parts=(ToolCall(call_id="c", name="pay"),), finish_reason="calls")


class Till:
    """Where tools wait until they may end."""

    def __init__(self, tasks: int = 1) -> None:
        self._missing = tasks
        self.stopped = 0
        self.all_started, self.may_end = anyio.Event(), anyio.Event()

    def agent(self) -> Agent:
        @tool
        async def pay() -> str:
            """Pay; must not happen twice."""
            self._missing -= 1
            if not self._missing:
                self.all_started.set()
            try:
                await self.may_end.wait()
            except BaseException:
                self.stopped += 1
                raise
            return "paid"

        return Agent(name="a", model=Model(), tools=[pay])


@asynccontextmanager
async def working(
    url: str, agent: Callable[[], Agent], workers: int = 1, slots: int = 10
) -> AsyncIterator[tuple[Orchestrator, list[Worker]]]:
    """So many workers, each with an orchestrator of its own, drained in the end."""
    async with AsyncExitStack() as stack:
        made = [await stack.enter_async_context(Orchestrator(url, lease=LEASE))
                for _ in range(workers)]  # fmt: skip
        for orchestrator in made:
            orchestrator.register(agent(), workers=slots)
        found = [orchestrator.worker() for orchestrator in made]
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for worker in found:
                    group.start_soon(worker.run)
                yield made[0], found
                for worker in found:
                    worker.drain()


async def results(made: Orchestrator, ids: list[str]) -> list[tuple[str, int, list[str]]]:
    """How each task ended, how often it was taken up, and what its tools said."""
    tasks = [await made.wait(task_id) for task_id in ids]
    said = [[e.result.text for e in await made.stored_events(i) if isinstance(e, ToolEnded)]
            for i in ids]  # fmt: skip
    return [(task.status, task.attempts, texts) for task, texts in zip(tasks, said, strict=True)]


async def lost(*workers: Worker, until: float = 0.0) -> None:
    """Return when none of the workers has reached its database for a whole lease."""
    all_lost, loop = anyio.Event(), asyncio.get_running_loop()

    class Watch(logging.Handler):
        """Looks with each line in the log: each look that fails is one."""

        def emit(self, record: logging.LogRecord) -> None:
            if time.monotonic() >= until and all(worker.problem for worker in workers):
                loop.call_soon_threadsafe(all_lost.set)

    watch, logger = Watch(), logging.getLogger("toolwright")
    logger.addHandler(watch)
    try:
        await all_lost.wait()
    finally:
        logger.removeHandler(watch)


@pytest.mark.postgres
async def test_results_that_come_while_the_server_is_down_for_longer_than_a_lease_are_stored() -> (
    None
):
    server = start_server()
    till = Till(tasks=10)
    async with working(server.get_uri(), till.agent, workers=2, slots=5) as (made, workers):
        ids = await made.enqueue_many([NewTask(agent="a", prompt="go") for _ in range(10)])
        await till.all_started.wait()
        names, went = [worker.name for worker in workers], time.monotonic()
        await anyio.to_thread.run_sync(server.stop)
        till.may_end.set()
        await lost(*workers, until=went + 4)
        await anyio.to_thread.run_sync(server.start)
        assert await results(made, list(ids)) == [("COMPLETED", 1, ["paid"])] * 10
        assert [worker.name for worker in workers] == names
        assert not till.stopped
    server.cleanup()


@pytest.mark.postgres
async def test_a_claim_whose_commit_is_not_acknowledged_is_run_all_the_same() -> None:
    till = Till()
    till.may_end.set()
    async with (
        Proxy(new_database()).listening() as proxy,
        working(proxy.url, till.agent) as (made, [worker]),
    ):
        proxy.loses_commit_of = b"SET status=$1::VARCHAR, started_at"
        task_id = await made.enqueue("a", "go")
        await proxy.lost.wait()
        assert (await made.status(task_id)).worker == worker.name
        assert await results(made, [task_id]) == [("COMPLETED", 2, ["paid"])]


@pytest.mark.postgres
async def test_connections_that_answer_no_more_are_given_up_and_made_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_postgres, "_PING_SECONDS", 0.2)
    monkeypatch.setattr(_postgres, "_ANSWER_SECONDS", 0.5)
    till = Till()
    async with (
        Proxy(new_database()).listening() as proxy,
        working(proxy.url, till.agent) as (made, [worker]),
    ):
        task_id = await made.enqueue("a", "go")
        await till.all_started.wait()
        name = worker.name
        proxy.swallow()
        till.may_end.set()
        await lost(worker)
        proxy.pass_on()
        ids = [task_id, await made.enqueue("a", "again")]
        assert await results(made, ids) == [("COMPLETED", 1, ["paid"])] * 2
        assert worker.name == name


@pytest.mark.postgres
async def test_connections_to_a_server_that_has_become_read_only_are_made_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "toolwright")
    till, url = Till(), new_database()
    database = sql.Identifier(str(make_url(url).database))
    allow = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(url, autocommit=True) as admin:
        async with working(url, till.agent) as (made, [worker]):
            task_id = await made.enqueue("a", "go")
            await till.all_started.wait()
            admin.execute(allow.format(database, "on"))
            admin.execute(cut)
            till.may_end.set()
            await lost(worker)
            admin.execute(allow.format(database, "off"))
            assert await results(made, [task_id]) == [("COMPLETED", 1, ["paid"])]
    told = [getattr(record, "event", "") for record in caplog.records]
    assert next(event for event in told if event.startswith("database")) == "database_lost"
    assert "database_found" in told
    assert "expired" not in told


async def test_a_worker_that_was_expired_claims_nothing(url: str) -> None:
    async with Orchestrator(url) as made:
        await made.enqueue("a", "go")
        roll, lines = WorkerRoll(made.store.database), [Line(agent="a", slots=1)]
        await roll.join("zombie", lease=30)
        await roll.leave("zombie")
        assert await made.queue.claim(lambda: lines, "zombie") == []
        await roll.join("other", lease=30)
        assert len(await made.queue.claim(lambda: lines, "other")) == 1


async def test_a_task_of_a_worker_that_nobody_knows_is_released_by_whoever_sees_it(
    url: str,
) -> None:
    async with Orchestrator(url) as made:
        task_id = await made.enqueue("a", "go")
        held = update(TASKS).values(status="ACTIVE", worker="nobody")
        await made.store.database.write(lambda connection: connection.execute(held))
        await WorkerRoll(made.store.database).cross_out_dead()
        task = await made.status(task_id)
        assert (task.status, task.worker) == ("QUEUED", None)


async def test_time_in_which_nobody_could_look_counts_for_nobody(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Orchestrator(url) as made:
        clock = [0.0]
        monkeypatch.setattr(time, "monotonic", lambda: clock[0])
        roll = WorkerRoll(made.store.database, every=5.0)
        await roll.join("healthy", lease=30)
        assert await roll.cross_out_dead() == 0
        for pause in (5.0, 300.0, *[5.0] * 3):
            clock[0] += pause
            assert await roll.cross_out_dead() == 0
        clock[0] += 5.0
        assert await roll.cross_out_dead() == 1
