"""What the page on files and shell shows, works."""

import runpy
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.messages import ToolMessage

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "files-and-shell"


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(_SNIPPETS / f"{name}.py"))


def _texts(name: str) -> list[str]:
    history = _run(name)["result"].history
    return [m.results[0].text for m in history if isinstance(m, ToolMessage)]


def test_an_agent_finds_edits_and_runs() -> None:
    assert _texts("workspace") == [
        "main.py:1: print('helo')",
        "Edited main.py at line 1.",
        "hello\n",
    ]


def test_a_preset_gives_tools() -> None:
    assert _texts("presets") == ["(empty)"]


def test_files_are_kept_in_several_places() -> None:
    texts = _texts("backends")
    assert "Short sentences." in texts[0]
    assert '"/memories/taste.md:1:Ada likes short sentences."' in texts[3]
    assert Path("memories.db").exists()


def test_a_backend_of_ones_own_is_held_to_the_suite() -> None:
    _run("own_backend")


def test_commands_have_limits_and_show_their_exit_code() -> None:
    assert _texts("sandboxed") == ["1\n[exit code 3]"]


def test_a_process_runs_in_the_background() -> None:
    ran = _run("background")
    texts = [m.results[0].text for m in ran["result"].history if isinstance(m, ToolMessage)]
    assert texts[0].startswith("Started job-")
    assert "http.server" in texts[1]
    anyio.run(ran["shell"].close)


def test_texts_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    ran = _run("truncate")
    assert capsys.readouterr().out.endswith("line 49\n[cut by lines, 96.6KB in all]\n")
    assert ran["tail"].text.endswith("line 9999\n")
