"""Closing an executor ends what runs in it, whatever that is and whoever waits for it."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolwright.backends import Executor, Finished, Limits, LocalExecutor, PortableSandbox
from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox, open_sandbox
from toolwright.builtin.shell import BestExecutor, ProcessTools, _best_executor
from toolwright.errors import ToolError, UsageError

pytestmark = pytest.mark.anyio
Opened = Callable[[Path], Awaitable[Any]]
LONG = Limits(timeout=60)


async def local(workspace: Path) -> Executor:
    return LocalExecutor(workspace)


async def best(workspace: Path) -> Executor:
    return BestExecutor(workspace)


async def bubblewrap(workspace: Path) -> OsSandbox:
    return await open_sandbox(workspace, walls=Bubblewrap())


async def landlock(workspace: Path) -> OsSandbox:
    return await open_sandbox(workspace, walls=Landlock())


async def ended_by_closing(
    executor: Executor, work: Callable[[], Awaitable[Finished]], is_under_way: Callable[[], bool]
) -> Finished:
    done: list[Finished] = []

    async def run() -> None:
        done.append(await work())

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            while not is_under_way():
                await anyio.lowlevel.checkpoint()
            await executor.close()
    return done[0]


@pytest.mark.parametrize("opened", [local, best, bubblewrap, landlock])
async def test_closing_ends_a_command_and_what_it_wrote_is_kept(
    tmp_path: Path, opened: Opened
) -> None:
    executor, seen = await opened(tmp_path), []
    done = await ended_by_closing(
        executor,
        lambda: executor.run(
            "echo begun; sleep 50", limits=LONG, on_output=lambda *said: seen.append(said)
        ),
        lambda: bool(seen),
    )
    assert (done.ended, done.stdout) == ("stopped", "begun\n")


@pytest.mark.parametrize("opened", [bubblewrap, landlock, PortableSandbox.open])
async def test_closing_ends_python_that_runs_and_lets_none_begin(
    tmp_path: Path, opened: Opened
) -> None:
    sandbox = await opened(tmp_path)
    path = f"{sandbox.workspace}/begun"
    code = f"open({path!r}, 'w').write('x')\nwhile True: pass"
    refused: list[Exception] = []

    async def run() -> Finished:
        ended: list[Finished] = []
        async with anyio.create_task_group() as group:

            async def behind() -> None:
                await anyio.lowlevel.checkpoint()
                with pytest.raises(UsageError, match="closed") as caught:
                    await sandbox.run_code(code, limits=LONG)
                refused.append(caught.value)

            group.start_soon(behind)
            ended.append(await sandbox.run_code(code, limits=LONG))
        return ended[0]

    done = await ended_by_closing(sandbox, run, (tmp_path / "begun").exists)
    assert not done.ok
    assert done.ended != "timeout"
    assert len(refused) == 1


async def test_closing_ends_a_command_of_the_portable_bash(tmp_path: Path) -> None:
    sandbox = await PortableSandbox.open(tmp_path)
    done = await ended_by_closing(
        sandbox,
        lambda: sandbox.run("while true; do true; done", limits=LONG),
        lambda: bool(sandbox._running._processes),
    )
    assert done.ended == "stopped"


async def test_closing_ends_code_whose_calls_are_being_answered(tmp_path: Path) -> None:
    sandbox = await open_sandbox(tmp_path)
    asked = anyio.Event()

    async def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    done = await ended_by_closing(
        sandbox, lambda: sandbox.run_calling("await ask()", ["ask"], answer), asked.is_set
    )
    assert not done.ok


async def test_a_file_that_is_being_read_does_not_keep_a_sandbox_open(tmp_path: Path) -> None:
    sandbox = await open_sandbox(tmp_path)
    os.mkfifo(tmp_path / "f")  # Nobody writes to it.

    async def read() -> Finished:
        with pytest.raises(ToolError, match="stopped"):
            await sandbox.read_file("f")
        return Finished(exit_code=0, stdout="")

    await ended_by_closing(sandbox, read, lambda: bool(sandbox._running._processes))


class Job:
    """Stands for a background job."""

    id = "job"

    def __init__(self) -> None:
        self.stopped = False

    def poll(self) -> None:
        return None

    async def stop(self) -> None:
        self.stopped = True


class Slow:
    """Stands for an executor that takes its time to open or to start something."""

    def __init__(self) -> None:
        self.begun, self.may_go_on = anyio.Event(), anyio.Event()
        self.closed = False
        self.job = Job()

    async def open(self, *args: Any, **named: Any) -> "Slow":
        self.begun.set()
        await self.may_go_on.wait()
        return self

    async def start(self, *args: Any, **named: Any) -> Job:
        assert not self.closed
        await self.open()
        return self.job

    async def close(self) -> None:
        self.closed = True


async def test_what_was_being_opened_while_its_executor_closed_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, executor = Slow(), BestExecutor()
    monkeypatch.setattr(_best_executor, "open_executor", slow.open)
    async with anyio.create_task_group() as group:

        async def start() -> None:
            with pytest.raises(UsageError, match="closed"):
                await executor.start("sleep 60")

        group.start_soon(start)
        await slow.begun.wait()
        await executor.close()
        slow.may_go_on.set()
    assert slow.closed


@pytest.mark.parametrize("whose", ["all", "the session's"])
async def test_a_process_that_was_being_started_while_its_session_ended_is_stopped(
    whose: str,
) -> None:
    slow, session = Slow(), "s"
    executor: Any = slow
    tools: Any = ProcessTools(executor)
    async with anyio.create_task_group() as group:

        async def start() -> None:
            with pytest.raises(ToolError, match="session ended"):
                await tools.start_process("sleep 60", SimpleNamespace(session=session))

        group.start_soon(start)
        await slow.begun.wait()
        await tools.stop_all(None if whose == "all" else session)
        slow.may_go_on.set()
    assert slow.job.stopped


class Places:
    """Opens real executors, and knows which are open."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self.open_now: list[LocalExecutor] = []

    async def open(self, *args: Any, **named: Any) -> LocalExecutor:
        places = self

        class Place(LocalExecutor):
            async def close(self) -> None:
                await anyio.lowlevel.checkpoint()  # As an executor that has something to wait for.
                await super().close()
                places.open_now = [one for one in places.open_now if one is not self]

        self.open_now.append(Place(self._workspace))
        return self.open_now[-1]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    places = Places(tmp_path)
    monkeypatch.setattr(_best_executor, "open_executor", places.open)
    return places


