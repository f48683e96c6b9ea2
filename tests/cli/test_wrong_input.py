"""Input that nobody meant: empty options, JSON without end, an interruption, a name given twice."""

import json
import re
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.cli import program
from tests.cli.program import DESK, here
from tests.cli.test_run import DESK_AGENT, WIPE, waiting_session

from toolwright import Agent, FunctionTool, Runner, UsageError
from toolwright.backends import sqlite_address
from toolwright.cli import _by_hand, _run, _tools, main
from toolwright.cli._form import _value
from toolwright.cli._json import read_json
from toolwright.cli._places import new_scope
from toolwright.cli._policy import _read
from toolwright.cli._target import Target
from toolwright.cli._words import parse_answer
from toolwright.messages import ModelMessage, Pending
from toolwright.models import ModelRequest, OnDelta
from toolwright.testing import ScriptedModel, call

DEEP = [300, 100_000]
CONFIRM = Pending(call_id="c1", name="wipe", kind="confirmation", arguments={"scope": "x"})


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "desk.py").write_text(DESK)
    return tmp_path


# -- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["run", "chat"])
def test_an_empty_session_is_no_session(desk: Path, command: str) -> None:
    words = ("run", "hi") if command == "run" else ("chat",)
    told = here(*words, "-s", "", *DESK_AGENT, cwd=desk, check=2).stderr
    assert told.startswith("There is no session ''.")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "hi", "--store"), ("run", "hi", "--model"), ("chat", "--agent"),
        ("sessions", "answer", "hand-x", "c", "yes", "--model"), ("mcp", "serve", "--model"),
        ("serve", "--files"), ("serve", "--tasks"), ("serve", "--host"),
        ("mcp", "serve", "--http", "--host"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_option_that_names_nothing_is_a_mistake(desk: Path, words: tuple[str, ...]) -> None:
    told = here(*words, "", cwd=desk, check=2).stderr
    assert told == f"{words[-1]} is empty; name one, or leave it out.\n"


def test_a_session_that_is_named_twice_is_deleted_once(desk: Path) -> None:
    session = waiting_session(here("run", WIPE, *DESK_AGENT, cwd=desk, check=3))
    done = here("sessions", "delete", session, session, *DESK_AGENT, cwd=desk)
    assert done.stdout == f"deleted {session}\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("serve", "--work"), "add --tasks MODULE:ORCHESTRATOR"),
        (("mcp", "serve", "--host", "127.0.0.1"), "add --http"),
        (("mcp", "serve", "--port", "0"), "add --http"),
        (("check", "--file", "x.lock"), "add --locked"),
        (("trust", "--list", "--revoke"), "give one of them"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_option_that_would_do_nothing_is_refused_with_what_it_is_for(
    desk: Path, words: tuple[str, ...], told: str
) -> None:
    agent = () if words[0] == "trust" else DESK_AGENT
    assert told in here(*words, *agent, cwd=desk, check=2).stderr


# -- JSON ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", DEEP)
def test_json_that_is_nested_too_deeply_is_none(tmp_path: Path, levels: int) -> None:
    deep = nested(levels)
    with pytest.raises(ValueError, match=r"level|deep"):
        read_json(deep)
    with pytest.raises(UsageError, match=r"as JSON: .*(level|deep)") as edited:
        parse_answer(CONFIRM, f"edit {deep}")
    assert len(str(edited.value)) < 200
    assert _tools.parse_pairs([f"a={deep}"]) == {"a": deep}
    assert _value({}, deep) == deep
    lock = tmp_path / "lock"
    lock.write_text(deep)
    with pytest.raises(UsageError, match="is no lock file"):
        _read(lock)


def test_what_is_shown_of_a_long_wrong_answer_is_short() -> None:
    for text in (f"edit {json.dumps('x' * 5000)}", "y" * 5000):
        with pytest.raises(UsageError) as refused:
            parse_answer(CONFIRM, text)
        assert len(str(refused.value)) < 600


def test_json_is_read_as_it_is() -> None:
    assert read_json('{"a": [1, 2.5, null, true, "x"]}') == {"a": [1, 2.5, None, True, "x"]}


# -- interruptions ------------------------------------------------------------------------------


def wipe(scope: str) -> str:
    """Wipe a scope."""
    return scope


def wiping(tmp_path: Path, *turns: Any) -> Runner:
    tools = [FunctionTool(wipe, require_confirmation=True)]
    agent = Agent(name="desk", model=ScriptedModel(*turns), tools=tools)
    return Runner(agent, app_name="desk", store=sqlite_address(tmp_path / "kept.db"))


def cancelled(work: Callable[[anyio.Event], Coroutine[Any, Any, object]]) -> None:
    """Do the work, and cancel it as a signal does when it has come to its event."""

    async def main() -> None:
        async with anyio.create_task_group() as group:
            reached = anyio.Event()
            group.start_soon(work, reached)
            with anyio.fail_after(30):
                await reached.wait()
            group.cancel_scope.cancel()

    anyio.run(main)


def hang_at(reached: anyio.Event) -> Callable[..., Awaitable[Any]]:
    async def hang(*given: Any) -> Any:
        reached.set()
        await anyio.sleep_forever()

    return hang


def test_a_signal_at_a_question_names_the_session_and_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(reached: anyio.Event) -> None:
        async with wiping(tmp_path, call("wipe", scope="x")) as runner:
            monkeypatch.setattr(_run, "choose_asker", lambda **_: hang_at(reached))
            target = Target(agent="desk:agent")
            await _run.finish(runner, new_scope(runner), "Hi", target, json=False, yes=False)

    cancelled(work)
    told = capsys.readouterr().err
    assert "waiting for an answer in session " in told
    assert re.search(r" call-\d+ --agent desk:agent approve\n", told)


def test_a_signal_in_a_turn_names_the_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(reached: anyio.Event) -> None:
        class Hangs:
            name = "hangs"

            async def respond(
                self, request: ModelRequest, on_delta: OnDelta | None = None
            ) -> ModelMessage:
                return await hang_at(reached)()

        async with wiping(tmp_path) as runner:
            runner.agent = runner.agent.with_model(Hangs())
            target = Target(agent="desk:agent")
            await _run.finish(runner, new_scope(runner), "Hi", target, json=False, yes=False)

    cancelled(work)
    told = capsys.readouterr().err
    assert "interrupted; session " in told
    assert "\ngo on: toolwright chat -s " in told


def test_a_signal_at_the_question_of_a_tool_names_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work(reached: anyio.Event) -> None:
        async with wiping(tmp_path) as runner:
            monkeypatch.setattr(_by_hand, "choose_asker", lambda **_: hang_at(reached))
            await _by_hand.call_tool(runner, "wipe", {"scope": "x"})

    cancelled(work)
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["pending"][0]["call_id"]) == ("pending", "hand-1")


@pytest.mark.parametrize(
    "words",
    [
        ("tools", "list"),
        ("config", "check"),
        ("trust",),
        ("run", "hi", "-m", "me"),
        ("serve", "x.py:y"),
    ],
)
def test_a_current_directory_that_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()

    def removed_before() -> None:
        gone.rmdir()
        main()

    monkeypatch.setattr(program, "main", removed_before)
    told = here(*words, cwd=gone, check=2).stderr
    assert told == "The current directory is gone; change to one that is there.\n"
