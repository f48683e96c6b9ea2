"""Workers that are killed, stopped and raced: nothing is lost, nothing finished runs twice."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests._postgres import new_database
from tests.tasks._story import END, LEASE, orchestrator

from toolwright.messages import ToolEnded
from toolwright.tasks import Orchestrator, Task

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("tasks")]
ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/tasks.db" if request.param == "sqlite" else new_database()


@contextmanager
def worker(url: str, log: Path, kill_at: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-m", "tests.tasks._story", url, str(log)]
    process = subprocess.Popen([*words, *([] if kill_at is None else [str(kill_at)])], cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


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
            pending = await made.pending(task_id)
            if pending and task.status == "PENDING_TOOL_RESULTS":
                return pending[0][1].call_id
            if task.ended:
                raise AssertionError(task)
            await made.changed(0.2)


async def finish(made: Orchestrator, task_id: str) -> Task:
    call_id = await until_parked(made, task_id)
    answered = await made.complete_deferred_tool(
        task_id=task_id, tool_call_id=call_id, result={"status": "approved"}
    )
    assert answered == "accepted"
    return await made.wait(task_id, timeout=30)


async def check_end(made: Orchestrator, task: Task, log: Path) -> None:
    """The end is that of an undisturbed run, and what each tool did is exactly known."""
    assert (task.status, task.text) == ("COMPLETED", END)
    done = log.read_text().splitlines()
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


@pytest.mark.parametrize("kill_at", range(16))
async def test_a_worker_killed_at_any_write_of_the_journal_is_taken_over(
    url: str, tmp_path: Path, kill_at: int
) -> None:
    log = tmp_path / "log"
    log.touch()
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy", owner_id=uuid.uuid4().hex)
        with worker(url, log, kill_at) as doomed:
            with anyio.move_on_after(20):
                while doomed.poll() is None:
                    if await made.pending(task_id):
                        break
                    await made.changed(0.05)
            if doomed.poll() is None and kill_at // 2 >= 4:
                # The later writes only come once the call is answered.
                task = await finish_or_die(made, task_id, doomed)
                if task is not None:
                    return await check_end(made, task, log)
        with worker(url, log):
            task = await resume_after_kill(made, task_id)
        await check_end(made, task, log)


async def finish_or_die(
    made: Orchestrator, task_id: str, process: subprocess.Popen[bytes]
) -> Task | None:
    """Answer, then wait for the end of the task or of the process."""
    call_id = await until_parked(made, task_id)
    await made.complete_deferred_tool(task_id=task_id, tool_call_id=call_id, result="yes")
    with anyio.fail_after(30):
        while process.poll() is None:
            task = await made.status(task_id)
            if task.ended:
                return task
            await made.changed(0.05)
    return None


async def resume_after_kill(made: Orchestrator, task_id: str) -> Task:
    with anyio.fail_after(40):
        while not (task := await made.status(task_id)).ended:
            for _, pending in await made.pending(task_id):
                await made.complete_deferred_tool(
                    task_id=task_id, tool_call_id=pending.call_id, result="yes"
                )
            await made.changed(0.1)
        return task


async def test_a_worker_that_sleeps_past_its_lease_cannot_write_when_it_wakes(
    url: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.touch()
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy", owner_id=uuid.uuid4().hex)
        with worker(url, log) as sleeper:
            await until_parked(made, task_id)
            os.kill(sleeper.pid, signal.SIGSTOP)
            with worker(url, log):
                task = await finish(made, task_id)
                os.kill(sleeper.pid, signal.SIGCONT)
                again = await made.enqueue("shop", "buy again", owner_id=uuid.uuid4().hex)
                await finish(made, again)
            events = len(await made.stored_events(task_id))
        await check_end(made, task, Path(_only(log, task_id)))
        assert len(await made.stored_events(task_id)) == events


def _only(log: Path, task_id: str) -> str:
    """The log of the first of two tasks: each tool wrote its line once per task."""
    lines = log.read_text().splitlines()
    kept = [line for line in dict.fromkeys(lines) if not line.startswith("send") or task_id in line]
    only = log.with_suffix(".first")
    only.write_text("\n".join(kept))
    return str(only)


async def test_answers_early_twice_late_unknown_and_racing(url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy", owner_id=uuid.uuid4().hex)
        answers: list[Any] = []

        async def answer(call_id: str, value: int) -> None:
            answers.append(
                await made.complete_deferred_tool(
                    task_id=task_id, tool_call_id=call_id, result=value
                )
            )

        await answer("nothing", 0)
        with worker(url, log):
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


async def test_a_parked_task_can_be_cancelled_and_its_call_not_answered_any_more(
    url: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.touch()
    async with opened(url, log) as made:
        task_id = await made.enqueue("shop", "buy", owner_id=uuid.uuid4().hex)
        with worker(url, log):
            call_id = await until_parked(made, task_id)
            assert await made.cancel(task_id)
            assert not await made.cancel(task_id)
        assert (await made.status(task_id)).status == "CANCELLED"
        late = await made.complete_deferred_tool(task_id=task_id, tool_call_id=call_id, result=1)
        assert late == "finished"


def test_the_lease_of_the_story_is_short_enough_for_these_tests() -> None:
    assert LEASE <= 2
