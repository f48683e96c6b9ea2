"""The page "Ten minutes": each snippet runs as it stands."""

import runpy
from pathlib import Path

import pytest

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "start"


def load(name: str) -> dict[str, object]:
    return runpy.run_path(str(SNIPPETS / f"{name}.py"))


def test_the_first_agent_answers() -> None:
    assert load("first_agent")["result"].text == "It is sunny in Ghent."  # type: ignore[attr-defined]


@pytest.mark.anyio
async def test_the_first_approval_runs_after_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = await load("first_approval")["main"]()  # type: ignore[operator]
    assert result.history[2].results[0].text == "staging is empty now."


@pytest.mark.anyio
async def test_the_first_deferred_tool_waits_and_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    task = await load("first_deferred")["main"]()  # type: ignore[operator]
    assert (task.status, task.text) == ("COMPLETED", "Ada has been paid.")