async def test_the_sandbox_of_a_background_command_is_closed_with_its_session(
    places: Places,
) -> None:
    async with BestExecutor() as executor:
        tools: Any = ProcessTools(executor)
        for session in ("one", "other"):
            await tools.start_process("sleep 60", SimpleNamespace(session=session))
        assert len(places.open_now) == 2
        with anyio.fail_after(30):
            await tools.stop_all("one")
        assert len(places.open_now) == 1
    assert places.open_now == []


@pytest.mark.parametrize("how", ["waited for", "another started"])
async def test_the_sandbox_of_a_background_command_that_has_ended_is_closed(
    places: Places, how: str
) -> None:
    async with BestExecutor() as executor:
        job = await executor.start("echo hello")
        with anyio.fail_after(30):
            if how == "waited for":
                await job.wait()
                assert places.open_now == []
            else:
                while job.poll() is None:
                    await anyio.lowlevel.checkpoint()
                await executor.start("sleep 60")
                assert len(places.open_now) == 1
        assert job.read() == "hello\n"
        assert (await job.stop()).ok


async def test_the_sandbox_of_a_command_that_cannot_be_started_is_closed(places: Places) -> None:
    async with BestExecutor() as executor:
        with pytest.raises(UsageError, match="empty"):
            await executor.start("")
        assert places.open_now == []


async def test_the_sandbox_of_a_cancelled_command_is_closed(places: Places) -> None:
    async with BestExecutor() as executor:
        seen: list[str] = []
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:

                def cancel(stream: str, text: str) -> None:
                    seen.append(text)
                    group.cancel_scope.cancel()

                async def run() -> None:
                    await executor.run("echo begun; sleep 60", on_output=cancel)

                group.start_soon(run)
        assert seen
        assert places.open_now == []


async def test_who_closes_a_sandbox_that_is_being_closed_waits_until_it_is(tmp_path: Path) -> None:
    sandbox = await open_sandbox(tmp_path)
    found: list[bool] = []

    async def close() -> None:
        await sandbox.close()
        found.append(sandbox._home.exists())

    with anyio.fail_after(20):
        await sandbox.start("trap '' TERM; while :; do sleep 50; done")
        async with anyio.create_task_group() as group:
            group.start_soon(close)
            group.start_soon(close)
    assert found == [False, False]
