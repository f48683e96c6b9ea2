"""Servers that mean harm: what they list and what they return is measured before it is used."""

import resource
import time
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from tests.sources._calling import run_tool, tool_named
from tests.sources.hostile_schemas import HOSTILE_SCHEMAS
from tests.sources.mcp.test_rogue_servers import rogue

from toolwright import Agent, Runner, tool
from toolwright.errors import ToolError
from toolwright.messages import ToolEnded
from toolwright.sources.mcp._listings import Listings
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


async def test_a_schema_that_is_too_much_is_refused_by_name_and_the_other_tools_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toolset = rogue("schemas", tmp_path, timeout=30, max_line=16_000_000)
    before, began = _memory(), time.monotonic()
    try:
        assert [tool.name for tool in await toolset.list_tools()] == ["go"]
        assert (await run_tool(await tool_named(toolset, "go"))).text == "fine"
    finally:
        await toolset.close()
    assert time.monotonic() - began < 10
    assert _memory() - before < 300
    for name, (_, said) in HOSTILE_SCHEMAS.items():
        for told in (f"The schema of tool {name!r}", f"The schema of what '{name}_out' returns"):
            [line] = [line for line in caplog.messages if told in line]
            assert said in line


async def test_what_mcp_does_not_allow_is_left_out_by_name_and_the_rest_of_a_listing_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toolset = rogue("unfit", tmp_path, use_mcp_resources=True)
    try:
        tools = await toolset.list_tools()
        assert [tool.name for tool in tools] == ["go", "load_mcp_resource"]
        assert "- a://b (r)\n- a://{b} (t)" in tools[1].spec.description
        assert [prompt.name for prompt in await toolset.list_prompts()] == ["p"]
        assert (await run_tool(await tool_named(toolset, "go"))).text == "fine"
    finally:
        await toolset.close()
    left_out = [line for line in caplog.messages if "MCP does not allow" in line]
    assert [line.partition(" lists the ")[2].partition(", which")[0] for line in left_out] == [
        "tool 'unschemed'",
        "tool 'odd\\n'",
        "tool without a name (number 3)",
        "tool without a name (number 4)",
        "tool without a name (number 5)",
        "tool 'hints'",
        "resource 'no-uri'",
        "resource template 'no-template'",
        "prompt 'args'",
    ]
    assert "'inputSchema': Field required" in left_out[0]
    assert "annotations.readOnlyHint" in left_out[5]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
async def test_a_listing_of_each_version_keeps_what_that_version_allows(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    listings = Listings("it")
    listings.version = version
    modern = {"resultType": "complete", "ttlMs": 1, "cacheScope": "private"}
    more = modern if version.startswith("2026") else {}
    fit = {"name": "go", "inputSchema": {"type": "object"}}

    async def listed(number: int, answer: dict[str, Any]) -> dict[str, Any]:
        request = types.JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/list")
        listings.note_request(request)
        response = types.JSONRPCResponse(jsonrpc="2.0", id=number, result=answer | more)
        await listings.judge(response)
        return response.result

    assert (await listed(1, {"tools": [fit] * 3}))["tools"] == [fit] * 3
    assert not caplog.messages
    assert (await listed(2, {"tools": [{}, fit, *[{}] * 29]}))["tools"] == [fit]
    assert len(caplog.messages) == 21
    assert "10 more tools" in caplog.messages[-1]
    whole = {"tools": [fit, {}], "nextCursor": 7}  # Refused as a whole: it is not the tools.
    assert (await listed(3, whole))["tools"] == [fit, {}]
    assert (await listed(4, {"tools": 1}))["tools"] == 1
    stranger = types.JSONRPCResponse(jsonrpc="2.0", id=4, result={"tools": [{}]} | more)
    await listings.judge(stranger)  # Nobody has asked for it: no listing.
    assert stranger.result["tools"] == [{}]


async def test_names_that_are_taken_end_no_run_and_a_note_says_which(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def own() -> str:
        return "our own"

    toolset = rogue("clashes", tmp_path)
    model = ScriptedModel([call("own"), call("go"), call("a_b"), call("x" * 64)], "done")
    async with Runner(Agent(name="a", model=model, tools=[toolset, own])) as runner:
        result = await runner.run("go")
    ended = [event.result.text for event in result.events if isinstance(event, ToolEnded)]
    assert sorted(ended) == ["fine", "fine", "fine", "our own"]
    for name in ("go", "a_b"):
        assert f"Tool '{name}' of mcp:clashes" in caplog.text
    assert "Tool 'own' of mcp:clashes" in caplog.text
    assert "one of the program's own has its name" in caplog.text
    assert "has no name" in caplog.text


async def test_two_servers_with_the_same_names_both_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = rogue("fine", tmp_path), rogue("chatty", tmp_path)
    model = ScriptedModel(call("go"), "done")
    async with Runner(Agent(name="a", model=model, tools=[first, second])) as runner:
        assert (await runner.run("go")).status == "done"
    assert "another of mcp:fine" in caplog.text


async def test_a_crowd_of_tools_is_cut_and_a_long_description_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crowd, wordy = (
        rogue("crowd", tmp_path, timeout=30, max_line=16_000_000),
        rogue("wordy", tmp_path),
    )
    try:
        assert len(await crowd.list_tools()) == 10_000
        [only] = await wordy.list_tools()
        assert len(only.spec.description) == 20_000
    finally:
        await crowd.close()
        await wordy.close()
    assert "lists more than 10,000 tools" in caplog.text


async def test_a_listing_that_grows_without_end_is_given_up(tmp_path: Path) -> None:
    toolset = rogue("growing", tmp_path, timeout=30, required=True)
    try:
        with pytest.raises(ToolError, match="letters to list"):
            await toolset.list_tools()
    finally:
        await toolset.close()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("returns_other", "returned something else than its output schema says"),
        ("returns_nothing", "returned no structured content"),
        ("returns_slow", "returned something else"),
        ("returns_looking", "it cannot be compared"),
        ("returns_many", "it cannot be compared"),
        ("number", "something that MCP does not allow"),
        ("ill", "something that MCP does not allow"),
        ("kinds", "something that MCP does not allow"),
    ],
)
async def test_a_result_that_is_not_what_it_should_be_is_an_error_in_time(
    how: str, said: str, tmp_path: Path
) -> None:
    toolset = rogue(how, tmp_path, call_timeout=60)
    before = _memory()
    try:
        tool = await tool_named(toolset, "go")
        with anyio.fail_after(15), pytest.raises(ToolError, match=said):
            await run_tool(tool)
        with pytest.raises(ToolError, match=said):  # And the server is still there.
            await run_tool(tool)
    finally:
        await toolset.close()
    assert _memory() - before < 200


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("strangers", "fine"),
        ("noresult", "fine"),
        ("asks", "fine"),
        ("news", "fine"),
        ("progress", "fine"),
        ("twice", "fine"),
        ("blank", ""),
        ("halves", "half \ufffd of a letter"),
        ("image", "(image/png that could not be read: its data is not base64)"),
        ("question", "only references into itself"),
    ],
)
async def test_what_nobody_asked_for_does_no_harm(how: str, text: str, tmp_path: Path) -> None:
    toolset = rogue(how, tmp_path)
    try:
        for _ in range(2):
            with anyio.fail_after(15):
                output = await run_tool(await tool_named(toolset, "go"))
            output.text.encode()  # Whatever it is, it can be stored and sent.
            assert text in output.text
    finally:
        await toolset.close()


def _memory() -> float:
    """The most that this process has ever had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
