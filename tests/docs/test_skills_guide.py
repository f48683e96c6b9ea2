"""What the page on skills shows, works."""

import runpy
from pathlib import Path
from typing import Any

import pytest

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "skills"


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(_SNIPPETS / f"{name}.py"))


def test_a_skill_is_found_loaded_and_its_script_and_tool_are_used() -> None:
    result = _run("use")["result"]
    texts = [m.results[0].text for m in result.history if m.kind == "tool"]
    assert "word-count" in texts[0]
    assert "round_number" in texts[1]
    assert '"stdout":"1200\\n"' in texts[2]
    assert texts[3] == "1200"


def test_a_skill_made_in_the_program_is_loaded() -> None:
    history = _run("in_memory")["result"].history
    assert "Show a short program" in history[4].results[0].text
    assert "references/style.md" in history[4].results[0].text


def test_what_is_wrong_with_a_skill_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    _run("problems")
    assert "broken/SKILL.md: line 3 is not valid YAML" in capsys.readouterr().out
