"""What the page on the web shows, works."""

import runpy
from pathlib import Path
from typing import Any

from toolwright.messages import ToolMessage

_SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "web"


def _result(name: str) -> Any:
    return runpy.run_path(str(_SNIPPETS / f"{name}.py"))["result"]


def _texts(name: str) -> list[str]:
    history = _result(name).history
    return [m.results[0].text for m in history if isinstance(m, ToolMessage)]


def test_an_agent_has_web_tools() -> None:
    assert _result("tools").status == "done"


def test_another_engine_is_searched_with() -> None:
    assert _texts("engine") == ["1. Holidays\n   https://intranet.example/holidays"]


def test_an_address_that_is_not_listed_is_refused() -> None:
    (text,) = _texts("private")
    assert "169.254.169.254 is not a public address" in text
