"""The program around the commands: what it loads, prints and asks."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.cli.program import DESK, clean_environment, here

from toolwright import Agent, FunctionTool, Runner, deferred_tool, get_user_choice
from toolwright.cli._go import UNANSWERED, go
from toolwright.cli._table import COMMANDS, GROUPS
from toolwright.messages import Approve, Event, Pending, Scope
from toolwright.testing import ScriptedModel, call


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "desk.py").write_text(DESK)
    return tmp_path


def loaded_by(*words: str, cwd: Path) -> set[str]:
    """The modules that a command loads."""
    script = (
        "import sys, json\nfrom toolwright.cli import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert not ended.code, ended\n"
        "print('\\n' + json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=cwd, env=clean_environment(), text=True,
        stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_help_loads_neither_the_parser_nor_the_library(desk: Path) -> None:
    heavy = {"cyclopts", "rich", "pydantic", "anyio", "sqlalchemy", "prompt_toolkit", "openai"}
    assert loaded_by("--help", cwd=desk) & heavy == set()


def test_a_run_loads_no_terminal_library_and_no_provider_that_it_does_not_use(desk: Path) -> None:
    words = ("run", "hi", "--agent", "desk:agent", "--store", "memory://")
    heavy = {"prompt_toolkit", "openai", "anthropic", "sqlalchemy", "starlette"}
    assert loaded_by(*words, cwd=desk) & heavy == set()


def test_a_run_in_sqlite_loads_nothing_of_postgres(desk: Path) -> None:
    words = ("run", "hi", "--agent", "desk:agent", "--store", "sqlite:///s.db")
    loaded = loaded_by(*words, cwd=desk)
    assert "sqlalchemy" in loaded
    assert loaded & {"sqlalchemy.dialects.postgresql", "psycopg"} == set()


@pytest.mark.parametrize(
    "line",
    [
        "Agent(name='a', model=ScriptedModel('hi')).run_sync('hello')",
        "asyncio.run(None)",
        "anyio.run(main)",
    ],
)
def test_a_file_that_runs_when_it_is_imported_is_told_where_to_put_it(
    tmp_path: Path, line: str
) -> None:
    (tmp_path / "script.py").write_text(
        "import anyio, asyncio\nfrom toolwright import Agent\n"
        "from toolwright.testing import ScriptedModel\nasync def main(): pass\n"
        f"agent = Agent(name='a', model=ScriptedModel('hi'))\n{line}\n"
    )
    done = here("run", "hi", "--agent", "script.py:agent", cwd=tmp_path, check=2)
    assert f"line 6 of {tmp_path / 'script.py'} runs something right away ({line})" in done.stderr
    assert "if __name__ == '__main__':" in done.stderr


def test_the_help_names_every_command(desk: Path) -> None:
    shown = here("--help", cwd=desk).stdout
    names = [words for words in COMMANDS if " " not in words] + list(GROUPS)
    assert [name for name in names if f"\n  {name} " not in shown] == []
    assert here(cwd=desk).stdout == here("-h", cwd=desk).stdout == shown


def test_the_module_is_the_command(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "toolwright", "--version"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == f"{version('toolwright')}\n"


def test_the_agent_is_the_first_word_or_an_option(desk: Path) -> None:
    for words in (("check",), ("tools", "list"), ("tools", "show", "wipe")):
        by_option = here(*words, "--agent", "desk:agent", cwd=desk).stdout
        assert here(*words, "desk:agent", cwd=desk).stdout == by_option
        assert "wipe" in by_option or "tools, about" in by_option


@pytest.mark.parametrize(
    "words",
    [
        ("tools", "list", "desk:agent"),
        ("tools", "show", "wipe", "desk:agent"),
        ("check", "desk:agent"),
        ("sessions", "list", "desk:agent"),
        ("sessions", "list", "desk:runner"),
        ("sessions", "show", "x", "--agent", "desk:agent"),
        ("sessions", "show", "x", "--agent", "desk:runner"),
        ("tools", "list", "desk:runner"),
        ("tasks", "list"),
        ("tasks", "show", "x"),
        ("config", "schema"),
        ("config", "check"),
    ],
    ids=" ".join,
)
def test_commands_that_read_make_no_file(desk: Path, state: Path, words: tuple[str, ...]) -> None:
    stored = (
        DESK + "from toolwright import Runner\nrunner = Runner(agent, store='sqlite:///own.db')\n"
    )
    (desk / "desk.py").write_text(stored)
    here(*words, cwd=desk, check=None)
    (desk / "agent.yaml").write_text("name: filed\nmodel: ollama:x\n")
    here(
        *(word for word in words if not word.startswith(("desk:", "--agent"))), cwd=desk, check=None
    )
    left = {path.name for path in desk.rglob("*")} - {"__pycache__", "agent.yaml", "desk.py"}
    assert {name for name in left if not name.endswith(".pyc")} == set()


def choosing() -> Runner:
    options = call("get_user_choice", options=["red", "blue"])
    return Runner(Agent(name="t", model=ScriptedModel(options, "Fine."), tools=[get_user_choice]))


def nothing(event: Event) -> None:
    """Shows nothing."""


def test_an_answer_that_is_refused_is_told_and_the_question_asked_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = iter(["green", "blue"])

    async def ask(pending: Pending) -> Any:
        return next(answers)

    async def main() -> None:
        scope = Scope(app_name="app", user_id="me", session_id="s")
        result = await go(choosing(), scope, "hi", nothing, ask)
        assert (result.status, result.text) == ("done", "Fine.")

    anyio.run(main)
    assert "does not fit" in capsys.readouterr().err
    assert next(answers, None) is None


def test_a_call_that_nobody_answers_goes_on_waiting() -> None:
    async def ask(pending: Pending) -> Any:
        return UNANSWERED

    async def main() -> None:
        runner = choosing()
        scope = Scope(app_name="app", user_id="me", session_id="s")
        assert (await go(runner, scope, "hi", nothing, ask)).status == "paused"
        assert len(await runner.pending("s")) == 1

    anyio.run(main)


def waiting_for_two(*turns: Any) -> Runner:
    @deferred_tool()
    def supplier() -> str:
        """Ask the supplier."""
        return "asked"

    def wipe() -> str:
        """Wipe it."""
        return "wiped"

    tools = [supplier, FunctionTool(wipe, require_confirmation=True)]
    return Runner(Agent(name="t", model=ScriptedModel(*turns), tools=tools))


def answering(**answers: Any) -> tuple[list[str], Any]:
    """Who answers by the tool's name, or leaves the call waiting; and what was asked."""
    asked: list[str] = []

    async def ask(pending: Pending) -> Any:
        asked.append(pending.name)
        return answers.get(pending.name, UNANSWERED)

    return asked, ask


