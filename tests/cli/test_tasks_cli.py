"""`toolwright worker` and `toolwright tasks`, as scripts and people use them."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pexpect
import pytest

from toolwright.cli import main
from toolwright.tasks import Orchestrator

MODULE = '''\
from toolwright import Agent, deferred_tool
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel, call


@deferred_tool(timeout=60)
async def ask() -> None:
    """Ask somebody."""


orchestrator = Orchestrator("sqlite:///tasks.db")
model = ScriptedModel(call("ask"), "Done.")
orchestrator.register(Agent(name="clerk", model=model, tools=[ask]))
'''


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "office.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def enqueue() -> str:
    async def work() -> str:
        made = Orchestrator("sqlite:///tasks.db")
        task_id = await made.enqueue("clerk", "go", owner_id="ada")
        await made.close()
        return task_id

    return anyio.run(work)


def wait_for(task_id: str, status: str) -> None:
    async def work() -> None:
        made = Orchestrator("sqlite:///tasks.db")
        with anyio.fail_after(60):
            while (await made.status(task_id)).status != status:
                await made.changed(0.5)
        await made.close()

    anyio.run(work)


@pytest.fixture
def tasks(
    office: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., str]]:
    """`toolwright tasks …` in this process: what it prints."""
    level = logging.getLogger("toolwright").level

    def call(*words: str, check: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["toolwright", "tasks", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == check
        return capsys.readouterr().out.strip()

    yield call
    logging.getLogger("toolwright").setLevel(level)


@contextmanager
def worker(cwd: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "toolwright.cli", "worker", "office:orchestrator"]
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "works for clerk" in process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_a_task_is_shown_answered_and_its_worker_drained(
    office: Path, tasks: Callable[..., str]
) -> None:
    task_id = enqueue()
    with worker(office) as process:
        wait_for(task_id, "PENDING_TOOL_RESULTS")
        shown = tasks("show", task_id)
        call_id = shown.splitlines()[-1].split()[1]
        assert f"waits: {call_id} ask (result)" in shown
        assert tasks("complete", task_id, call_id, "yes") == "accepted"
        assert tasks("complete", task_id, call_id, "no", check=1) != "accepted"
        wait_for(task_id, "COMPLETED")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    [row] = [json.loads(line) for line in tasks("list", "--json").splitlines()]
    assert (row["id"], row["status"], row["text"]) == (task_id, "COMPLETED", "Done.")


def test_tasks_are_cancelled_steered_and_tried_again_without_a_worker(
    tasks: Callable[..., str],
) -> None:
    task_id = enqueue()
    assert tasks("steer", task_id, "hurry") == "sent"
    assert tasks("cancel", task_id) == "cancelled"
    tasks("cancel", task_id, check=1)
    assert tasks("retry", task_id) == "queued again"
    assert task_id in tasks("list", "--status", "QUEUED", "--owner", "ada")
    assert tasks("list", "--status", "FAILED") == ""


def test_the_live_view_shows_tasks_as_they_move(office: Path, tasks: Callable[..., str]) -> None:
    task_id = enqueue()
    words = ["-m", "toolwright.cli", "tasks", "watch"]
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    view = pexpect.spawn(sys.executable, words, cwd=str(office), env=env, dimensions=(30, 120))
    try:
        view.expect(task_id, timeout=60)
        view.expect("QUEUED", timeout=60)
        tasks("cancel", task_id)
        view.expect("CANCELLED", timeout=60)
        view.sendintr()
        view.expect(pexpect.EOF, timeout=60)
    finally:
        view.close(force=True)
