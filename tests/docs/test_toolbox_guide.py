"""What the page on MCP Toolbox shows, works."""

import runpy
from pathlib import Path

import anyio
import pytest
from tests.sources.test_toolbox_toolset import toolbox

__all__ = ["toolbox"]
SNIPPET = Path(__file__).parents[2] / "docs" / "snippets" / "toolbox" / "shop.py"


@pytest.mark.npm
def test_a_customer_sees_their_own_orders_only(toolbox: str) -> None:
    result = anyio.run(runpy.run_path(str(SNIPPET))["ask"], toolbox, "bob")
    (answer,) = [answer for m in result.history if m.kind == "tool" for answer in m.results]
    assert "Emma" in answer.text
    assert "Dune" not in answer.text
