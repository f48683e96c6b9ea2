"""`toolwright worker` and `toolwright tasks`, as scripts and people use them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

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
ENQUEUE = """\
import anyio
from office import orchestrator

async def main():
    print(await orchestrator.enqueue("clerk", "go", owner_id="ada"))
    await orchestrator.close()

anyio.run(main)
"""
WAIT = """\
import anyio, sys
from office import orchestrator

async def main():
    while (await orchestrator.status(sys.argv[1])).status != sys.argv[2]:
        await orchestrator.changed(0.5)
    await orchestrator.close()

anyio.run(main)
"""


@pytest.fixture
def office(tmp_path: Path) -> Path:
    (tmp_path / "office.py").write_text(MODULE)
    return tmp_path


def python(code: str, *words: str, cwd: Path) -> str:
    command = [sys.executable, "-c", code, *words]
    return subprocess.check_output(command, cwd=cwd, text=True, timeout=60).strip()


def tasks(*words: str, cwd: Path, check: int = 0) -> str:
    command = [sys.executable, "-m", "toolwright.cli", "tasks", *words]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)
    assert done.returncode == check, done
    return done.stdout.strip()


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


def test_a_task_is_shown_answered_and_its_worker_drained(office: Path) -> None:
    task_id = python(ENQUEUE, cwd=office)
    with worker(office) as process:
        python(WAIT, task_id, "PENDING_TOOL_RESULTS", cwd=office)
        shown = tasks("show", task_id, cwd=office)
        call_id = shown.splitlines()[-1].split()[1]
        assert f"waits: {call_id} ask (result)" in shown
        assert tasks("complete", task_id, call_id, "yes", cwd=office) == "accepted"
        assert tasks("complete", task_id, call_id, "no", cwd=office, check=1) != "accepted"
        python(WAIT, task_id, "COMPLETED", cwd=office)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    [row] = [json.loads(line) for line in tasks("list", "--json", cwd=office).splitlines()]
    assert (row["id"], row["status"], row["text"]) == (task_id, "COMPLETED", "Done.")


def test_tasks_are_cancelled_steered_and_tried_again_without_a_worker(office: Path) -> None:
    task_id = python(ENQUEUE, cwd=office)
    assert tasks("steer", task_id, "hurry", cwd=office) == "sent"
    assert tasks("cancel", task_id, cwd=office) == "cancelled"
    tasks("cancel", task_id, cwd=office, check=1)
    assert tasks("retry", task_id, cwd=office) == "queued again"
    assert task_id in tasks("list", "--status", "QUEUED", "--owner", "ada", cwd=office)
    assert tasks("list", "--status", "FAILED", cwd=office) == ""


def test_the_live_view_shows_tasks_as_they_move(office: Path) -> None:
    task_id = python(ENQUEUE, cwd=office)
    command = [sys.executable, "-m", "toolwright.cli", "tasks", "watch"]
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    view = pexpect.spawn(command[0], command[1:], cwd=str(office), env=env, dimensions=(30, 120))
    try:
        view.expect("QUEUED", timeout=30)
        view.expect(task_id[:8], timeout=30)
        tasks("cancel", task_id, cwd=office)
        view.expect("CANCELLED", timeout=30)
        view.sendintr()
        view.expect(pexpect.EOF, timeout=30)
    finally:
        view.close(force=True)
