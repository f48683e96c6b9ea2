"""What the page on plugins shows, works."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "snippets" / "plugins" / f"{name}.py"))


def test_a_plugin_keeps_what_it_was_told() -> None:
    result = run("use")["result"]
    texts = [answer.text for m in result.history if m.kind == "tool" for answer in m.results]
    assert texts == ["Noted; there are 1 notes now.", "buy milk"]


def test_a_plugin_is_checked() -> None:
    assert all(check.ok for check in run("check")["report"])
