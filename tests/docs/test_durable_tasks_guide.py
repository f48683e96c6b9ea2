"""What the page on durable tasks shows, works."""

import runpy
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "durable-tasks"


@pytest.fixture
def snippet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(_SNIPPETS))
    yield lambda name: runpy.run_path(str(_SNIPPETS / f"{name}.py"))
    sys.modules.pop("bank", None)


def test_a_task_waits_for_its_answer_and_goes_on(snippet: Any) -> None:
    task = anyio.run(snippet("answer")["main"])
    assert (task.status, task.text, task.owner_id) == ("COMPLETED", "Paid.", "u1")


def test_a_task_waits_for_the_tasks_it_has_started(snippet: Any) -> None:
    task = anyio.run(snippet("children")["main"])
    assert (task.status, task.text) == ("COMPLETED", "Both are there.")
