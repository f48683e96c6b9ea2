"""`toolwright worker` and `toolwright tasks`, as scripts and people use them."""

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import anyio
import pexpect
import pytest
from tests._loaded import LoadedProgram, LoadedTerminal
from tests.cli.program import here

from toolwright.cli import main
from toolwright.cli._log import OneLine
from toolwright.cli._tasks import open_orchestrator
from toolwright.messages import Approve, Reject
from toolwright.tasks import Orchestrator, current_task

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


def enqueue(retries: int = 0) -> str:
    async def work() -> str:
        made = Orchestrator("sqlite:///tasks.db")
        task_id = await made.enqueue("clerk", "go", owner_id="ada", retries=retries)
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
def worker(
    cwd: Path, *options: str, says: str = "works for clerk"
) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "toolwright.cli", "worker", "office:orchestrator", *options]
    with LoadedProgram(command, cwd=cwd, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert says in process.stderr.readline()
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
        call_id = shown.partition("waits    │ ")[2].split()[0]
        assert f"waits    │ {call_id}  ask (result)" in shown
        assert tasks("answer", task_id, call_id, "yes") == "accepted"
        tasks("answer", task_id, call_id, "no", check=2)
        wait_for(task_id, "COMPLETED")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    [row] = [json.loads(line) for line in tasks("list", "--json").splitlines()]
    assert (row["id"], row["status"], row["text"]) == (task_id, "COMPLETED", "Done.")


def test_the_beginning_of_an_id_is_enough_where_no_other_begins_so(
    tasks: Callable[..., str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = iter(["abcd0000", "abcd1111", "abcd"])
    given = SimpleNamespace(uuid4=lambda: SimpleNamespace(hex=next(ids)))
    monkeypatch.setattr("toolwright.tasks._enqueue.uuid", given)
    for _ in range(2):
        enqueue()
    assert json.loads(tasks("show", "abcd1"))["id"] == "abcd1111"
    assert tasks("cancel", "abcd0") == "cancelled"
    for words, why in [
        ("abcd", "abcd0000, abcd1111."),
        ("abc", "no task 'abc'"),
        ("b%cd", "no task"),
    ]:
        monkeypatch.setattr(sys, "argv", ["toolwright", "tasks", "show", words])
        with pytest.raises(SystemExit):
            main()
        assert why in capsys.readouterr().err
    enqueue()  # One whose whole id this is comes before all that begin so.
    assert json.loads(tasks("show", "abcd"))["id"] == "abcd"


def test_a_confirmation_is_answered_with_words_after_its_arguments_were_shown(
    office: Path, tasks: Callable[..., str]
) -> None:
    (office / "office.py").write_text(
        MODULE.replace(
            "orchestrator.register",
            "def even(scope: str) -> str:\n"
            "    if 'odd' in scope: raise ValueError('no odd scopes, please')\n"
            "    return scope\n"
            "def wipe(scope: Annotated[str, AfterValidator(even)]) -> str:\n"
            "    'Wipe a scope.'\n"
            "    return f'wiped {scope}'\n"
            "ask = FunctionTool(wipe, require_confirmation=True)\n"
            "model = ScriptedModel([call('wipe', scope=s) for s in ('staging', 'test')], 'Done.')\n"
            "orchestrator.register",
        ).replace(
            "from toolwright import Agent,",
            "from typing import Annotated\n"
            "from pydantic import AfterValidator\n"
            "from toolwright import Agent, FunctionTool,",
        )
    )
    task_id = enqueue()

    async def work() -> None:
        made = open_orchestrator("office:orchestrator")
        worker = made.worker()
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                while not await made.pending(task_id):
                    await made.changed(0.5)
                worker.drain()
        await made.close()

    anyio.run(work)
    shown = tasks("show", task_id)
    call_id = shown.partition("waits    │ ")[2].split()[0]
    assert f"waits    │ {call_id}  wipe (confirmation)" in shown
    assert '"scope": "staging"' in shown
    assert f"toolwright tasks answer {task_id} {call_id} approve\n" in shown
    assert "or, in place of approve: reject REASON" in shown
    row = json.loads(tasks("show", task_id, "--json").splitlines()[0])
    assert row["pending"][0]["arguments"] == {"scope": "staging"}

    for words in (("perhaps",), ("edit", "[1]"), ()):
        assert tasks("answer", task_id, call_id, *words, check=2) == ""
    tasks("answer", task_id, "call-9", "yes", check=2)
    wrong = ("answer", task_id, call_id, "edit", '{"scope": "odd"}')
    refused = here("tasks", *wrong, "--from", "office:orchestrator", cwd=office, check=2)
    assert "no odd scopes, please" in refused.stderr
    assert read_answers(task_id) == [None, None]
    assert tasks("answer", task_id, call_id, "reject", "too", "much") == "accepted"
    other = row["pending"][1]["call_id"]
    unsure = here("tasks", "answer", task_id, other, *wrong[3:], cwd=office)
    assert (unsure.stdout, "the tool itself checks them" in unsure.stderr) == ("accepted\n", True)
    assert read_answers(task_id) == [
        Reject(reason="too much"),
        Approve(arguments={"scope": "odd"}),
    ]


def read_answers(task_id: str) -> list[object]:
    async def read() -> list[object]:
        made = Orchestrator("sqlite:///tasks.db")
        calls = await made.store.open_calls("tasks", task_id)
        await made.close()
        return [call.answer for call in calls]

    return anyio.run(read)


def test_commands_that_read_make_no_database_and_say_that_there_is_none(
    office: Path, tasks: Callable[..., str]
) -> None:
    for words in (
        ("list",),
        ("show", "x"),
        ("cancel", "x"),
        ("answer", "x", "c", "yes"),
        ("watch",),
    ):
        assert tasks(*words, "--from", "sqlite:///nothere.db", check=2) == ""
    assert not (office / "nothere.db").exists()
    done = here("tasks", "list", cwd=office, check=2)
    assert "There is no database with tasks at sqlite:///tasks.db" in done.stderr
    enqueue()
    assert here("tasks", "list", "--status", "FAILED", cwd=office).stderr == "no tasks are FAILED\n"


def read_until(stream: IO[str], words: str) -> str:
    """The line with these words; the pipe ends if it never comes."""
    for line in stream:
        if words in line:
            return line
    raise AssertionError(f"{words!r} was never said")


def test_a_worker_logs_each_task_and_what_goes_wrong_in_one_line(office: Path) -> None:
    (office / "office.py").write_text(
        MODULE.replace(
            'call("ask"), "Done."',
            'call("ask"), ModelError("the model\\nis away", reason="auth")',
        ).replace("import Agent,", "import Agent, ModelError,")
    )
    task_id = enqueue()
    with worker(office) as process:
        log = process.stderr
        assert log is not None
        assert "(clerk) begins" in read_until(log, task_id)
        assert "parks: it waits for ask (result)" in read_until(log, task_id)
        here("tasks", "answer", task_id, "call-1", "yes", cwd=office)
        assert "begins" in read_until(log, task_id)
        failed = read_until(log, task_id)
        assert "WARNING" in failed
        assert "ModelError: the model is away" in failed
        process.send_signal(signal.SIGTERM)
        rest = log.read()
        assert "draining" in rest
        assert "Traceback" not in rest


def test_a_worker_logs_json_and_gives_back_what_runs_when_its_time_to_drain_is_over(
    office: Path,
) -> None:
    (office / "office.py").write_text(
        MODULE.replace(
            "ScriptedModel(call", "ScriptedModel(ModelError('away', reason='auth'), call"
        )
        .replace("import Agent,", "import Agent, ModelError, tool,")
        .replace(
            "@deferred_tool(timeout=60)\nasync def ask() -> None:", "@tool\nasync def ask() -> str:"
        )
        .replace('somebody."""', 'somebody."""\n    import anyio\n    await anyio.sleep_forever()')
    )
    task_id = enqueue(retries=1)
    options = ("--json", "--drain-seconds", "0.1")
    with worker(office, *options, says='"event": "started"') as process:
        assert process.stderr is not None
        told = [json.loads(read_until(process.stderr, task_id)) for _ in range(4)]
        assert [line["event"] for line in told] == ["taken", "failed", "retried", "taken"]
        assert {line["task"] for line in told} == {task_id}
        assert told[1]["message"] == f"task {task_id} failed: ModelError: away"
        process.send_signal(signal.SIGTERM)
        rest = [json.loads(line) for line in process.stderr]
        assert process.wait(timeout=60) == 0
    assert [line["event"] for line in rest][:2] == ["draining", "drained"]
    wait_for(task_id, "QUEUED")


def test_a_tool_that_raises_is_one_line_with_its_task_and_the_traceback_is_for_the_verbose(
    office: Path,
) -> None:
    record = logging.LogRecord(
        "toolwright", logging.ERROR, "x", 1, "tool %r raised\n%s",
        ("look", "Traceback (most recent call last):\n  File x\nValueError: no\x1b[2J\n"), None,
    )  # fmt: skip
    token = current_task.set("task-1")
    try:
        line = OneLine(False, task=current_task.get).format(record)
        verbose = OneLine(True, task=current_task.get).format(record)
    finally:
        current_task.reset(token)
    assert (
        r"ERROR   task task-1: tool 'look' raised: ValueError: no\u001b[2J (--verbose has" in line
    )
    assert "\n" not in line
    assert "Traceback" not in line
    assert "Traceback (most recent call last):\n  File x" in verbose


@pytest.mark.postgres
def test_a_worker_whose_database_is_away_says_so_in_a_line_and_tries_again(office: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers here
        url = f"postgresql://ada:hunter2@127.0.0.1:{taken.getsockname()[1]}/none"
        (office / "office.py").write_text(MODULE.replace("sqlite:///tasks.db", url))
        with worker(office) as process:
            assert process.stderr is not None
            line = read_until(process.stderr, "trying again in 1 s")
            assert "127.0.0.1" in line
            assert "hunter2" not in line
            read_until(process.stderr, "trying again in 2 s")
            process.send_signal(signal.SIGTERM)  # also while it pauses
            assert "Traceback" not in process.stderr.read()
            assert process.wait(timeout=60) == 0


def test_a_worker_whose_file_cannot_be_opened_ends_with_one_line(office: Path) -> None:
    (office / "office.py").write_text(MODULE.replace("///tasks.db", "///office.py/tasks.db"))
    with worker(office) as process:
        assert process.stderr is not None
        told = process.stderr.read()
        assert process.wait(timeout=60) == 1
    assert "Not a directory" in told
    assert "Traceback" not in told


def test_tasks_are_cancelled_steered_and_tried_again_without_a_worker(
    tasks: Callable[..., str],
) -> None:
    task_id = enqueue()
    assert tasks("steer", task_id, "hurry") == "sent"
    assert tasks("cancel", task_id) == "cancelled"
    tasks("cancel", task_id, check=1)
    assert tasks("retry", task_id) == "queued again"
    assert task_id in tasks("list", "--status", "QUEUED", "--owner", "ada")
    assert task_id in tasks("list", "--text", "go", "--younger", "1h")
    assert tasks("list", "--text", "gone") == tasks("list", "--after", task_id) == ""
    assert tasks("list", "--tag", "red", "--younger", "1w") == ""
    tasks("list", "--younger", "soon", check=2)
    assert tasks("list", "--status", "FAILED") == ""


def test_failed_tasks_are_listed_with_their_reasons_and_tried_again_together(
    tasks: Callable[..., str],
) -> None:
    ids = [enqueue(), enqueue()]

    async def fail() -> None:
        made = Orchestrator("sqlite:///tasks.db")
        for task_id in ids:
            await made.queue.conclude(task_id, "FAILED", reason=f"no\nluck with {task_id}")
        await made.close()

    assert tasks("dead") == ""
    anyio.run(fail)
    for line, task_id in zip(tasks("dead").splitlines(), reversed(ids), strict=True):
        assert line.startswith(task_id)
        assert line.endswith(f"no luck with {task_id}")
    [row] = tasks("dead", "--json", "--limit", "1", "--agent", "clerk").splitlines()
    assert json.loads(row)["reason"] == f"no\nluck with {ids[1]}"
    tasks("retry", check=2)
    tasks("retry", ids[0], "--dead", check=2)
    tasks("retry", ids[0], "--agent", "clerk", check=2)
    assert tasks("retry", "--dead", "--owner", "bob") == "queued again: 0"
    assert tasks("retry", "--dead", "--owner", "ada") == "queued again: 2"
    assert tasks("dead") == ""


def test_tasks_that_ended_long_ago_are_pruned(tasks: Callable[..., str]) -> None:
    task_id = enqueue()
    tasks("cancel", task_id)
    assert tasks("prune", "--older", "1d") == "pruned: 0"
    for wrong in ("soon", "30", "-1d", "1y"):
        tasks("prune", f"--older={wrong}", check=2)
    assert tasks("prune", "--older", "0s", "--status", "FAILED") == "pruned: 0"
    assert tasks("prune", "--older", "0s") == "pruned: 1"
    assert tasks("list") == ""


def test_tasks_are_scheduled_from_the_terminal(tasks: Callable[..., str]) -> None:
    enqueue()
    agent = json.loads(tasks("list", "--json"))["agent"]
    times = ("--cron", "0 9 1 1 *", "--timezone", "Europe/Berlin", "--name", "new-year")
    said = tasks("schedule", agent, "Count the money.", *times)
    assert re.fullmatch(r"new-year starts next at \d{4}-01-01 09:00 CET", said)
    assert "0 9 1 1 * Europe/Berlin" in tasks("schedules")
    assert json.loads(tasks("schedules", "--json"))["name"] == "new-year"
    tasks("schedule", agent, "x", "--cron", "at dawn", check=2)
    assert tasks("unschedule", "new-year") == "it starts nothing more"
    tasks("unschedule", "new-year", check=1)
    assert tasks("schedules") == ""


def test_the_live_view_shows_tasks_as_they_move(office: Path, tasks: Callable[..., str]) -> None:
    task_id = enqueue()
    words = ["-m", "toolwright.cli", "tasks", "watch"]
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    view = LoadedTerminal(sys.executable, words, cwd=str(office), env=env, dimensions=(30, 120))
    try:
        view.expect(task_id, timeout=60)
        view.expect("QUEUED", timeout=60)
        tasks("cancel", task_id)
        view.expect("CANCELLED", timeout=60)
        view.sendintr()
        view.expect(pexpect.EOF, timeout=60)
    finally:
        view.close(force=True)
