"""Workers that are killed, stopped and raced: nothing is lost, nothing finished runs twice."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psycopg
import pytest
from tests._postgres import new_database
from tests.tasks._story import BLOCK, END, LEASE, STOP, orchestrator
from tests.tasks.conftest import Nursery, wait_for_end

from toolwright.errors import StoreError
from toolwright.messages import ToolEnded
from toolwright.tasks import Orchestrator, Task

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]
WRITES = 13
"""How often the journal of an undisturbed run is written, at most."""


@asynccontextmanager
async def opened(url: str, log: Path) -> AsyncIterator[Orchestrator]:
    made = orchestrator(url, log)
    try:
        yield made
    finally:
        await made.close()


async def until_parked(made: Orchestrator, task_id: str) -> str:
    """The id of the call that waits."""
    with anyio.fail_after(30):
        while True:
            task = await made.status(task_id)
            if task.status == "PENDING_TOOL_RESULTS":
                return (await made.pending(task_id))[0][1].call_id
            assert not task.ended, task
            await made.changed(1.0)


async def finish(made: Orchestrator, task_id: str) -> Task:
    """Answer whatever waits, until the task has ended.

    Who was stopped in the middle of a transaction keeps its locks for thirty seconds.
    """
    with anyio.fail_after(90):
        while not (task := await made.status(task_id)).ended:
            for _, pending in await made.pending(task_id):
                await made.complete_deferred_tool(
                    task_id=task_id, tool_call_id=pending.call_id, result={"status": "approved"}
                )
            await made.changed(0.2)
        return task


async def check_end(made: Orchestrator, task: Task, log: Path) -> None:
    """The end is that of an undisturbed run, and what each tool did is exactly known."""
    assert (task.status, task.text) == ("COMPLETED", END)
    done = (await anyio.Path(log).read_text()).splitlines()
    events = await made.stored_events(task.id)
    results = {e.result.name: e.result for e in events if isinstance(e, ToolEnded)}
    assert [e.result.name for e in events if isinstance(e, ToolEnded)].count("charge") == 1
    charged = done.count("charge")
    if results["charge"].status == "ok":
        assert charged == 1
    else:
        assert "outcome is unknown" in results["charge"].text
        assert charged <= 1
    assert results["look_up"].status == "ok"
    assert len({line for line in done if line.startswith("send")}) == 1
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


# Before and after every write on SQLite; of every second one is enough for the second database.
KILL_POINTS = [
    *(pytest.param("sqlite", n, id=f"sqlite-{n}") for n in range(2 * WRITES)),
    *(
        pytest.param("postgres", n, id=f"postgres-{n}", marks=pytest.mark.postgres)
        for n in range(2 * WRITES)
        if n % 4 < 2
    ),
]


@pytest.mark.parametrize(("url", "kill_at"), KILL_POINTS, indirect=["url"])
async def test_a_worker_killed_at_any_write_of_the_journal_is_taken_over(
    url: str, tmp_path: Path, nursery: Nursery, kill_at: int
) -> None:
    log = tmp_path / "log"
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy")
        with nursery.worker(url, log, kill_at) as doomed:
            async with anyio.create_task_group() as group:
                group.start_soon(finish_and_stop, made, task_id, doomed)
                await wait_for_end(doomed)
                group.cancel_scope.cancel()
        assert (await made.status(task_id)).attempts, "it died before it took the task"
        with nursery.worker(url, log):
            task = await finish(made, task_id)
        await check_end(made, task, log)


async def finish_and_stop(made: Orchestrator, task_id: str, pid: int) -> None:
    """The last writes are shared when calls end together, so there may be fewer of them."""
    await finish(made, task_id)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


async def test_a_worker_that_sleeps_past_its_lease_cannot_write_when_it_wakes(
    url: str, tmp_path: Path, nursery: Nursery
) -> None:
    log = tmp_path / "log"
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy")
        with nursery.worker(url, log, STOP) as sleeper:
            with nursery.worker(url, log):
                task = await finish(made, task_id)
            events = await made.stored_events(task_id)
            os.kill(sleeper, signal.SIGCONT)
            # It works again, on other tasks, and has left this one alone.
            again = await made.enqueue("shop", "buy again")
            await until_moved(made, again)
        assert await made.stored_events(task_id) == events
        await check_end(made, task, await only_first(log))


async def test_a_tool_that_holds_up_the_event_loop_does_not_lose_its_task(
    url: str, tmp_path: Path, nursery: Nursery
) -> None:
    log = tmp_path / "log"
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy")
        with nursery.worker(url, log, BLOCK):
            await until_moved(made, task_id)
            with nursery.worker(url, log):
                task = await finish(made, task_id)
        assert task.attempts <= 2  # until it waited, and after the answer if that was later
        results = [e.result for e in await made.stored_events(task_id) if isinstance(e, ToolEnded)]
        assert [r.status for r in results if r.name == "charge"] == ["ok"]
        await check_end(made, task, log)


@pytest.mark.postgres
async def test_connections_that_are_cut_in_mid_run_are_made_again(
    tmp_path: Path, nursery: Nursery
) -> None:
    url, log = new_database(), tmp_path / "log"
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy")
        with nursery.worker(url, log), anyio.fail_after(60):
            while True:
                await anyio.to_thread.run_sync(cut_connections, url)
                with contextlib.suppress(StoreError, TimeoutError), anyio.fail_after(1):
                    task = await finish(made, task_id)
                    break
        await check_end(made, task, log)


def cut_connections(url: str) -> None:
    """What a restart of the server looks like to those who are connected."""
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(cut, (connection.info.dbname, connection.info.backend_pid))


async def until_moved(made: Orchestrator, task_id: str) -> None:
    with anyio.fail_after(30):
        while (await made.status(task_id)).status == "QUEUED":
            await made.changed(0.5)


async def only_first(log: Path) -> Path:
    """What was done before the second task."""
    lines = (await anyio.Path(log).read_text()).splitlines()
    last = next(index for index, line in enumerate(lines) if line.startswith("send"))
    first = log.with_suffix(".first")
    await anyio.Path(first).write_text("\n".join(lines[: last + 1]))
    return first


async def test_answers_early_twice_late_unknown_and_racing(
    url: str, tmp_path: Path, nursery: Nursery
) -> None:
    log = tmp_path / "log"
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy")
        answers: list[Any] = []

        async def answer(call_id: str, value: int) -> None:
            answers.append(
                await made.complete_deferred_tool(
                    task_id=task_id, tool_call_id=call_id, result=value
                )
            )

        await answer("nothing", 0)
        with nursery.worker(url, log):
            call_id = await until_parked(made, task_id)
            async with anyio.create_task_group() as group:
                for value in range(5):
                    group.start_soon(answer, call_id, value)
            task = await made.wait(task_id, timeout=30)
        await answer(call_id, 9)
        assert answers[0] == "unknown"
        assert sorted(answers[1:6]) == ["accepted", *["duplicate"] * 4]
        assert answers[6] in ("duplicate", "finished")
        assert (
            await made.complete_deferred_tool(task_id="gone", tool_call_id="c", result=0)
            == "unknown"
        )
        await check_end(made, task, log)


def test_the_lease_of_the_story_is_short_enough_for_these_tests() -> None:
    assert LEASE <= 2
