"""Rows of the pages on adk-deepagents, the Go agent and nFactorial that need files, programs or workers."""

import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from tests.builtin._web_server import Answer, serving, stored
from tests.skills._make import make_skill

from toolwright import (
    Agent,
    Compaction,
    CompositeBackend,
    ExecutionContext,
    FilesystemBackend,
    Orchestrator,
    Output,
    PluginToolset,
    Runner,
    StateBackend,
    StoreBackend,
    ToolContext,
    UsageError,
    create_deep_agent,
    create_deep_agent_async,
    deferred_tool,
    file_tools,
    load_agent_file,
    preset_tools,
    web_tools,
    workspace_tools,
)
from toolwright.backends import Fetch
from toolwright.backends.executors import Finished, LocalExecutor
from toolwright.builtin import DuckDuckGo
from toolwright.messages import BlobPart, ModelMessage, ToolEnded, ToolMessage, ToolProgress, Usage
from toolwright.models import ModelRequest
from toolwright.serve import Links, ServeSettings, create_app
from toolwright.tasks import TaskStatus
from toolwright.testing import ScriptedModel, call, check_files
from toolwright.tools import State, StateTable, as_tool

pytestmark = pytest.mark.anyio


async def _run(tools: Any, *calls: Any, **settings: Any) -> tuple[Any, list[Any]]:
    """A run with these calls, one turn each, and their results."""
    agent = Agent(name="a", model=ScriptedModel(*calls, "ok"), tools=tools)
    result = await agent.run("go", **settings)
    return result, [event.result for event in result.events if isinstance(event, ToolEnded)]


# -- adk-deepagents -------------------------------------------------------------------------


@pytest.mark.migration(
    "adk-deepagents", "StateBackend, StoreBackend, FilesystemBackend, CompositeBackend"
)
async def test_the_four_backends_keep_the_same_promises(tmp_path: Path) -> None:
    def in_state() -> StateBackend:
        return StateBackend(State(StateTable()))

    disk, store = FilesystemBackend(tmp_path), StoreBackend(f"sqlite:///{tmp_path}/files.db")
    write = call("write_file", file_path="/disk/a.txt", content="import os\n")
    read = call("read_file", file_path="/disk/a.txt")
    for backend in (in_state(), store, disk, CompositeBackend(in_state(), {"/disk/": disk})):
        _, results = await _run(file_tools(backend), write, read)
        assert [result.text for result in results] == [
            '{"status":"success","path":"/disk/a.txt"}',
            '{"status":"success","content":"     1\\timport os"}',
        ]
    await store.close()
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "disk" / "a.txt").read_text()
    await check_files(in_state)


_PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.mark.migration("adk-deepagents", "read_file of an image")
async def test_an_image_is_seen_and_its_base64_stays_in_the_process(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(_PNG)
    [read_file] = [
        tool for tool in file_tools(FilesystemBackend(tmp_path)) if tool.name == "read_file"
    ]
    _, [shown] = await _run([read_file], call("read_file", file_path="/dot.png"))
    assert shown.content[-1] == BlobPart(media_type="image/png", data=_PNG, name="dot.png")
    assert '"media_type":"image/png"' in shown.text
    assert "iVBORw0KGgo" not in shown.text
    values: list[Any] = []

    async def look(tool_context: ToolContext) -> str:
        """Look at what the handler gives."""
        output = await read_file.run(read_file.parse('{"file_path": "/dot.png"}'), tool_context)
        assert isinstance(output, Output)
        values.append(output.value)
        return "looked"

    await _run([look], call("look"))
    [value] = values
    assert (value["status"], value["content"]["type"]) == ("success", "image")
    assert value["content"]["data"].startswith("iVBORw0KGgo")


@pytest.mark.migration("adk-deepagents", 'execution="heimdall"')
async def test_heimdall_is_our_sandbox_with_the_three_tools(tmp_path: Path) -> None:
    model = ScriptedModel(
        call("execute_python", code="print(2 + 2)"), call("execute_bash", command="ls -la"), "ok"
    )
    agent, cleanup = await create_deep_agent_async(
        name="sandbox_agent", model=model, execution="heimdall", work_dir=tmp_path
    )
    try:
        result = await agent.run("go")
    finally:
        if cleanup:
            await cleanup()
    names = {spec.name for spec in model.requests[0].tools}
    assert {"execute_python", "execute_bash", "install_packages"} <= names
    python, bash = [event.result for event in result.events if isinstance(event, ToolEnded)]
    assert (python.status, "4" in python.text, bash.status) == ("ok", True, "ok")


@pytest.mark.migration("adk-deepagents", 'skills=["path"]')
async def test_a_skill_is_named_by_its_folder_and_its_scripts_run_with_the_commands(
    tmp_path: Path,
) -> None:
    folder = make_skill(tmp_path / "skills", scripts__a_DOT_sh="echo from the script")
    model = ScriptedModel(
        call("load_skill", skill_name="pdf-forms"),
        call("run_skill_script", skill_name="pdf-forms", script_path="scripts/a.sh"),
        "ok",
    )
    agent, cleanup = await create_deep_agent_async(
        model=model, skills=[str(folder)], execution="local", work_dir=tmp_path
    )
    result = await agent.run("go")
    await cleanup()
    loaded, ran = [event.result for event in result.events if isinstance(event, ToolEnded)]
    assert "# PDF forms" in loaded.text
    assert "from the script" in ran.text
    with pytest.raises(UsageError, match="SkillRegistry"):
        create_deep_agent(model=model, skills=[str(tmp_path / "skills")])


@pytest.mark.migration("adk-deepagents", "memory files")
async def test_memory_files_are_read_from_the_backend_before_each_turn(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Always write tests.")
    model = ScriptedModel("ok", "ok")
    agent = create_deep_agent(
        model=model, backend=FilesystemBackend(tmp_path), memory=["/AGENTS.md"]
    )
    await agent.run("hi")
    (tmp_path / "AGENTS.md").write_text("Never write tests.")
    await agent.run("hi")
    first, second = (request.instructions for request in model.requests)
    assert "Always write tests." in first
    assert "Never write tests." in second


@pytest.mark.migration("adk-deepagents", "summarisation settings")
async def test_a_summary_never_separates_a_result_from_its_call() -> None:
    def long_turn(request: ModelRequest) -> ModelMessage:
        calls = (call("ls", path="/"),)
        return ModelMessage(parts=calls, usage=Usage(input_tokens=900))

    writer = ScriptedModel(*["They looked around."] * 3)
    agent = create_deep_agent(
        model=ScriptedModel(long_turn, long_turn, long_turn, "ok"),
        compaction=Compaction(max_tokens=800, keep_messages=1, model=writer),
    )
    history = (await agent.run("go")).history
    assert any("They looked around." in getattr(one, "text", "") for one in history)
    for place, message in enumerate(history):
        if isinstance(message, ToolMessage):
            asked = history[place - 1]
            assert isinstance(asked, ModelMessage)
            assert [c.call_id for c in asked.calls] == [r.call_id for r in message.results]


# -- go-agent -------------------------------------------------------------------------------


@pytest.mark.migration("go-agent", "tools.preset, tools.work_dir", "runs every tool at once")
async def test_a_preset_works_in_its_directory_and_asks_unless_all_is_allowed(
    tmp_path: Path,
) -> None:
    write = call("write", path="notes.md", content="# Notes\n\n- item one\n")
    config = "tools:\n  preset: coding\n  work_dir: .\n"
    assert [tool.name for tool in preset_tools("coding", tmp_path)] == [
        "read", "bash", "edit", "write",
    ]  # fmt: skip
    (tmp_path / "agent.yaml").write_text(config)
    model = ScriptedModel(write, "ok")
    paused = await load_agent_file(tmp_path / "agent.yaml", model=model).agent.run("go")
    assert [spec.name for spec in model.requests[0].tools] == ["read", "bash", "edit", "write"]
    assert [one.name for one in paused.pending] == ["write"]
    assert not (tmp_path / "notes.md").exists()
    (tmp_path / "agent.yaml").write_text(f"{config}approvals: {{otherwise: allow}}\n")
    loaded = load_agent_file(tmp_path / "agent.yaml", model=ScriptedModel(write, "ok"))
    done = await loaded.agent.run("go")
    assert done.status == "done"
    assert (tmp_path / "notes.md").read_text() == "# Notes\n\n- item one\n"


@pytest.mark.migration("go-agent", "web_search, web_fetch")
async def test_a_page_is_read_on_from_an_offset_and_private_addresses_are_refused() -> None:
    with serving() as web:
        page = b"<h1>Notes</h1><p>" + b"word " * 2000 + b"</p><p>the end</p>"
        html = {"Content-Type": "text/html"}
        web.answers["/doc"] = Answer(body=page, headers=html)
        web.answers["/lite/"] = Answer(body=stored("duckduckgo.html"), headers=html)
        here = Fetch(allow_private=["127.0.0.1"])
        tools = web_tools(engine=DuckDuckGo(here, address=f"{web.url}/lite/"), fetch=here)
        fetch = {"url": f"{web.url}/doc", "max_bytes": 3000}
        _, [searched, first] = await _run(
            tools,
            call("web_search", query="golang 1.24 release notes", max_results=5),
            call("web_fetch", **fetch),
        )
        offset = int(first.text.rpartition("Use offset=")[2].split()[0])
        _, [second] = await _run(tools, call("web_fetch", **fetch, offset=offset))
        asked = len(web.asked)
        _, [refused] = await _run(web_tools(), call("web_fetch", url=f"{web.url}/doc"))
    assert "http" in searched.text
    assert "# Notes" in first.text
    assert "# Notes" not in second.text
    assert "word word" in second.text
    assert (refused.status, "not a public address" in refused.text) == ("error", True)
    assert len(web.asked) == asked


class Recording(LocalExecutor):
    """An executor of one's own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self.commands: list[Any] = []

    async def run(self, command: Any, **settings: Any) -> Finished:
        """Note it and run it."""
        self.commands.append(command)
        return await super().run(command, **settings)


@pytest.mark.migration("go-agent", "Executor")
async def test_bash_runs_where_an_executor_runs_it(tmp_path: Path) -> None:
    executor = Recording(tmp_path)
    command = call("bash", command="echo hi 2>&1", timeout=60)
    _, [result] = await _run(workspace_tools(tmp_path, executor=executor), command)
    assert (result.status, result.text.strip()) == ("ok", "hi")
    [ran] = executor.commands
    assert "echo hi 2>&1" in str(ran)


@pytest.mark.migration("go-agent", "onUpdate")
@pytest.mark.parametrize("how", ["progress", "yield"])
async def test_updates_are_shown_while_a_tool_runs(how: str) -> None:
    async def fetched(city: str, tool_context: ToolContext) -> str:
        """Get the current weather for a city."""
        tool_context.progress(f"Fetching weather for {city}...")
        return f"Weather in {city}: 12 C"

    async def yielded(city: str) -> AsyncIterator[str]:
        """Get the current weather for a city."""
        yield f"Fetching weather for {city}..."
        yield f"Weather in {city}: 12 C"

    tool = as_tool(fetched if how == "progress" else yielded)
    model = ScriptedModel(call(tool.name, city="Oslo"), "ok")
    runner = Runner(Agent(name="a", model=model, tools=[tool]))
    seen = [event async for event in runner.stream("go", session_id="s")]
    told = [event for event in seen if isinstance(event, ToolProgress | ToolEnded)]
    assert isinstance(told[0], ToolProgress)
    assert told[0].text == "Fetching weather for Oslo..."
    assert isinstance(told[-1], ToolEnded)
    assert "Weather in Oslo: 12 C" in told[-1].result.text


_PLUGIN = f"""#!{sys.executable}
import json, os, sys

with open("starts", "a") as starts:
    starts.write("x")
for line in sys.stdin:
    msg = json.loads(line)
    if msg["type"] == "init":
        schema = {{"type": "object", "properties": {{"input": {{"type": "string"}}}}, "required": ["input"]}}
        tool = {{"name": "my_plugin_tool", "description": "Does something useful.", "parameters": schema}}
        print(json.dumps({{"type": "init", "tools": [tool]}}), flush=True)
    elif msg["type"] == "call":
        text = f"Processed: {{msg['params']['input']}} {{sys.argv[1:]}}"
        content = [{{"type": "text", "text": text}}]
        print(json.dumps({{"type": "result", "call_id": msg["call_id"], "content": content}}), flush=True)
"""


@pytest.mark.migration("go-agent", "plugins")
async def test_a_plugin_of_the_two_messages_is_started_once_and_not_before_it_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "my-tool"
    program.write_text(_PLUGIN)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    config = (
        'tools:\n  preset: none\n  plugins:\n    - path: ./my-tool\n      args: ["--verbose"]\n'
    )
    (tmp_path / "agent.yaml").write_text(f"{config}approvals: {{otherwise: allow}}\n")
    model = ScriptedModel(*[call("my_plugin_tool", input="a"), "ok"] * 2)
    agent = load_agent_file(tmp_path / "agent.yaml", model=model).agent
    assert any(isinstance(one, PluginToolset) for one in agent.shelf.toolsets)
    assert not (tmp_path / "starts").exists()
    try:
        results = [(await agent.run("go")).history[2] for _ in range(2)]
    finally:
        await agent.close()
    assert [one.results[0].text for one in results if isinstance(one, ToolMessage)] == [
        "Processed: a ['--verbose']"
    ] * 2
    assert (tmp_path / "starts").read_text() == "x"


@pytest.mark.row("002-69")
async def test_a_plugin_says_that_a_call_failed(tmp_path: Path) -> None:
    program = tmp_path / "my-tool"
    failing = _PLUGIN.replace('"content": content}', '"content": content, "is_error": True}')
    assert failing != _PLUGIN
    program.write_text(failing)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    plugin = PluginToolset(program, cwd=tmp_path)
    try:
        _, [result] = await _run([plugin], call("my_plugin_tool", input="a"))
    finally:
        await plugin.close()
    assert (result.status, result.text) == ("error", "Processed: a []")


# -- nfactorial -----------------------------------------------------------------------------

LINKS = Links("a secret of some length", "http://127.0.0.1")


def _transferring(mailed: list[str], ran: list[str]) -> Agent:
    """The page's agent: a finished tool, then one that waits for its user."""

    def fetch_user(user_id: str) -> str:
        """Fetches the data for a user from an ID."""
        ran.append(user_id)
        return "User: Ada"

    @deferred_tool(timeout=60 * 60)
    async def request_fund_transfer(
        amount_cents: int, destination_account: str, execution_ctx: ExecutionContext
    ) -> None:
        """Request user approval to transfer funds."""
        mailed.append(f"{execution_ctx.task_id} {execution_ctx.current_tool_call_id}")
        mailed.extend(
            LINKS.answer(execution_ctx, {"status": status}, label=status)
            for status in ("approved", "rejected")
        )
        mailed.append(LINKS.answer(execution_ctx, {"status": "approved"}, expires_in=-1))

    asks = call("request_fund_transfer", amount_cents=5000, destination_account="DE1")
    model = ScriptedModel(call("fetch_user", user_id="u1"), asks, "Done.")
    tools = [fetch_user, request_fund_transfer]
    return Agent(name="bank", description="A bank", instructions="Ask.", tools=tools, model=model)


@asynccontextmanager
async def _working(orchestrator: Orchestrator) -> AsyncIterator[None]:
    worker = orchestrator.worker()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            yield
            worker.drain()


async def _waiting(orchestrator: Orchestrator, task_id: str) -> str:
    """The call that the task waits for."""
    while (await orchestrator.status(task_id)).status != "PENDING_TOOL_RESULTS":
        await orchestrator.changed(0.5)
    [(_, pending)] = await orchestrator.pending(task_id)
    return pending.call_id


@pytest.mark.migration(
    "nfactorial",
    "orchestrator.complete_deferred_tool",
    "PENDING_TOOL_RESULTS, ACTIVE …",
    "Redis queues, <\\|PENDING\\|> sentinels",
    "workers",
)
@pytest.mark.xdist_group("tasks")
async def test_a_task_waits_for_its_result_outlives_its_workers_and_runs_no_tool_twice(
    tmp_path: Path,
) -> None:
    url, mailed, ran = f"sqlite:///{tmp_path}/tasks.db", list[str](), list[str]()
    agent = _transferring(mailed, ran)
    async with Orchestrator(url) as first:
        first.register(agent)
        async with _working(first):
            task_id = await first.enqueue("bank", "Pay.", owner_id="ada")
            tool_call_id = await _waiting(first, task_id)
    async with Orchestrator(url) as orchestrator:
        orchestrator.register(agent)

        async def approve_transfer(task_id: str, tool_call_id: str) -> str:
            return await orchestrator.complete_deferred_tool(
                task_id=task_id, tool_call_id=tool_call_id, result={"status": "approved"}
            )

        assert mailed[0] == f"{task_id} {tool_call_id}"
        assert await approve_transfer(task_id, "no-such-call") == "unknown"
        assert await approve_transfer(task_id, tool_call_id) == "accepted"
        assert await approve_transfer(task_id, tool_call_id) == "duplicate"
        async with _working(orchestrator):
            assert (await orchestrator.wait(task_id)).status == "COMPLETED"
    assert ran == ["u1"]
    assert {"PENDING_TOOL_RESULTS", "ACTIVE", "COMPLETED", "FAILED"} <= set(get_args(TaskStatus))


@pytest.mark.migration("nfactorial", "approve and reject links")
async def test_a_link_is_signed_answers_once_and_has_an_end() -> None:
    mailed: list[str] = []
    runner = Runner(_transferring(mailed, []))
    app = create_app(runner, settings=ServeSettings(requests_per_second=0), links=LINKS)
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            await runner.run("Pay.", session_id="s")
            approve, reject, late = (urlsplit(link).path for link in mailed[1:])
            assert "expired" in (await http.post(late)).text
            assert (await http.post(approve[:-3] + "abc")).status_code == 410
            assert (await http.post(approve)).status_code == 200
            assert (await http.post(reject)).status_code in (404, 409)
            with anyio.fail_after(30):
                while len(await runner.history("s")) < 6:
                    await anyio.lowlevel.checkpoint()
    answered = (await runner.history("s"))[4]
    assert isinstance(answered, ToolMessage)
    assert answered.results[0].text == '{"status":"approved"}'
