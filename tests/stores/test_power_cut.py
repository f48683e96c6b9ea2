"""What a power cut may take from SQLite, and what it may not: whatever somebody outside acts on."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import event

from toolwright import Agent, Approve, Result, Runner, Tool, ToolContext, deferred_tool, tool
from toolwright.backends import SqlStore
from toolwright.backends.sql import Database
from toolwright.messages import ToolEnded
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


class Disk:
    """What a database's write-ahead log has on the disk: all up to the last commit that was synced.

    SQLite has everything up to such a commit on the disk when it is over; of what came later the
    worst is assumed, that it was only in the system's memory.
    """

    def __init__(self, file: Path, database: Database) -> None:
        self._file, self._log = file, Path(f"{file}-wal")
        _, writer = database._opened()
        self._length = self._log.stat().st_size  # The tables, which were made just now.
        self._is_synced = False
        # It has the lock by then, and has written nothing yet.
        event.listen(writer, "begin", self._look)
        event.listen(writer, "commit", self._note)

    def _note(self, connection: Any) -> None:
        raw = connection.connection.driver_connection
        [level] = raw.execute("PRAGMA synchronous").fetchone()
        self._is_synced = level == 2

    def _look(self, connection: Any = None) -> None:
        if self._is_synced:
            self._length = self._log.stat().st_size
        self._is_synced = False

    def lose_power(self, left: Path) -> None:
        """Write to `left` what another machine would find on the disk now."""
        self._look()
        left.write_bytes(self._file.read_bytes())
        Path(f"{left}-wal").write_bytes(self._log.read_bytes()[: self._length])
        with closing(sqlite3.connect(left)) as found, found:
            # No process that was there is here.
            found.execute("DELETE FROM toolwright_workers")


@asynccontextmanager
async def running(
    folder: Path, name: str, script: list[Any], tools: list[Any]
) -> AsyncIterator[tuple[Runner, Disk]]:
    """A runner on a database, and the disk below it."""
    agent = Agent(name="a", model=ScriptedModel(*script), tools=tools)
    async with Runner(agent, store=f"sqlite:///{folder / name}") as runner:
        assert isinstance(runner.store, SqlStore)
        await runner.sessions()
        yield runner, Disk(folder / name, runner.store.database)


class Cuts:
    """A tool during whose first call the power goes."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.left = folder / "left.db"
        self.lose_power: Callable[[Path], None] | None = None
        self.keys: list[str] = []
        deferred = settings.pop("deferred", False)

        async def pay(tool_context: ToolContext) -> str:
            """Pay."""
            self.keys.append(tool_context.idempotency_key)
            if self.lose_power is not None:
                self.lose_power(self.left)
                self.lose_power = None
            return "paid"

        self.tool: Tool = (deferred_tool if deferred else tool)(**settings)(pay)


def results_of(name: str, done: Result) -> list[str]:
    return [r.text for m in done.history if m.kind == "tool" for r in m.results if r.name == name]


SCRIPT = [call("look"), call("pay"), *["Done."] * 3]


@tool(effects="read")
async def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize("deferred", [False, True])
async def test_a_call_that_was_going_when_the_power_went_is_not_made_again(
    tmp_path: Path, deferred: bool
) -> None:
    cuts = Cuts(tmp_path, deferred=deferred)
    async with running(tmp_path, "s.db", SCRIPT, [look, cuts.tool]) as (runner, disk):
        cuts.lose_power = disk.lose_power
        await runner.run("go", session_id="s")
    async with running(tmp_path, "left.db", SCRIPT[2:], [look, cuts.tool]) as (runner, _):
        done = await runner.resume("s")
    assert len(cuts.keys) == 1
    assert "outcome is unknown" in results_of("pay", done)[0]


