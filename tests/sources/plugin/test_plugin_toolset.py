"""Plugins: executables whose tools an agent can call."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests._fetched import FETCHED
from tests._venvs import venv_python
from tests.sources._calling import StubRun, context, run_tool, tool_named

from toolwright.errors import ArgumentError, ToolError, UsageError
from toolwright.sources import PluginToolset
from toolwright.testing import check_plugin
from toolwright.tools import prefixed

pytestmark = pytest.mark.anyio
EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"
ROGUE = Path(__file__).parent / "rogue.py"


def rogue(how: str, tmp_path: Path, **settings: Any) -> PluginToolset:
    return PluginToolset(ROGUE, [how], cwd=tmp_path, **settings)


def is_running(pid: str) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().split()[2] != "Z"


@pytest.mark.row("002-73", "002-74")
async def test_a_plugin_is_started_once_and_keeps_its_state_between_calls() -> None:
    notes = PluginToolset(EXAMPLES / "notes.py")
    try:
        await run_tool(await tool_named(notes, "add_note"), {"text": "buy milk"})
        output = await run_tool(await tool_named(notes, "list_notes"))
    finally:
        await notes.close()
    assert (output.status, output.text) == ("ok", "buy milk")


@pytest.mark.row("002-64", "002-65", "002-66", "002-67", "002-68")
async def test_a_plugin_in_shell_with_the_first_version_of_the_protocol_works(
    tmp_path: Path,
) -> None:
    disk = PluginToolset(EXAMPLES / "disk.sh")
    try:
        tool = await tool_named(disk, "disk_free")
        good = await run_tool(tool, {"path": str(tmp_path)})
        bad = await run_tool(tool, {"path": "/no/such/folder"})
    finally:
        await disk.close()
    assert good.status == "ok"
    assert "%" in good.text
    assert bad.status == "error"
    assert "No such file" in bad.text


async def built_of_go(source: Path, program: Path) -> PluginToolset:
    """A plugin that is written in Go."""
    go = venv_python("go").parent / "go"
    cache = {"GOCACHE": str(FETCHED / "go"), "GOFLAGS": "-buildvcs=false"}
    await anyio.run_process(
        [str(go), "build", "-o", str(program), "."], cwd=source, env={**os.environ, **cache}
    )
    return PluginToolset(program)


@pytest.mark.timeout(300)
async def test_the_example_in_go_builds_and_works(tmp_path: Path) -> None:
    words = await built_of_go(EXAMPLES / "words", tmp_path / "words")
    try:
        output = await run_tool(await tool_named(words, "count_words"), {"text": "one two\nthree"})
    finally:
        await words.close()
    assert output.text == "2 lines, 3 words"
    await check_plugin(tmp_path / "words", calls={"count_words": {"text": "one"}})


@pytest.mark.row("002-70")
@pytest.mark.timeout(300)
async def test_the_sample_of_the_page_in_go_works_as_it_stands(tmp_path: Path) -> None:
    sample = await built_of_go(Path(__file__).parent / "my_plugin", tmp_path / "my-plugin")
    try:
        output = await run_tool(await tool_named(sample, "my_plugin_tool"), {"input": "a word"})
    finally:
        await sample.close()
    assert (output.status, output.text) == ("ok", "Processed: a word")


async def test_arguments_are_validated_before_the_plugin_sees_them() -> None:
    notes = PluginToolset(EXAMPLES / "notes.py")
    try:
        tool = await tool_named(notes, "add_note")
        with pytest.raises(ArgumentError, match="missing required parameter 'text'"):
            await run_tool(tool)
    finally:
        await notes.close()


async def test_names_are_prefixed_and_filtered_and_the_plugin_still_knows_its_own() -> None:
    notes = PluginToolset(EXAMPLES / "notes.py", tool_filter=["list_notes"], tool_name_prefix="my")
    try:
        (tool,) = await notes.list_tools(None)
        assert tool.name == "my_list_notes"
        assert (await run_tool(tool)).text == "There are no notes."
    finally:
        await notes.close()


async def test_progress_beyond_what_a_call_may_show_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolwright.sources._counted.MOST_PROGRESS", 2)
    notes = PluginToolset(EXAMPLES / "notes.py")
    run = StubRun()
    try:
        await run_tool(await tool_named(notes, "count_down"), {"start": 4}, run=run)
    finally:
        await notes.close()
    assert [text for text, _ in run.shown] == ["4 to go", "(What comes after this is not shown.)"]


async def test_progress_is_shown_while_a_call_runs() -> None:
    notes = PluginToolset(EXAMPLES / "notes.py")
    run = StubRun()
    try:
        await run_tool(await tool_named(notes, "count_down"), {"start": 2}, run=run)
    finally:
        await notes.close()
    assert [text for text, _ in run.shown] == ["2 to go", "1 to go"]


async def test_calls_run_side_by_side_when_the_plugin_knows_how() -> None:
    notes = PluginToolset(EXAMPLES / "notes.py")
    run = StubRun()
    try:
        tool = await tool_named(notes, "count_down")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: run_tool(tool, {"start": 2}, run=run))
            tasks.start_soon(lambda: run_tool(tool, {"start": 2}, run=run))
    finally:
        await notes.close()
    assert [text for text, _ in run.shown] == ["2 to go", "2 to go", "1 to go", "1 to go"]


async def test_a_cancelled_call_is_cancelled_in_the_plugin_and_the_plugin_lives_on() -> None:
    notes = PluginToolset(EXAMPLES / "notes.py")
    try:
        await run_tool(await tool_named(notes, "add_note"), {"text": "still here"})
        with anyio.move_on_after(0.3):
            await run_tool(await tool_named(notes, "count_down"), {"start": 1000})
        output = await run_tool(await tool_named(notes, "list_notes"))
    finally:
        await notes.close()
    assert output.text == "still here"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("stray", "not JSON: 'Hello, I am a debug line'"),
        ("crash", "ended with exit code 3; its last words were: the disk is on fire"),
        ("kill", "was killed by signal 9"),
        ("partial", "ended with exit code 0"),
        ("huge", "a line of more than 1,000,000 bytes"),
        ("dense", "more than is read: it has more than 200,000 values"),
        ("deep", "more than is read: it is nested more than 64 levels deep"),
        ("unknown", "a result for call_id 'nobody-asked', which no call waits for"),
        ("badcontent", "hologram"),
        ("silent", "did not answer within 0.5 s"),
    ],
)
async def test_a_plugin_that_breaks_down_gives_an_error_and_is_started_again(
    how: str, said: str, tmp_path: Path
) -> None:
    plugin = rogue(how, tmp_path, max_line=1_000_000, call_timeout=0.5 if how == "silent" else 20)
    try:
        tool = await tool_named(plugin, "go")
        with pytest.raises(ToolError) as failure:
            await run_tool(tool)
        again = await run_tool(tool)
    finally:
        await plugin.close()
    assert said in str(failure.value)
    assert again.text == "fine"


@pytest.mark.parametrize(
    ("how", "said"),
    [("changed", "has changed it since it was listed"), ("vanished", "no longer has it")],
)
async def test_a_plugin_that_has_other_tools_when_it_is_started_again_is_listed_again_first(
    how: str, said: str, tmp_path: Path
) -> None:
    plugin = rogue(how, tmp_path)
    try:
        tool = await tool_named(plugin, "go")
        with pytest.raises(ToolError, match="the disk is on fire"):
            await run_tool(tool)
        with pytest.raises(ToolError, match=f"'go' was not called: .* {said}"):
            await run_tool(tool)
        assert not plugin.cache_listing
        assert not prefixed(plugin, "p").cache_listing
        [now] = await plugin.list_tools()
        assert plugin.cache_listing
        assert (await run_tool(now)).text == "fine"
    finally:
        await plugin.close()


async def test_after_a_second_result_for_the_same_call_the_plugin_is_started_again(
    tmp_path: Path,
) -> None:
    plugin = rogue("twice", tmp_path)
    try:
        tool = await tool_named(plugin, "go")
        assert (await run_tool(tool)).text == "fine"
        # The next call meets the second result, or a plugin that was already started again.
        with suppress(ToolError):
            await run_tool(tool)
        assert (await run_tool(tool)).text == "fine"
    finally:
        await plugin.close()
    assert (tmp_path / "starts").read_text() == "xx"


async def test_a_plugin_that_cannot_cancel_is_stopped_at_once_and_the_next_call_gets_another(
    tmp_path: Path,
) -> None:
    plugin = rogue("silent", tmp_path)
    outputs: list[str] = []
    try:
        tool = await tool_named(plugin, "go")

        async def next_call() -> None:
            outputs.append((await run_tool(tool)).text)

        async with anyio.create_task_group() as tasks:
            with anyio.move_on_after(0.5):
                tasks.start_soon(next_call)  # Waits for its turn behind the one given up here.
                await run_tool(tool)
    finally:
        await plugin.close()
    assert outputs == ["fine"]
    assert (tmp_path / "starts").read_text() == "xx"


async def test_a_flood_on_stderr_does_not_block_the_plugin(tmp_path: Path) -> None:
    plugin = rogue("flood", tmp_path)
    try:
        assert (await run_tool(await tool_named(plugin, "go"))).text == "fine"
    finally:
        await plugin.close()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("hang", "did not answer 'init' within 0.5 s"),
        ("garbage", "not JSON: 'this is no plugin'"),
        ("noinit", "cannot start without a licence"),
    ],
)
async def test_a_plugin_that_cannot_start_has_no_tools_and_the_log_says_why(
    how: str, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    timeout = 0.5 if how == "hang" else 10
    plugin = rogue(how, tmp_path, handshake_timeout=timeout)
    try:
        assert await plugin.list_tools(None) == []
    finally:
        await plugin.close()
    assert said in caplog.text


async def test_a_required_plugin_that_cannot_start_raises(tmp_path: Path) -> None:
    plugin = rogue("noinit", tmp_path, required=True)
    with pytest.raises(ToolError, match="is not available"):
        await plugin.list_tools(None)


async def test_a_plugin_can_be_closed_from_another_task_than_the_one_that_used_it() -> None:
    notes = PluginToolset(EXAMPLES / "notes.py")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(notes.list_tools)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(notes.close)
    tool = await tool_named(notes, "list_notes")  # Opened again by its next use.
    await tool.run({}, context(tool))
    await notes.close()


async def test_nothing_that_a_plugin_started_outlives_it(tmp_path: Path) -> None:
    plugin = tmp_path / "parent.sh"
    plugin.write_text(
        "#!/bin/sh\n"
        "sleep 300 & echo $! > child\n"
        "trap '' TERM\n"
        'read -r line; echo \'{"type": "init", "tools": []}\'\n'
        "sleep 300\n"
    )
    plugin.chmod(0o755)
    toolset = PluginToolset(plugin, cwd=tmp_path)
    assert await toolset.list_tools() == []
    with anyio.fail_after(10):
        await toolset.close()
    assert not is_running((tmp_path / "child").read_text().strip())


async def test_a_plugin_sees_only_the_environment_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    plugin = tmp_path / "env.py"
    plugin.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys\n"
        "tools = [{'name': v, 'description': 'x'} for v in ('OPENAI_API_KEY', 'GIVEN') if v in os.environ]\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'type': 'init', 'tools': tools}), flush=True)\n"
    )
    plugin.chmod(0o755)
    toolset = PluginToolset(plugin, env={"GIVEN": "1"})
    try:
        names = [tool.name for tool in await toolset.list_tools(None)]
    finally:
        await toolset.close()
    assert names == ["GIVEN"]


def test_a_path_without_an_executable_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no plugin at"):
        PluginToolset(tmp_path / "nothing")
    plain = tmp_path / "plain.txt"
    plain.write_text("hello")
    with pytest.raises(UsageError, match="chmod"):
        PluginToolset(plain)
