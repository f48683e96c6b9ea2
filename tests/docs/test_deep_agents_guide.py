"""What the page on deep agents shows, works."""

from pathlib import Path

import pytest
from tests.docs._snippets import results_of, run_snippet

PAGE = "deep-agents"


def test_it_plans_writes_and_delegates() -> None:
    result = run_snippet(PAGE, "create")["result"]
    assert [r.text for r in results_of(result)][-2:] == ["4", "None."]
    assert result.state["todos"][0]["status"] == "in_progress"
    assert "/bees.md" in result.state["files"]


@pytest.mark.anyio
async def test_it_edits_after_a_confirmation_and_runs_what_it_edited() -> None:
    result = await run_snippet(PAGE, "directory")["main"]()
    edited, ran = results_of(result)
    assert edited.status == "ok"
    assert "hello" in ran.text


@pytest.mark.anyio
async def test_code_runs_in_the_sandbox(tmp_path: Path) -> None:
    result = await run_snippet(PAGE, "sandbox")["main"](str(tmp_path))
    assert [r.status for r in results_of(result)] == ["ok", "ok"]
    assert "4" in results_of(result)[0].text
