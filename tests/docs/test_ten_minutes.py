"""The page "Ten minutes": each snippet runs as it stands, also the second time in one directory."""

import runpy
from pathlib import Path
from typing import Any

import anyio
import pytest

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "start"
NAMES = sorted(file.stem for file in SNIPPETS.glob("*.py"))


def load(name: str) -> dict[str, Any]:
    return runpy.run_path(str(SNIPPETS / f"{name}.py"))


def run(name: str) -> Any:
    """What the snippet comes to: its `main`, or what it leaves behind."""
    found = load(name)

    async def main() -> Any:
        with anyio.fail_after(60):
            return await found["main"]()

    return anyio.run(main) if "main" in found else found["result"]


@pytest.mark.parametrize("name", NAMES)
def test_a_snippet_ends_alike_when_it_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    first, again = run(name), run(name)
    assert first.text
    assert (again.status, again.text) == (first.status, first.text)


def test_the_first_agent_answers() -> None:
    assert run("first_agent").text == "It is sunny in Ghent."


def test_the_first_approval_runs_after_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("first_approval").history[2].results[0].text == "staging is empty now."


def test_the_first_deferred_tool_waits_and_pays_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    task = run("first_deferred")
    assert (task.status, task.text) == ("COMPLETED", "Ada has been paid.")
    assert capsys.readouterr().out.splitlines()[1:] == ["accepted", "COMPLETED Ada has been paid."]
    assert run("first_deferred") == task
    assert capsys.readouterr().out == "COMPLETED Ada has been paid.\n"
