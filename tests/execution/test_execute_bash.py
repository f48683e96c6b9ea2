"""`ExecuteBashTool`: judged, asked about, run within limits."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolwright import Agent, Approve, BashToolPolicy, ExecuteBashTool, Reject, Runner
from toolwright.agent import Result
from toolwright.backends import open_sandbox
from toolwright.errors import UsageError
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


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


async def test_a_person_is_asked_and_then_the_command_runs(tmp_path: Path) -> None:
    tool = ExecuteBashTool(workspace=tmp_path)
    asked, _ = await run(tool, "echo hi > f")
    assert asked.status == "paused"
    assert asked.pending[0].payload == {"command": "echo hi > f", "commands": [["echo", "hi"]]}
    assert not (tmp_path / "f").exists()
    done, answer = await run(tool, "echo hi > f; cat f; echo oops >&2; exit 3", Approve())
    assert done.status == "done"
    assert answer == {"stdout": "hi\n", "stderr": "oops\n", "returncode": 3}


async def test_a_rejected_command_never_runs(tmp_path: Path) -> None:
    _, answer = await run(ExecuteBashTool(workspace=tmp_path), "touch f", Reject(reason="no"))
    assert "no" in answer["text"]
    assert not (tmp_path / "f").exists()


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


async def test_silence_and_timeouts_are_said(tmp_path: Path) -> None:
    tool = ExecuteBashTool(workspace=tmp_path / "new", policy=BashToolPolicy(timeout_seconds=1))
    _, quiet = await run(tool, "true", Approve())
    assert quiet == {"stdout": "<no stdout captured>", "stderr": "", "returncode": 0}
    _, late = await run(tool, "echo early; sleep 30", Approve())
    assert late["stdout"] == "early\n"
    assert "within 1 seconds" in late["error"]


async def test_limits_of_the_policy_hold(tmp_path: Path) -> None:
    policy = BashToolPolicy(max_file_size_bytes=100, max_child_processes=5)
    tool = ExecuteBashTool(workspace=tmp_path, policy=policy)
    await run(tool, "head -c 5000 /dev/zero > big", Approve())
    assert (tmp_path / "big").stat().st_size == 100
    _, many = await run(tool, "for i in 1 2 3 4 5 6 7 8 9; do sleep 30 & done; wait", Approve())
    assert "processes" in many["error"]


async def test_in_a_sandbox_listed_interpreters_run(tmp_path: Path) -> None:
    policy = BashToolPolicy(("python3 -c",))
    outside = ExecuteBashTool(workspace=tmp_path, policy=policy)
    _, refused = await run(outside, "python3 -c 'print(6 * 7)'")
    assert "only in a sandbox" in refused["error"]
    async with await open_sandbox(tmp_path) as sandbox:
        inside = ExecuteBashTool(workspace=tmp_path, policy=policy, executor=sandbox)
        _, answer = await run(inside, "python3 -c 'print(6 * 7)'", Approve())
    assert answer["stdout"] == "42\n"


def test_what_the_executor_must_enforce_is_demanded_when_the_tool_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not provide network_confined"):
        ExecuteBashTool(workspace=tmp_path, require=["network_confined"])


async def test_output_is_shown_while_the_command_runs(tmp_path: Path) -> None:
    model = ScriptedModel(call("execute_bash", command="echo one"), "Done.")
    policy = BashToolPolicy(confirm_read_only=False)
    agent = Agent(name="a", model=model, tools=[ExecuteBashTool(workspace=tmp_path, policy=policy)])
    shown = [event.text async for event in agent.stream("go") if event.type == "tool_progress"]
    assert "".join(shown) == "one\n"
