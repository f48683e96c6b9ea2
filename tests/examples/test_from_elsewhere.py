"""The examples with tools from elsewhere run and do what they say."""

import pytest
from tests._npm import npm_program
from tests.sources.test_toolbox_toolset import toolbox

from examples import mcp_files, shop_database
from toolwright import Result

__all__ = ["toolbox"]
pytestmark = pytest.mark.npm


def tool_results(result: Result) -> list[tuple[str, str]]:
    return [(r.status, r.text) for m in result.history if m.kind == "tool" for r in m.results]


def test_a_tenant_reads_its_own_folder_only() -> None:
    server = npm_program("@modelcontextprotocol/server-filesystem", "2026.8.31")
    own, other = mcp_files.main(server)
    assert tool_results(own) == [("ok", "acme will win")]
    ((status, text),) = tool_results(other)
    assert status == "error"
    assert "zenith will win" not in text


def test_a_customer_asks_the_database_about_their_own_orders(toolbox: str) -> None:
    (_, books), (_, orders) = tool_results(shop_database.main(toolbox, "bob"))
    assert "1965" in books
    assert "Emma" in orders
    assert "Dune" not in orders
