"""What the page on sessions and state shows, works."""

import os
import runpy
from pathlib import Path
from typing import Any

import pytest

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "sessions-and-state"


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(_SNIPPETS / f"{name}.py"))


def test_a_second_runner_goes_on_with_the_session() -> None:
    result = _run("keep")["result"]
    assert result.text == "You are Ada."
    assert len(result.history) == 4


def test_state_goes_where_its_prefix_says() -> None:
    shown = _run("state")
    assert shown["bob"]["app:visits"] == 2
    assert shown["ada"]["topic"] == "harbours"


def test_a_pause_is_answered_once_and_resumed_by_another_runner(
    capsys: pytest.CaptureFixture[str],
) -> None:
    paused, done = _run("pause")["results"]
    assert (paused.status, done.status, done.text) == ("paused", "done", "Staging is empty now.")
    assert capsys.readouterr().out.split("\n")[1:3] == ["accepted", "duplicate"]


def test_a_held_session_is_refused_to_one_and_waited_for_by_another() -> None:
    held, first, second = _run("held")["shown"]
    assert held.startswith(f"held by process {os.getpid()} on ")
    assert (first, second) == ("Paid.", "You have paid 7.")


def test_sessions_are_listed_branched_and_deleted() -> None:
    found = _run("look")["found"]
    assert sorted(found["listed"]) == [("s1", "Tell me a story"), ("s1-again", "Tell me a story")]
    assert (found["messages"], found["left"]) == (2, 1)


def test_the_suite_for_stores_runs() -> None:
    _run("own_store")
