"""What the page on tool search shows, works."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from toolwright.testing import ScriptedModel

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets" / "tool-search"


def snippet(name: str) -> dict[str, Any]:
    return runpy.run_path(str(SNIPPETS / f"{name}.py"))


def test_a_tool_is_found_and_then_called() -> None:
    ran = snippet("search")
    assert ran["result"].text == "Your money is on its way."
    shown = [[spec.name for spec in request.tools] for request in ran["model"].requests]
    assert shown == [["search_tools", "call_tool"]] * 3


@pytest.mark.anyio
async def test_a_document_is_searched() -> None:
    model = ScriptedModel("hello")
    await snippet("big_document")["api_agent"](model).run("hi")
    assert [spec.name for spec in model.requests[0].tools] == [
        "search_tools",
        "list_pets",
        "call_tool",
    ]
