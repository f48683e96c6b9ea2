"""What the page on tools that take long shows, works."""

import runpy
from pathlib import Path
from typing import Any

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "long-running"


def _run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(_SNIPPETS / f"{name}.py"))


def test_a_deferred_call_waits_for_its_webhook() -> None:
    result = _run("deferred")["result"]
    assert result.text == "It comes on Monday."
    assert '"Monday"' in result.history[-2].results[0].text


def test_a_report_is_queued_and_its_end_is_told() -> None:
    queued, told = _run("report")["results"]
    assert (queued.status, queued.text) == ("done", "It is being made; I will tell you.")
    assert told.text == "Your report is ready: gs://reports/harbour.pdf"
