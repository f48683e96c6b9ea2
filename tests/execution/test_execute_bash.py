"""`ExecuteBashTool`: judged, asked about, run within limits."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from toolwright import Agent, Approve, BashToolPolicy, ExecuteBashTool, Reject, Runner
from toolwright.agent import Result
from toolwright.backends import LocalExecutor
from toolwright.backends.sandboxes import Bubblewrap, Landlock, Seatbelt, Walls
from toolwright.builtin import bash_tool, create_local_execute_tool, workspace_tools
from toolwright.builtin.shell import BestExecutor
from toolwright.builtin.shell._best_executor import _capabilities
from toolwright.errors import StoreError, UsageError
from toolwright.testing import ScriptedModel, call, check_executor

pytestmark = pytest.mark.anyio

FIRST_SAMPLE = BashToolPolicy(
    ("git", "python3", "pip"), blocked_operators=("|", ";", "&&", "||", "`"), timeout_seconds=60
)
SECOND_SAMPLE = BashToolPolicy(
    ("ls", "cat", "echo", "python3 -c"),
    blocked_operators=("|", ";", "&&", "||", "&"),
    timeout_seconds=10,
)


async def run(
    tool: ExecuteBashTool, command: str, answer: Any = None
) -> tuple[Result, dict[str, Any]]:
    """Have an agent call the tool once; returns the last result and what the tool answered."""
    model = ScriptedModel(call("execute_bash", command=command), "Done.")
    runner = Runner(Agent(name="shell", model=model, tools=[tool]), app_name="test")
    result = await runner.run("go", user_id="ada", session_id="s")
    if result.pending and answer is not None:
        await runner.answer("s", result.pending[0].call_id, answer)
        result = await runner.resume("s")
    last = [r for m in result.history if m.kind == "tool" for r in m.results]
    text = last[-1].text if last else ""
    return result, json.loads(text) if text.startswith("{") else {"text": text}


@pytest.mark.row("004-B3", "004-B4", "004-B9", "004-B12")
async def test_a_person_is_asked_and_then_the_command_runs(tmp_path: Path) -> None:
    tool = ExecuteBashTool(workspace=tmp_path)
    asked, _ = await run(tool, "echo hi > f")
    assert asked.status == "paused"
    assert asked.pending[0].payload == {"command": "echo hi > f", "commands": [["echo", "hi"]]}
    assert not (tmp_path / "f").exists()
    done, answer = await run(tool, "echo hi > f; cat f; echo oops >&2; exit 3", Approve())
    assert done.status == "done"
    assert answer == {"stdout": "hi\n", "stderr": "oops\n", "returncode": 3}
    assert [r.status for m in done.history if m.kind == "tool" for r in m.results] == ["error"]


async def test_a_rejected_command_never_runs(tmp_path: Path) -> None:
    _, answer = await run(ExecuteBashTool(workspace=tmp_path), "touch f", Reject(reason="no"))
    assert "no" in answer["text"]
    assert not (tmp_path / "f").exists()


@pytest.mark.row("004-B5a")
async def test_a_command_that_is_not_allowed_is_an_error_and_nobody_is_asked(
    tmp_path: Path,
) -> None:
    tool = ExecuteBashTool(workspace=tmp_path, policy=BashToolPolicy(("ls",)))
    result, answer = await run(tool, "ls; id")
    assert result.status == "done"
    assert answer["error"].startswith("Command not allowed: 'id' is not allowed")


async def test_a_person_cannot_change_a_command_to_one_that_is_not_allowed(tmp_path: Path) -> None:
    tool = ExecuteBashTool(workspace=tmp_path, policy=BashToolPolicy(("ls",)))
    _, answer = await run(tool, "ls", Approve(arguments={"command": "id"}))
    assert "not allowed" in answer["text"]


async def test_consent_can_be_waived_for_commands_that_only_read(tmp_path: Path) -> None:
    tool = ExecuteBashTool(workspace=tmp_path, policy=BashToolPolicy(confirm_read_only=False))
    result, answer = await run(tool, "echo hi | wc -l")
    assert (result.status, answer["stdout"].strip()) == ("done", "1")
    result, _ = await run(tool, "touch f")
    assert result.status == "paused"


@pytest.mark.row("004-B7")
async def test_silence_and_timeouts_are_said(tmp_path: Path) -> None:
    tool = ExecuteBashTool(workspace=tmp_path / "new", policy=BashToolPolicy(timeout_seconds=1))
    _, quiet = await run(tool, "true", Approve())
    assert quiet == {"stdout": "<no stdout captured>", "stderr": "", "returncode": 0}
    _, late = await run(tool, "echo early; sleep 30", Approve())
    assert late["stdout"] == "early\n"
    assert "within 1 seconds" in late["error"]


@pytest.mark.row("004-B8a", "004-B8b", "004-B8c")
async def test_limits_of_the_policy_hold(tmp_path: Path) -> None:
    policy = BashToolPolicy(max_file_size_bytes=100, max_child_processes=5)
    tool = ExecuteBashTool(workspace=tmp_path, policy=policy)
    await run(tool, "head -c 5000 /dev/zero > big", Approve())
    assert (tmp_path / "big").stat().st_size == 100
    _, many = await run(tool, "for i in 1 2 3 4 5 6 7 8 9; do sleep 30 & done; wait", Approve())
    assert "processes" in many["error"]


@pytest.mark.row("004-B5c")
@pytest.mark.parametrize("policy", [FIRST_SAMPLE, SECOND_SAMPLE], ids=["first", "second"])
async def test_what_the_samples_list_runs(policy: BashToolPolicy, tmp_path: Path) -> None:
    tool = ExecuteBashTool(workspace=tmp_path, policy=policy)
    _, answer = await run(tool, "python3 -c 'print(6 * 7)'", Approve())
    assert answer["stdout"] == "42\n"


@pytest.mark.row("004-B2b")
async def test_all_that_the_first_sample_lists_runs(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("print('from a file')")
    tool = ExecuteBashTool(workspace=tmp_path, policy=FIRST_SAMPLE)
    for command, said in {"git --version": "git version", "python3 x.py": "from a file",
                          "python3 --version": "Python 3", "python3 -m pip --version": "pip "}.items():  # fmt: skip
        _, answer = await run(tool, command, Approve())
        assert said in answer["stdout"], answer
    assert FIRST_SAMPLE.check("pip list").allowed


async def test_by_default_commands_run_in_a_sandbox_where_one_works(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    tool = ExecuteBashTool(workspace=tmp_path / "inside")
    assert tool.executor.capabilities.filesystem_confined
    assert tool.executor.capabilities.network_confined
    assert "in a sandbox" in tool.as_tool().description
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    _, answer = await run(
        tool, f"echo x > {tmp_path}/out; cat {secret}; echo y > here; ls", Approve()
    )
    assert answer["stdout"] == "here\n"
    assert not (tmp_path / "out").exists()


async def test_where_no_sandbox_works_commands_run_on_the_machine_and_the_tool_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: object) -> str:
        return "it is broken"

    for walls in (Bubblewrap, Landlock, Seatbelt):
        monkeypatch.setattr(walls, "probe", broken)
    _capabilities.cache_clear()
    try:
        tool = ExecuteBashTool(workspace=tmp_path, policy=FIRST_SAMPLE)
        description = tool.as_tool().description
        _, answer = await run(tool, "python3 -c 'import os; print(os.getcwd())'", Approve())
        with pytest.raises(UsageError, match="it is broken"):
            ExecuteBashTool(workspace=tmp_path, require=["filesystem_confined"])
    finally:
        _capabilities.cache_clear()
    assert "on this machine without a sandbox" in description
    assert answer["stdout"] == f"{tmp_path}\n"


async def test_a_listed_program_that_is_not_known_runs_where_there_is_a_sandbox(
    tmp_path: Path,
) -> None:
    policy = BashToolPolicy(("mytool",))
    local = ExecuteBashTool(workspace=tmp_path, policy=policy, executor=LocalExecutor(tmp_path))
    _, refused = await run(local, "mytool")
    assert "allowed only in a sandbox" in refused["error"]
    _, answer = await run(ExecuteBashTool(workspace=tmp_path, policy=policy), "mytool", Approve())
    assert answer["returncode"] == 127


def test_what_the_executor_must_enforce_is_demanded_when_the_tool_is_made(tmp_path: Path) -> None:
    local = LocalExecutor(tmp_path)
    with pytest.raises(UsageError, match="does not provide network_confined"):
        ExecuteBashTool(workspace=tmp_path, executor=local, require=["network_confined"])
    ExecuteBashTool(workspace=tmp_path, require=["network_confined"])


async def test_the_default_place_keeps_what_every_executor_promises() -> None:
    async def opened() -> BestExecutor:
        return BestExecutor(tempfile.mkdtemp())

    await check_executor(opened)


def test_all_tools_that_run_commands_say_where(tmp_path: Path) -> None:
    local = LocalExecutor(tmp_path)
    inside = [
        ExecuteBashTool(workspace=tmp_path).as_tool(),
        *workspace_tools(tmp_path),
        bash_tool(BestExecutor(tmp_path)),
    ]
    outside = [
        ExecuteBashTool(executor=local).as_tool(),
        bash_tool(local),
        create_local_execute_tool(local),
    ]
    for tool in (tool for tool in inside if "bash" in tool.name):
        assert "Commands run in a sandbox" in tool.description
        assert "There is no network." in tool.description
    for tool in outside:
        assert "Commands run on this machine without a sandbox." in tool.description


async def test_a_background_process_of_the_default_place_ends_with_it(tmp_path: Path) -> None:
    async with BestExecutor(tmp_path) as executor:
        job = await executor.start("sleep 71718")
        assert job.poll() is None
    assert job.poll() is not None


async def no_walls(given: object = ()) -> Walls:
    raise StoreError("No sandbox works on this machine.")


async def test_a_place_that_was_said_to_be_a_sandbox_is_one_or_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with BestExecutor(tmp_path) as executor:
        assert executor.is_sandbox
        monkeypatch.setattr("toolwright.backends.sandboxes._open.standing_walls", no_walls)
        with pytest.raises(StoreError, match="No sandbox works"):
            await executor.run("touch made")
        with pytest.raises(StoreError, match="No sandbox works"):
            await executor.start("touch made")
    assert os.listdir(tmp_path) == []


async def test_where_no_sandbox_works_commands_run_on_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwright.backends.sandboxes._open.standing_walls", no_walls)
    place = "toolwright.builtin.shell._best_executor._capabilities"
    monkeypatch.setattr(place, lambda: LocalExecutor().capabilities)
    async with BestExecutor(tmp_path) as executor:
        assert not executor.is_sandbox
        assert (await executor.run("echo $PWD")).stdout == f"{tmp_path}\n"
        job = await executor.start("sleep 71719")
    assert job.poll() is not None


async def test_output_is_shown_while_the_command_runs(tmp_path: Path) -> None:
    model = ScriptedModel(call("execute_bash", command="echo one"), "Done.")
    policy = BashToolPolicy(confirm_read_only=False)
    agent = Agent(name="a", model=model, tools=[ExecuteBashTool(workspace=tmp_path, policy=policy)])
    shown = [event.text async for event in agent.stream("go") if event.type == "tool_progress"]
    assert "".join(shown) == "one\n"