@pytest.mark.parametrize("deferred", [False, True])
async def test_a_call_that_is_repeated_after_the_power_went_has_its_key_again(
    tmp_path: Path, deferred: bool
) -> None:
    cuts = Cuts(tmp_path, deferred=deferred, idempotent=True)
    async with running(tmp_path, "s.db", SCRIPT, [look, cuts.tool]) as (runner, disk):
        cuts.lose_power = disk.lose_power
        await runner.run("go", session_id="s")
    async with running(tmp_path, "left.db", SCRIPT[2:], [look, cuts.tool]) as (runner, _):
        await runner.resume("s")
    assert len(cuts.keys) == 2
    assert len(set(cuts.keys)) == 1


async def test_an_answer_that_was_accepted_and_the_call_it_is_for_outlast_a_power_cut(
    tmp_path: Path,
) -> None:
    @tool(require_confirmation=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    async with running(tmp_path, "s.db", SCRIPT, [look, pay]) as (runner, disk):
        paused = await runner.run("go", session_id="s")
        disk.lose_power(tmp_path / "asked.db")
        assert await runner.answer("s", paused.pending[0].call_id, Approve()) == "accepted"
        disk.lose_power(tmp_path / "left.db")
    async with running(tmp_path, "asked.db", ["Done."], [look, pay]) as (runner, _):
        assert [asked.name for asked in await runner.pending("s")] == ["pay"]
    async with running(tmp_path, "left.db", ["Done."], [look, pay]) as (runner, _):
        done = await runner.resume("s")
    assert done.status == "done"
    assert results_of("pay", done) == ["paid"]


async def test_what_only_reads_waits_for_no_disk(tmp_path: Path) -> None:
    script = [call("look"), "Done."]
    async with running(tmp_path, "s.db", script, [look]) as (runner, disk):
        await runner.run("go", session_id="s")
        disk.lose_power(tmp_path / "left.db")
    async with running(tmp_path, "left.db", [], [look]) as (runner, _):
        assert await runner.sessions() == [], "a power cut may take what nobody acted on"


@asynccontextmanager
async def tasks_at(file: Path, script: Sequence[Any], *tools: Any) -> AsyncIterator[Orchestrator]:
    agent = Agent(name="a", model=ScriptedModel(*script), tools=tools)
    async with Orchestrator(f"sqlite:///{file}") as made:
        made.register(agent)
        await made.list()
        yield made


async def work_off(made: Orchestrator, task_id: str) -> None:
    worker = made.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            await made.wait(task_id)
            group.cancel_scope.cancel()


async def test_a_worker_does_not_make_a_call_again_that_was_going_when_the_power_went(
    tmp_path: Path,
) -> None:
    cuts = Cuts(tmp_path)
    async with tasks_at(tmp_path / "s.db", SCRIPT, look, cuts.tool) as made:
        cuts.lose_power = Disk(tmp_path / "s.db", made.store.database).lose_power
        task_id = await made.enqueue("a", "go")
        await work_off(made, task_id)
    async with tasks_at(cuts.left, SCRIPT[2:], look, cuts.tool) as made:
        await work_off(made, task_id)
        ended = [
            e.result.text for e in await made.stored_events(task_id) if isinstance(e, ToolEnded)
        ]
    assert len(cuts.keys) == 1
    assert "outcome is unknown" in ended[-1]


async def test_a_task_and_what_it_was_told_outlast_a_power_cut(tmp_path: Path) -> None:
    enqueued, steered, cancelled = (tmp_path / f"{name}.db" for name in "abc")
    async with tasks_at(tmp_path / "s.db", []) as made:
        disk = Disk(tmp_path / "s.db", made.store.database)
        task_id = await made.enqueue("a", "go")
        disk.lose_power(enqueued)
        await made.steer(task_id, "and come back")
        disk.lose_power(steered)
        await made.queue.request_cancel(task_id)
        disk.lose_power(cancelled)
    async with tasks_at(enqueued, []) as made:
        assert [task.id for task in await made.list()] == [task_id]
    async with tasks_at(steered, []) as made:
        assert (await made.queue.mail([task_id]))[task_id].letters
    async with tasks_at(cancelled, []) as made:
        assert (await made.queue.mail([task_id]))[task_id].cancel
