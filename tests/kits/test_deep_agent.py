"""Deep agents plan, keep files, delegate side by side, are interrupted, and resume after a restart."""

from pathlib import Path
from typing import Any

import pytest
from tests.skills._make import make_skill

from toolwright import Agent, Approve, BaseTool, Runner, ToolContext, UsageError
from toolwright.backends.files import FilesystemBackend, StateBackend
from toolwright.kits import SubAgentSpec, create_deep_agent, create_deep_agent_async
from toolwright.messages import ModelReplied, ToolEnded
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Output

pytestmark = pytest.mark.anyio


def texts(request: ModelRequest) -> list[str]:
    return [r.text for m in request.history if m.kind == "tool" for r in m.results]


@pytest.mark.row("000-01", "000-77")
async def test_it_has_todos_files_and_a_general_purpose_agent_and_says_how_to_work() -> None:
    model = ScriptedModel("Hello.")
    await create_deep_agent(model=model, instructions="You tidy code.").run("hi")
    [request] = model.requests
    names = [spec.name for spec in request.tools]
    assert names == [
        "write_todos", "read_todos", "ls", "read_file", "write_file", "edit_file", "glob", "grep", "task",
    ]  # fmt: skip
    assert request.instructions.startswith("You tidy code.\n\n")
    task = request.tools[-1]
    assert "- general_purpose: " in task.description
    assert task.parameters["properties"]["agent"]["enum"] == ["general_purpose"]


class Story:
    """A model that plays the main agent and its three helpers, whatever order they run in."""

    name = "scripted:story"

    def __init__(self) -> None:
        self.main = ScriptedModel(
            call("write_todos", todos=[{"content": "Write three parts", "status": "in_progress"}]),
            [call("task", agent="writer", description=f"Write part {n}.") for n in (1, 2, 3)],
            call("edit_file", file_path="/part2.md", old_string="two", new_string="TWO"),
            call("write_todos", todos=[{"content": "Write three parts", "status": "completed"}]),
            "All three parts are written.",
        )
        self.asked: list[str] = []

    async def respond(self, request: ModelRequest, on_delta: Any = None) -> Any:
        first = request.history[0].text  # type: ignore[union-attr]
        self.asked.append(first)
        if not first.startswith("Write part"):
            return await self.main.respond(request)
        n = int(first[-2])
        word = ("", "one", "two", "three")[n]
        script: list[Any] = [
            call("write_file", file_path=f"/part{n}.md", content=word),
            f"Part {n} is done.",
        ]
        return await ScriptedModel(script[len(texts(request))]).respond(request)


