"""Shell commands, well-behaved and hostile."""

import json
import re
import resource
from pathlib import Path

import anyio
import pytest
from inline_snapshot import snapshot
from tests.builtin._answers import Session

from toolwright.builtin import ShellToolset, create_local_execute_tool, workspace_tools
from toolwright.messages import ToolProgress

pytestmark = pytest.mark.anyio


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(workspace_tools(tmp_path))


@pytest.mark.row("002-17", "002-18")
async def test_a_command_runs_in_the_working_directory(session: Session, tmp_path: Path) -> None:
    (tmp_path / "here").touch()
    result = await session.answer("bash", command="ls; echo oops >&2; echo done")
    assert result.text == "here\noops\ndone\n"
    assert result.data == {"exit_code": 0, "ended": "exited"}


@pytest.mark.row("002-19")
async def test_the_exit_code_is_shown_when_it_is_not_zero(session: Session) -> None:
    assert await session.text("bash", command="echo hi; exit 3") == "hi\n[exit code 3]"
    assert await session.text("bash", command="true") == "(no output)"


@pytest.mark.parametrize("name", ["bash", "execute"])
async def test_a_command_that_fails_is_an_error_and_its_output_is_read_whole(
    name: str, tmp_path: Path
) -> None:
    tools = [*workspace_tools(tmp_path), create_local_execute_tool(work_dir=tmp_path)]
    session = Session(tools)
    well = await session.answer(name, command='echo \'{"ended": "2:1", "exit_code": 1}\'')
    badly = await session.answer(name, command="exit 3")
    assert [(r.status, r.failed) for r in (well, badly)] == [("ok", None), ("error", True)]


@pytest.mark.parametrize(("command", "failed"), [("exit 1", True), ("true", None)])
async def test_people_see_which_background_commands_failed(
    tmp_path: Path, command: str, failed: bool | None
) -> None:
    toolset = ShellToolset(work_dir=tmp_path)
    session = Session(await toolset.list_tools())
    name = (await session.text("start_process", command=command)).split()[1].rstrip(".")
    with anyio.fail_after(20):
        while "exited" not in (read := await session.answer("read_process", process_id=name)).text:
            await anyio.lowlevel.checkpoint()
    stopped = await session.answer("stop_process", process_id=name)
    assert [read.failed, stopped.failed] == [failed, failed]
    hanging = (await session.text("start_process", command="sleep 71717")).split()[1].rstrip(".")
    assert (await session.answer("stop_process", process_id=hanging)).failed is None
    await toolset.close()


async def test_a_command_that_hangs_is_ended_and_its_output_kept(session: Session) -> None:
    # Longer than a test may take, so that it cannot have been waited for.
    hang = "echo before; sleep 71717 & sleep 71717"
    text = await session.text("bash", command=hang, timeout=0.5)
    assert text == snapshot("before\n[timed out after 0.5 seconds; the command was ended]")


@pytest.mark.parametrize(
    "command",
    [
        "sleep 71717 & echo done",
        "setsid nohup sleep 71717 >/dev/null 2>&1 & echo done",
        "(sleep 71717 &) ; echo done",
    ],
)
async def test_a_child_that_stays_behind_neither_holds_the_call_nor_survives(
    session: Session, command: str
) -> None:
    with anyio.fail_after(15):
        assert await session.text("bash", command=command) == "done\n"
    assert "71717" not in _command_lines()


def _command_lines() -> str:
    """The command lines of all processes of this machine."""
    lines: list[str] = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(process.read_text(errors="replace"))
        except OSError:
            continue
    return "\n".join(lines)


async def test_a_command_that_reads_gets_nothing(session: Session) -> None:
    with anyio.fail_after(10):
        assert await session.text("bash", command="cat; read x; echo read=$x; tty") == snapshot(
            "read=\nnot a tty\n[exit code 1]"
        )


