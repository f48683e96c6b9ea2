"""An older server that asks several things at once gets each answer for its own question."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import Agent, McpToolset, Reject, Result, Runner
from toolwright.sources.mcp import StdioConnectionParams, StdioServerParameters
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("asking_server.py")


def runner_at(folder: Path, *script: Any) -> Runner:
    server = StdioServerParameters(command=sys.executable, args=[str(SERVER), f"{folder}/log"])
    toolset = McpToolset(StdioConnectionParams(server_params=server))
    agent = Agent(name="a", model=ScriptedModel(*script), tools=[toolset])
    return Runner(agent, store=f"sqlite:///{folder}/s.db")


def replies(result: Result) -> list[Any]:
    results = result.history[-2].results  # type: ignore[union-attr]
    return [json.loads(r.text) if r.text.startswith("{") else r.text for r in results]


def log(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


async def test_two_questions_of_one_call_get_their_own_answers(tmp_path: Path) -> None:
    async with runner_at(tmp_path, call("ask", questions=["FROM?", "TO?"]), "Done.") as runner:
        with anyio.fail_after(30):
            paused = await runner.run("go", session_id="s")
            for question, answer in (("FROM?", "Oslo"), ("TO?", "Rome")):
                [waiting] = paused.pending
                assert waiting.hint == question
                await runner.answer("s", waiting.call_id, {"answer": answer})
                paused = await runner.resume("s")
    assert replies(paused) == [{"FROM?": "Oslo", "TO?": "Rome"}]
    assert not any("cancel" in line or "decline" in line for line in log(tmp_path))


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("same", [False, True])
async def test_the_questions_of_calls_at_once_get_their_own_answers(
    processes: int, same: bool, tmp_path: Path
) -> None:
    questions = ["Which?"] * 3 if same else ["One?", "Two?", "Three?"]
    turn = [*[call("ask", questions=[question]) for question in questions], call("wait")]
    with anyio.fail_after(30):
        async with runner_at(tmp_path, turn, "Done.") as first:
            paused = await first.run("go", session_id="s")
            assert [waiting.hint for waiting in paused.pending] == questions
            asked = len(log(tmp_path))
            async with runner_at(tmp_path, "Done.") as second:
                runner = first if processes == 1 else second
                for number, waiting in reversed(list(enumerate(paused.pending))):
                    await runner.answer("s", waiting.call_id, {"answer": str(number)})
                done = await runner.resume("s")
    assert replies(done) == [{question: str(n)} for n, question in enumerate(questions)] + [
        "waited"
    ]
    assert not any("error" in line for line in log(tmp_path)[asked:]), "no question is in doubt"
    assert log(tmp_path).count("called wait") == 1
    assert not any("cancel" in line or "decline" in line for line in log(tmp_path))


async def test_a_call_beside_them_that_fails_by_itself_is_not_made_again(tmp_path: Path) -> None:
    turn = [call("ask", questions=["One?"]), call("fail"), call("ask", questions=["Two?"])]
    with anyio.fail_after(30):
        async with runner_at(tmp_path, turn, "Done.") as runner:
            paused = await runner.run("go", session_id="s")
            assert [waiting.hint for waiting in paused.pending] == ["One?", "Two?"]
            for waiting in paused.pending:
                await runner.answer("s", waiting.call_id, Reject(reason="no"))
            done = await runner.resume("s")
    assert "it is broken" in replies(done)[1]
    assert log(tmp_path).count("called fail") == 1