@pytest.mark.anyio
async def test_a_run_asks_about_what_it_waits_for_and_not_about_what_it_went_on_without() -> None:
    runner = waiting_for_two(call("supplier"), "All right.", call("wipe"), "It is done.")
    scope = Scope(app_name="app", user_id="me", session_id="s")
    asked, ask = answering(wipe=Approve())
    for text, status in (("order", "paused"), ("hm", "done"), ("wipe it", "done")):
        assert (await go(runner, scope, text, nothing, ask)).status == status
    assert asked == ["supplier", "wipe"]
    assert [pending.name for pending in await runner.pending("s")] == ["supplier"]


@pytest.mark.anyio
async def test_a_call_that_is_left_waiting_hides_no_other() -> None:
    runner = waiting_for_two([call("supplier"), call("wipe")], "It is done.")
    scope = Scope(app_name="app", user_id="me", session_id="s")
    asked, ask = answering(wipe=Approve())
    assert (await go(runner, scope, "both", nothing, ask)).status == "paused"
    assert asked == ["supplier", "wipe"]
    assert [pending.name for pending in await runner.pending("s")] == ["supplier"]


@pytest.mark.anyio
async def test_what_a_finished_run_went_on_without_is_asked_about_on_demand() -> None:
    runner = waiting_for_two(call("supplier"), "All right.", "77 EUR, then.")
    scope = Scope(app_name="app", user_id="me", session_id="s")
    asked, leave = answering()
    for text in ("order", "hm"):
        await go(runner, scope, text, nothing, leave)
    assert asked == ["supplier"]
    assert (await go(runner, scope, None, nothing, leave, late=True)).pending
    assert asked == ["supplier", "supplier"]
    _, ask = answering(supplier="77 EUR")
    result = await go(runner, scope, None, nothing, ask, late=True)
    assert (result.status, result.text) == ("done", "77 EUR, then.")
    assert await runner.pending("s") == []
