"""Whatever goes wrong while a source lists its tools, no run ends by it."""

from types import SimpleNamespace
from typing import Any

import pytest

from toolwright.errors import StoreError, ToolError, UsageError
from toolwright.sources._usable import listed_tools, usable_tools
from toolwright.sources.mcp._link import Link
from toolwright.sources.mcp._questions import Questions
from toolwright.tools import FunctionTool, Tool

pytestmark = pytest.mark.anyio
WRONG = [OverflowError("too large"), KeyError("x"), RecursionError("deep"), ToolError("It is ill.")]


def made(number: int) -> Tool:
    """The first cannot be read."""

    def tool() -> int:
        return 1 // number

    if number == 0:
        raise ZeroDivisionError("x" * 10_000)
    return FunctionTool(tool, name=f"tool_{number}")


@pytest.mark.parametrize("error", WRONG, ids=repr)
async def test_a_listing_that_fails_leaves_the_tools_out_and_the_log_says_why(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask() -> list[Tool]:
        raise error

    assert await listed_tools("Server 's'", ask, required=False) is None
    [line] = caplog.messages
    assert str(error) in line
    assert "left out" in line
    with pytest.raises(ToolError, match=str(error)):
        await listed_tools("Server 's'", ask, required=True)


@pytest.mark.parametrize("error", [UsageError("misspelt"), StoreError("away")], ids=repr)
async def test_what_the_developer_or_the_operator_must_mend_is_raised(error: Exception) -> None:
    async def ask() -> list[Tool]:
        raise error

    with pytest.raises(type(error)):
        await listed_tools("Server 's'", ask, required=False)


def test_a_tool_that_cannot_be_read_takes_no_other_down(caplog: pytest.LogCaptureFixture) -> None:
    tools = usable_tools("Server 's'", [0, 1, 2], made)
    assert [tool.name for tool in tools] == ["tool_1", "tool_2"]
    [line] = caplog.messages
    assert "ZeroDivisionError" in line
    assert len(line) < 1200


@pytest.mark.parametrize(("ttl", "fresh"), [(0, True), (1, False), (60_000, True), (10**400, True)])
async def test_a_listing_is_fresh_for_as_long_as_the_server_says(ttl: int, fresh: bool) -> None:
    page = SimpleNamespace(tools=[], ttl_ms=ttl, next_cursor=None, model_dump_json=lambda: "{}")

    async def list_tools(cursor: str | None) -> Any:
        return page

    client: Any = SimpleNamespace(session=SimpleNamespace(), list_tools=list_tools)
    link = Link(client, "s", Questions("s"))
    await link.list_tools()
    link.tools = []
    if not fresh:
        link._listing_ends -= 0.001
    assert link.listing_is_fresh is fresh
