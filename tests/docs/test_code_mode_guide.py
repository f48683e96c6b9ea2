"""What the page on code mode shows, works."""

import runpy
from pathlib import Path
from typing import Any

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "code-mode"


def _run(name: str) -> dict[str, Any]:
    return runpy.run_path(str(_SNIPPETS / f"{name}.py"))


def test_code_joins_the_results_of_many_calls() -> None:
    result = _run("basics")["result"]
    [answer] = [r for m in result.history if m.kind == "tool" for r in m.results]
    assert answer.data == ["coffee", "milk"]


def test_a_loop_pauses_at_each_payment_and_repeats_nothing() -> None:
    found = _run("approval")
    assert found["RAN"] == ["find ada", "pay 17", "pay 18"]
    assert found["text"] == "Both are paid."
