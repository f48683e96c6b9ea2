"""Servers that die, hang, flood or talk nonsense: the agent goes on."""

import logging
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.sources._calling import run_tool, tool_named
from tests.sources.mcp.conftest import stdio

from toolwright.errors import ToolError, UsageError
from toolwright.sources import McpToolset, StdioConnectionParams, StdioServerParameters

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).parent / "rogue_server.py"


def rogue(
    how: str, tmp_path: Path, timeout: float = 10, max_line: int = 1_000_000, **settings: Any
) -> McpToolset:
    server = StdioServerParameters(command=sys.executable, args=[str(SERVER), how], cwd=tmp_path)
    params = StdioConnectionParams(server, timeout=timeout, max_line=max_line)
    return McpToolset(params, name=how, **settings)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("die", "'die' stopped while 'go' was called"),
        ("huge", "'huge' stopped while 'go' was called"),
        ("dense", "'dense' stopped while 'go' was called"),
        ("deep", "'deep' stopped while 'go' was called"),
    ],
)
async def test_a_server_that_dies_gives_an_error_and_is_started_again(
    how: str, said: str, tmp_path: Path
) -> None:
    toolset = rogue(how, tmp_path)
    try:
        tool = await tool_named(toolset, "go")
        with pytest.raises(ToolError, match=said):
            await run_tool(tool)
        assert (await run_tool(tool)).text == "fine"
    finally:
        await toolset.close()
    assert (tmp_path / "starts").read_text() == "xx"


async def test_a_call_without_an_answer_ends_with_an_error(tmp_path: Path) -> None:
    toolset = rogue("silent", tmp_path, call_timeout=0.3)
    try:
        with pytest.raises(ToolError, match="timed out"):
            await run_tool(await tool_named(toolset, "go"))
    finally:
        await toolset.close()


@pytest.mark.parametrize("how", ["flood", "chatty"])
async def test_noise_on_stderr_or_between_messages_does_no_harm(how: str, tmp_path: Path) -> None:
    toolset = rogue(how, tmp_path)
    try:
        assert (await run_tool(await tool_named(toolset, "go"))).text == "fine"
    finally:
        await toolset.close()


async def test_a_result_that_is_not_mcp_is_an_error(tmp_path: Path) -> None:
    toolset = rogue("nonsense", tmp_path)
    try:
        with pytest.raises(ToolError, match="something that MCP does not allow"):
            await run_tool(await tool_named(toolset, "go"))
    finally:
        await toolset.close()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("hang", "not ready after 0.5 s"),
        ("garbage", "not ready after 0.5 s"),
        ("exit", "no licence found"),
    ],
)
async def test_a_server_that_cannot_start_has_no_tools_and_the_log_says_why(
    how: str, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toolset = rogue(how, tmp_path, timeout=10 if how == "exit" else 0.5)
    try:
        with anyio.fail_after(10):
            assert await toolset.list_tools() == []
    finally:
        await toolset.close()
    assert said in caplog.text


async def test_a_required_server_that_cannot_start_raises(tmp_path: Path) -> None:
    toolset = rogue("exit", tmp_path, required=True)
    with pytest.raises(ToolError, match="MCP server 'exit' is not available"):
        await toolset.list_tools()


async def test_a_server_that_keeps_failing_is_tried_less_and_less_often(tmp_path: Path) -> None:
    toolset = rogue("exit", tmp_path, required=True)
    said: list[str] = []
    while len(said) < 6 and "will be tried again in" not in "".join(said):
        with pytest.raises(ToolError) as failure:
            await toolset.list_tools()
        said.append(str(failure.value))
    assert "no licence found); it will be tried again in" in said[-1]


async def test_many_callers_wait_for_one_attempt_to_start_a_server(tmp_path: Path) -> None:
    toolset = rogue("hang", tmp_path, timeout=0.5)
    with anyio.fail_after(8):  # Each in turn would take fifteen seconds.
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(toolset.list_tools)


async def test_a_caller_that_gives_up_leaves_the_server_to_the_next_one(tmp_path: Path) -> None:
    toolset = rogue("fine", tmp_path)
    with anyio.move_on_after(0.01):
        await toolset.list_tools()
    try:
        assert await tool_named(toolset, "go")
    finally:
        await toolset.close()
    assert (tmp_path / "starts").read_text() == "x"


async def test_names_that_models_do_not_take_are_changed_for_them(tmp_path: Path) -> None:
    toolset = rogue("names", tmp_path)
    try:
        tool = await tool_named(toolset, "files_read_text")
        assert (await run_tool(tool)).text == "fine"
    finally:
        await toolset.close()


async def test_log_messages_of_a_server_reach_our_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toolset = rogue("log", tmp_path)
    try:
        await run_tool(await tool_named(toolset, "go"))
    finally:
        await toolset.close()
    assert ("toolwright.mcp", logging.ERROR, "MCP server 'log': disk full") in caplog.record_tuples


async def test_every_page_of_a_listing_is_read(tmp_path: Path) -> None:
    toolset = rogue("pages", tmp_path)
    try:
        assert [tool.name for tool in await toolset.list_tools()] == ["go1", "go2", "go3", "go"]
    finally:
        await toolset.close()


async def test_a_listing_without_an_end_is_given_up(tmp_path: Path) -> None:
    toolset = rogue("endless", tmp_path, required=True)
    try:
        with anyio.fail_after(30), pytest.raises(ToolError, match="more than 1000 pages"):
            await toolset.list_tools()
    finally:
        await toolset.close()


async def test_a_server_that_dies_while_it_lists_has_no_tools_for_now(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toolset = rogue("dielisting", tmp_path)
    try:
        assert await toolset.list_tools() == []
    finally:
        await toolset.close()
    assert "stopped while listing was under way" in caplog.text


async def test_a_changed_listing_is_read_again(tmp_path: Path) -> None:
    toolset = rogue("grow", tmp_path)
    try:
        assert [tool.name for tool in await toolset.list_tools()] == ["go"]
        assert toolset.cache_listing
        await run_tool(await tool_named(toolset, "go"))
        assert not toolset.cache_listing
        assert [tool.name for tool in await toolset.list_tools()] == ["go", "grown"]
    finally:
        await toolset.close()


async def test_a_toolset_can_be_used_and_closed_from_different_tasks(tmp_path: Path) -> None:
    toolset = rogue("fine", tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(toolset.list_tools)
    tool = await tool_named(toolset, "go")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_tool, tool)
        tasks.start_soon(run_tool, tool)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(toolset.close)
    assert (tmp_path / "starts").read_text() == "x"


def test_a_toolset_outlives_the_event_loop_it_was_first_used_in(tmp_path: Path) -> None:
    toolset = rogue("fine", tmp_path)

    async def use() -> str:
        return (await run_tool(await tool_named(toolset, "go"))).text

    assert anyio.run(use) == "fine"
    assert anyio.run(use) == "fine"


async def test_a_program_that_is_not_there_is_the_developers_to_fix() -> None:
    toolset = McpToolset(stdio(["no-such-program-anywhere"]))
    with pytest.raises(UsageError, match="There is no program 'no-such-program-anywhere'"):
        await toolset.list_tools()


def test_connection_params_of_another_kind_are_refused() -> None:
    wrong: Any = {"command": "npx"}
    with pytest.raises(UsageError, match="StdioConnectionParams"):
        McpToolset(wrong)