@pytest.mark.row("000-76", "000-79", "000-86", "000-90")
async def test_it_plans_delegates_three_at_once_is_interrupted_inside_and_resumes_after_a_restart(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    story = Story()
    db = f"sqlite:///{tmp_path}/s.db"
    writer = SubAgentSpec(
        name="writer",
        description="Writes.",
        interrupt_on={"write_file": lambda file_path: file_path == "/part2.md"},
    )
    agent = create_deep_agent(
        "boss", story, subagents=[writer], backend=FilesystemBackend(tmp_path / "work")
    )
    async with Runner(agent, store=db) as runner:
        paused = await runner.run("Write a book in three parts.", session_id="s")
    assert paused.status == "paused"
    [pending] = paused.pending
    assert (pending.name, pending.arguments["file_path"]) == ("write_file", "/part2.md")
    assert sorted(p.name for p in (tmp_path / "work").iterdir()) == ["part1.md", "part3.md"]

    async with Runner(agent, store=db) as runner:
        assert await runner.answer("s", pending.call_id, Approve()) == "accepted"
        result = await runner.resume("s")
        events = await runner.events("s")
    assert result.text == "All three parts are written."
    assert (tmp_path / "work" / "part2.md").read_text() == "TWO"
    assert result.state["todos"] == [{"content": "Write three parts", "status": "completed"}]
    writes = [e.result.name for e in events if isinstance(e, ToolEnded)].count("write_file")
    assert writes == 3
    assert sum(isinstance(e, ModelReplied) for e in events) == len(story.asked) == 5 + 6


@pytest.mark.row("000-85")
async def test_sub_agents_do_not_see_the_conversation_and_inherit_the_core_tools() -> None:
    seen: list[ModelRequest] = []

    def helper(request: ModelRequest) -> str:
        seen.append(request)
        return "done"

    model = ScriptedModel(
        call("task", agent="general_purpose", description="Look."), helper, "Done."
    )
    await create_deep_agent(model=model).run("A secret plan.")
    [request] = seen
    assert [m.text for m in request.history] == ["Look."]  # type: ignore[union-attr]
    assert "task" not in [spec.name for spec in request.tools]
    assert "write_file" in [spec.name for spec in request.tools]


@pytest.mark.row("000-84")
async def test_what_the_parent_must_ask_about_its_sub_agents_must_ask_about_too() -> None:
    model = ScriptedModel(
        call("task", agent="general_purpose", description="Write."),
        call("write_file", file_path="/x", content="x"),
    )
    paused = await create_deep_agent(model=model, interrupt_on={"write_file": True}).run("go")
    assert [p.name for p in paused.pending] == ["write_file"]


async def test_a_big_result_is_moved_to_a_file_that_can_be_read() -> None:
    def dump() -> str:
        """Dump everything."""
        return "x" * 30_000 + "needle"

    model = ScriptedModel(
        call("dump"),
        lambda r: call("grep", pattern="needle", output_mode="files_with_matches"),
        "Found.",
    )
    result = await create_deep_agent(model=model, tools=[dump]).run("go")
    first, second = texts(model.requests[-1])
    assert "30,006 characters in all, kept in /large_results/" in first
    assert "/large_results/" in second
    assert result.text == "Found."


async def test_big_results_of_hand_written_tools_and_failures_are_moved_too() -> None:
    class Dump(BaseTool):
        async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
            """Dump everything."""
            return "x" * 30_000

    def fail() -> Output:
        """Fail at length."""
        return Output(text="y" * 30_000, status="error")

    model = ScriptedModel(call("dump"), call("fail"), "Done.")
    tools = [Dump(name="dump", description="Dump."), fail]
    await create_deep_agent(model=model, tools=tools).run("go")
    for text in texts(model.requests[-1]):
        assert "30,000 characters in all, kept in /large_results/" in text
        assert len(text) < 3_000


async def test_a_big_result_is_not_lost_when_its_file_cannot_be_written() -> None:
    class Full(StateBackend):
        async def write(self, path: str, data: bytes, *, expected: str | None = None) -> str:
            raise PermissionError(path)

    def dump() -> str:
        """Dump everything."""
        return "x" * 30_000

    model = ScriptedModel(call("dump"), "Found.")
    await create_deep_agent(model=model, tools=[dump], backend=lambda ctx: Full(ctx.state)).run(
        "go"
    )
    assert texts(model.requests[-1]) == ["x" * 30_000]


async def test_memory_files_are_put_before_the_model_each_turn() -> None:
    model = ScriptedModel(
        call("write_file", file_path="/AGENTS.md", content="Always use tabs."), "Noted."
    )
    await create_deep_agent(model=model, memory=["/AGENTS.md"]).run("go")
    assert "Always use tabs." not in model.requests[0].instructions
    told = str(model.requests[1].history[-1])
    assert '<file path="/AGENTS.md">\\nAlways use tabs.\\n</file>' in told


@pytest.mark.row("000-58", "000-70", "000-71")
async def test_execution_local_runs_commands_and_the_cleanup_closes() -> None:
    model = ScriptedModel(call("execute", command="echo hello"), "Done.")
    agent, cleanup = await create_deep_agent_async("dev", model, execution="local")
    result = await agent.run("go")
    assert '"output":"hello\\n","exit_code":0' in result.history[2].results[0].text  # type: ignore[union-attr]
    await cleanup()


@pytest.mark.row("000-72")
async def test_execution_heimdall_runs_python_in_our_sandbox(tmp_path: Path) -> None:
    model = ScriptedModel(call("execute_python", code="print(2 + 2)"), "Done.")
    agent, cleanup = await create_deep_agent_async(
        "dev", model, execution="heimdall", work_dir=tmp_path
    )
    try:
        result = await agent.run("go")
    finally:
        await cleanup()
    assert "4" in result.history[2].results[0].text  # type: ignore[union-attr]


@pytest.mark.row("000-74")
@pytest.mark.parametrize(
    "server",
    [
        {"command": "/bin/sh", "args": ["-c", "exit 3"]},
        {"command": "/bin/no-such-program"},
        {"uri": "nowhere"},
    ],
)
async def test_an_execution_server_that_cannot_start_fails_at_once(server: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"cannot be used: MCP server|There is no program"):
        await create_deep_agent_async(model=ScriptedModel(), execution=server)


_ASK = [call("run_skill_script", skill_name="pdf-forms", script_path="scripts/a.sh"), "Done."]


@pytest.mark.row("000-83", "000-89")
@pytest.mark.parametrize("execution", ["local", "heimdall"])
async def test_scripts_of_skills_run_where_commands_run(tmp_path: Path, execution: str) -> None:
    folder = make_skill(tmp_path, scripts__a_DOT_sh="echo from the script")
    delegated = [call("task", agent="clerk", description="d"), *_ASK, "All done."]
    for script in (_ASK, delegated):
        clerk = SubAgentSpec(name="clerk", description="Fills in forms.", skills=[str(folder)])
        agent, cleanup = await create_deep_agent_async(
            "dev",
            ScriptedModel(*script),
            execution=execution,
            work_dir=tmp_path,
            skills=[folder],
            subagents=[clerk],
        )
        result = await agent.run("go")
        await cleanup()
        ran = [e.result for e in result.events if isinstance(e, ToolEnded)]
        [script_result] = [r for r in ran if r.name == "run_skill_script"]
        assert (script_result.status, "from the script" in script_result.text) == ("ok", True)


async def test_without_execution_no_script_can_be_run(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, scripts__a_DOT_sh="echo x")

    def look(request: ModelRequest) -> str:
        return " ".join(spec.name for spec in request.tools)

    agent = create_deep_agent(model=ScriptedModel(look), skills=[folder])
    names = (await agent.run("go")).text.split()
    assert "load_skill" in names
    assert "run_skill_script" not in names


async def test_a_sub_agent_with_tools_of_its_own_runs_no_scripts(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, scripts__a_DOT_sh="echo x")

    def stamp() -> str:
        """Stamp it."""
        return "stamped"

    def look(request: ModelRequest) -> str:
        return " ".join(spec.name for spec in request.tools)

    clerk = SubAgentSpec(name="clerk", description="Stamps.", tools=[stamp], skills=[str(folder)])
    model = ScriptedModel(call("task", agent="clerk", description="d"), look, "ok")
    agent = create_deep_agent(model=model, execution="local", subagents=[clerk])
    result = await agent.run("go")
    [ended] = [e.result for e in result.events if isinstance(e, ToolEnded)]
    assert "load_skill" in ended.text
    assert "run_skill_script" not in ended.text


@pytest.mark.row("000-88")
async def test_wrong_settings_are_refused_with_what_is_right() -> None:
    with pytest.raises(UsageError, match="'local'"):
        create_deep_agent(execution="docker")
    with pytest.raises(UsageError, match="needs description"):
        create_deep_agent(subagents=[SubAgentSpec(name="x")])
    with pytest.raises(UsageError, match=r"unknown settings \['prompt'\]"):
        create_deep_agent(subagents=[{"name": "x", "description": "y", "prompt": "z"}])  # type: ignore[typeddict-unknown-key]
    with pytest.raises(UsageError, match="Two sub-agents"):
        create_deep_agent(subagents=[Agent(name="a"), Agent(name="a")])
