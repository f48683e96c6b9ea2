"""Plugins that mean harm: what they list and what they return is measured before it is used."""

import time
from pathlib import Path

import anyio
import pytest
from tests.sources._calling import run_tool, tool_named
from tests.sources.hostile_schemas import HOSTILE_SCHEMAS
from tests.sources.plugin.test_plugin_toolset import rogue

from toolwright import Agent, Runner, tool
from toolwright.backends.sql import SqlStore
from toolwright.errors import ToolError
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


async def test_a_schema_that_is_too_much_is_refused_by_name_and_the_other_tools_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = rogue("schemas", tmp_path)
    began = time.monotonic()
    try:
        assert [tool.name for tool in await plugin.list_tools()] == ["go"]
    finally:
        await plugin.close()
    assert time.monotonic() - began < 10
    for name, (_, said) in HOSTILE_SCHEMAS.items():
        [line] = [line for line in caplog.messages if f"The schema of tool {name!r}" in line]
        assert said in line


async def test_a_crowd_of_tools_is_cut_and_a_long_description_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crowd, wordy = rogue("crowd", tmp_path), rogue("wordy", tmp_path)
    try:
        assert len(await crowd.list_tools()) == 10_000
        [only] = await wordy.list_tools()
        assert len(only.spec.description) == 20_000
    finally:
        await crowd.close()
        await wordy.close()
    assert "lists more than 10,000 tools" in caplog.text


async def test_so_many_messages_for_the_log_and_parts_count(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = rogue("chatty", tmp_path)
    try:
        output = await run_tool(await tool_named(plugin, "go"))
    finally:
        await plugin.close()
    assert output.text == "x\n" * 1000 + "(2,000 more parts are left out.)"
    assert len([line for line in caplog.messages if line.endswith(": noise")]) == 1000
    assert "sends a lot to the log; the rest is dropped" in caplog.text


async def test_names_that_are_taken_end_no_run_and_a_note_says_which(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def go() -> str:
        return "our own"

    model = ScriptedModel(call("go"), "done")
    plugin = rogue("sametool", tmp_path)
    async with Runner(Agent(name="a", model=model, tools=[plugin, go])) as runner:
        assert "our own" in str((await runner.run("go")).events)
    assert "another of plugin:rogue.py has its name" in caplog.text
    assert "one of the program's own has its name" in caplog.text


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("nocontentlist", "is not a list"),
        ("textnumber", "neither"),
        ("nobase64", "is not base64"),
        ("idnumber", 'without a "call_id"'),
        ("noid", 'without a "call_id"'),
        ("typenumber", 'without a "type"'),
        ("nottype", 'without a "type"'),
        ("list", 'without a "type"'),
        ("secondinit", "unknown type 'init'"),
        ("digits", "not JSON"),
        ("deepdata", "nested more than 64 levels"),
    ],
)
async def test_a_broken_message_ends_the_call_with_the_reason_and_the_next_one_works(
    how: str, said: str, tmp_path: Path
) -> None:
    plugin = rogue(how, tmp_path)
    try:
        tool = await tool_named(plugin, "go")
        with anyio.fail_after(15), pytest.raises(ToolError, match=said):
            await run_tool(tool)
        assert (await run_tool(tool)).text == "fine"
    finally:
        await plugin.close()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("nothing", ""),
        ("null", ""),
        ("pathname", ""),
        ("mimelines", ""),
        ("halfletter", "half"),
        ("notutf8", ""),
        ("nan", "fine"),
        ("twokeys", "fine"),
        ("iserrortext", "fine"),
        ("progressflood", "fine"),
        ("progresskinds", "fine"),
        ("progressother", "fine"),
        ("logflood", "fine"),
        ("logkinds", "fine"),
        ("emptylines", "fine"),
        ("carriage", "fine"),
        ("escapes", "fine"),
    ],
)
async def test_an_odd_result_is_stored_and_told_and_the_run_goes_on(
    how: str, said: str, tmp_path: Path
) -> None:
    plugin = rogue(how, tmp_path, required=True)
    model = ScriptedModel(call("go"), "the end")
    async with Runner(
        Agent(name="a", model=model, tools=[plugin]), store=SqlStore(f"sqlite:///{tmp_path}/s.db")
    ) as runner:
        with anyio.fail_after(30):
            result = await runner.run("go", session_id="s")
        assert (result.status, result.text) == ("done", "the end")
        assert said in str(await runner.events("s"))