async def test_a_command_that_prints_a_gigabyte_returns_with_bounded_memory(
    session: Session,
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with anyio.fail_after(60):
        text = await session.text("bash", command="head -c 1000000000 /dev/zero | tr '\\0' 'x'")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(text.encode()) <= 50 * 1024
    assert after - before < 100 * 1024


@pytest.mark.row("002-52", "002-53")
async def test_what_was_left_out_can_be_read(session: Session) -> None:
    text = await session.text("bash", command="seq 1 100000")
    assert text.startswith("1\n2\n3\n")
    assert "\n99999\n100000\n" in text
    (path,) = re.findall(r"\[Output truncated at 50KB. Full output saved to: (\S+)\]$", text)
    page = await session.text("read", path=path, offset=50_000, limit=1)
    assert page.startswith("50000\n[Lines 50000-50000 of 100000")


@pytest.mark.row("002-20")
async def test_many_short_lines_are_cut_too(session: Session) -> None:
    text = await session.text("bash", command="yes | head -n 5000")
    assert text.count("\n") < 2000
    assert "lines left out" in text
    assert "[Output truncated at 2000 lines. Full output saved to: " in text


async def test_binary_output_is_shown_as_far_as_it_is_text(session: Session) -> None:
    text = await session.text("bash", command=r"printf 'a\xff\xfe\x00b'")
    assert text == "a\ufffd\ufffd\0b"


async def test_a_fork_happy_command_is_ended_with_all_its_children(session: Session) -> None:
    command = "for i in $(seq 40); do (sleep 61616 &) ; done; sleep 61616"
    with anyio.fail_after(20):
        text = await session.text("bash", command=command, timeout=1)
    assert "timed out" in text
    assert "61616" not in _command_lines()


@pytest.mark.row("000-66")
async def test_secrets_of_the_program_are_not_in_the_environment(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    text = await session.text("bash", command="env")
    assert "hunter2" not in text
    assert "PAGER=cat" in text


async def test_output_is_shown_while_the_command_runs(tmp_path: Path) -> None:
    session = Session(workspace_tools(tmp_path))
    session.script("bash", command="echo one; sleep 0.2; echo two")
    seen = [e.text async for e in session.runner.stream("go") if isinstance(e, ToolProgress)]
    assert "".join(seen) == "one\ntwo\n"
    assert len(seen) == 2


async def test_background_processes_are_started_listed_read_and_stopped(tmp_path: Path) -> None:
    shell = ShellToolset(tmp_path)
    session = Session([shell])
    started = await session.text("start_process", command="echo ready; sleep 51515")
    (name,) = re.findall(r"job-\w+", started)
    with anyio.fail_after(10):
        while "ready" not in (text := await session.text("read_process", process_id=name)):
            pass
    assert "running for" in text
    assert name in await session.text("list_processes")
    assert "stopped" in await session.text("stop_process", process_id=name)
    assert "51515" not in _command_lines()
    unknown = await session.answer("read_process", process_id="job-0")
    assert unknown.text == f"There is no process 'job-0' in this session; there is: {name}."
    await shell.close()


async def test_closing_the_toolset_ends_its_processes(tmp_path: Path) -> None:
    shell = ShellToolset(tmp_path)
    await Session([shell]).text("start_process", command="sleep 41414")
    with anyio.fail_after(30):  # While a program is being started it has no command line.
        while "41414" not in _command_lines():  # noqa: ASYNC110
            await anyio.sleep(0.01)
    await shell.close()
    assert "41414" not in _command_lines()


async def test_a_session_that_ends_takes_its_processes_with_it_and_leaves_no_trace(
    tmp_path: Path,
) -> None:
    toolset = ShellToolset(tmp_path)
    background = toolset._processes
    mine, other = Session([toolset]), Session([toolset])
    await other.text("list_processes")
    started = await mine.text("start_process", command="sleep 71717")
    assert started.startswith("Started")
    [(session, processes)] = background._started.items()
    await toolset.end_session(session)
    assert [one.job.poll() is not None for one in processes.values()] == [True]
    assert background._started == {}
    await toolset.close()


@pytest.mark.row("000-60", "000-61", "000-62", "000-65")
async def test_execute_answers_with_a_dict(tmp_path: Path) -> None:
    session = Session([create_local_execute_tool(work_dir=tmp_path)])
    assert await session.json("execute", command="echo hello world") == snapshot(
        {"status": "success", "output": "hello world\n", "exit_code": 0, "truncated": False}
    )
    result = await session.answer("execute", command="no-such-command-here")
    assert result.status == "error"
    missing = json.loads(result.text)
    assert (missing["status"], missing["exit_code"]) == ("error", 127)
    assert "command not found" in missing["output"]
    long = await session.json("execute", command="head -c 300000 /dev/zero | tr '\\0' 'x'")
    assert long["truncated"] is True
    assert len(long["output"]) < 100_100


@pytest.mark.parametrize("command", ["", "  \n"])
async def test_an_empty_command_is_the_models_mistake_and_logs_nothing(
    session: Session, tmp_path: Path, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    execute = Session([create_local_execute_tool(work_dir=tmp_path)])
    for result in (
        await session.answer("bash", command=command),
        await execute.answer("execute", command=command),
    ):
        assert result.text == "The command is empty; give the one to run."
        assert result.status == "error"
    assert caplog.records == []


@pytest.mark.row("000-63")
async def test_execute_says_when_time_is_up(tmp_path: Path) -> None:
    session = Session([create_local_execute_tool(work_dir=tmp_path, timeout=0.3)])
    assert await session.json("execute", command="sleep 60") == snapshot(
        {
            "status": "error",
            "output": "Command timed out after 0.3s",
            "exit_code": -1,
            "truncated": False,
        }
    )
