"""What the page on other frameworks' tools shows, works."""

import runpy
from pathlib import Path
from typing import Any

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "other-frameworks"


def run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(SNIPPETS / f"{name}.py"))


def test_a_tool_of_pydantic_ai_runs_in_an_agent_of_ours() -> None:
    result = run("bring")["result"]
    (answer,) = [answer for m in result.history if m.kind == "tool" for answer in m.results]
    assert answer.text == "8"


def test_a_tool_of_ours_runs_in_an_agent_of_pydantic_ai() -> None:
    assert "Ada greets" in run("take")["result"].output
