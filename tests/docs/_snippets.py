"""Run the snippets of a page as they stand in it."""

import runpy
from pathlib import Path
from typing import Any

from toolwright import Result
from toolwright.messages import ToolMessage, ToolResult

__all__ = ["ROOT", "results_of", "run_snippet"]

ROOT = Path(__file__).parents[2]


def run_snippet(page: str, name: str) -> dict[str, Any]:
    """What the file defines after it has run."""
    return runpy.run_path(str(ROOT / "docs" / "snippets" / page / f"{name}.py"))


def results_of(result: Result) -> list[ToolResult]:
    """All results of a run's calls, in order."""
    return [r for m in result.history if isinstance(m, ToolMessage) for r in m.results]
