"""What the page on memory and artifacts shows, works."""

import runpy
from pathlib import Path
from typing import Any

import pytest

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "memory-and-artifacts"


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(_SNIPPETS / f"{name}.py"))


def test_a_file_is_saved_and_the_model_can_see_it(tmp_path: Path) -> None:
    history = _run("artifacts")["result"].history
    assert "Artifacts: 'chart.svg'" in history[-2].results[0].text
    assert [f.read_bytes()[:4] for f in tmp_path.rglob("*.svg") if f.is_file()] == [b"<svg"]


def test_a_memory_of_one_session_is_in_the_prompt_of_the_next() -> None:
    assert "- Has a dog called Rufus" in _run("memory")["model"].requests[-1].instructions


def test_an_embedder_finds_other_words_for_it() -> None:
    assert _run("embedder")["found"] == ["Has an old automobile"]


def test_examples_are_in_the_prompt() -> None:
    assert "two hours on foot" in _run("examples")["model"].requests[0].instructions
