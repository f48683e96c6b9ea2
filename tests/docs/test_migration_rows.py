"""Rows of the migration pages: the original's sample, as literally as possible, and what differs."""

import ast
import itertools
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.docs._snippets import ROOT
from tests.docs._tables import rows

import toolwright as tw
from toolwright import (
    Agent,
    AgentTool,
    Approve,
    BaseTool,
    BaseToolset,
    BashToolPolicy,
    Context,
    EventActions,
    ExecuteBashTool,
    ExecutionContext,
    FilesystemBackend,
    FunctionTool,
    Hooks,
    LlmAgent,
    LongRunningFunctionTool,
    LoopAgent,
    OpenAPIToolset,
    ParallelAgent,
    ReadonlyContext,
    Reject,
    Runner,
    SequentialAgent,
    StateBackend,
    SubAgentSpec,
    ToolContext,
    ToolError,
    UsageError,
    Workflow,
    create_deep_agent,
    create_deep_agent_async,
    create_local_execute_tool,
    deferred_tool,
    exit_loop,
    file_tools,
    function_tool,
    token_to_scheme_credential,
    truncate_head,
    truncate_tail,
    workspace_tools,
)
from toolwright.messages import ModelReplied, ToolEnded, ToolSpec
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import tool

pytestmark = pytest.mark.anyio


def _there(page: str) -> list[str]:
    return [
        row["there"].replace("`", "") for row in rows(ROOT / "docs" / "migration" / f"{page}.md")
    ]


def _tested() -> dict[str, list[str]]:
    """By page, the rows that tests of this file and of its neighbours name."""
    found: dict[str, list[str]] = {}
    files = sorted(Path(__file__).parent.glob("test_migration_*.py"))
    bodies = [ast.parse(file.read_text(encoding="utf-8")).body for file in files]
    for node in itertools.chain.from_iterable(bodies):
        for mark in getattr(node, "decorator_list", ()):
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.migration":
                page, *named = [ast.literal_eval(argument) for argument in mark.args]
                found.setdefault(page, []).extend(named)
    return found


@pytest.mark.parametrize("page", ["adk", "adk-deepagents", "go-agent", "nfactorial"])
def test_every_row_has_a_test(page: str) -> None:
    there, tested = _there(page), _tested().get(page, [])
    assert [row for row in tested if row not in there] == [], "a test names a row that is not there"
    assert [row for row in there if row not in tested] == [], "give the new row a test"


async def _answered(tools: Any, *calls: Any, **settings: Any) -> list[Any]:
    """The results of these calls, one turn each."""
    agent = Agent(name="a", model=ScriptedModel(*calls, "ok"), tools=tools)
    result = await agent.run("go", **settings)
    return [event.result for event in result.events if isinstance(event, ToolEnded)]


def get_weather(city: str) -> dict[str, str]:
    """Retrieves the current weather report for a specified city.

    Args:
        city: The name of the city.
    """
    return {"status": "success", "report": f"The weather in {city} is sunny."}


# -- adk ------------------------------------------------------------------------------------


@pytest.mark.migration("adk", "LlmAgent, Agent", "instruction= with {key}")
async def test_an_agent_is_described_with_instructions_that_have_keys() -> None:
    assert LlmAgent is Agent
    with pytest.raises(TypeError, match="instructions"):
        LlmAgent(name="a", model=ScriptedModel(), instruction="Be brief.")  # type: ignore[call-arg]
    model = ScriptedModel("ok")
    agent = LlmAgent(name="a", model=model, instructions="Speak {language}.{tone?}", tools=[])
    await agent.run("hi", state={"language": "German"})
    assert model.requests[0].instructions == "Speak German."
    with pytest.raises(UsageError, match="language"):
        await agent.run("hi")


@pytest.mark.migration("adk", "callbacks (before_tool_callback …)")
async def test_a_callback_answers_in_a_tools_place_with_a_text_and_changes_arguments_with_a_dict() -> (
    None
):
    def before(ctx: Any, c: Any, args: dict[str, Any]) -> Any:
        return "No weather today." if args["city"] == "Nowhere" else {"city": "Oslo"}

    model = ScriptedModel(call("get_weather", city="Nowhere"), call("get_weather", city="x"), "ok")
    agent = Agent(name="a", model=model, tools=[get_weather], hooks=Hooks(before_tool=before))
    events = (await agent.run("go")).events
    first, second = [event.result.text for event in events if isinstance(event, ToolEnded)]
    assert first == "No weather today."
    assert "in Oslo" in second

    def theirs(tool: Any, args: dict[str, Any], tool_context: ToolContext) -> None:
        pass

    with pytest.raises(UsageError, match=r"context comes first; .* before_tool\(ctx, tool, args\)"):
        Hooks(before_tool=theirs)  # type: ignore[arg-type]


@pytest.mark.migration(
    "adk",
    "Runner, InMemoryRunner, App",
    "InMemorySessionService and others",
    "runner.run yields events",
    "event.is_final_response()",
)
async def test_a_runner_makes_a_session_when_it_is_named_and_gives_a_result() -> None:
    agent = Agent(name="a", model=ScriptedModel("one", "two"))
    runner = Runner(agent, app_name="app", store="memory://")
    assert (await runner.run("hi", user_id="u", session_id="s")).text == "one"
    result = await runner.run("again", user_id="u", session_id="s")
    assert (result.text, len(result.history)) == ("two", 4)
    other = Runner(Agent(name="a", model=ScriptedModel("three")))
    events = [event async for event in other.stream("hi", session_id="s")]
    assert events


@pytest.mark.migration("adk", "LoopAgent, SequentialAgent, ParallelAgent", "exit_loop")
async def test_agents_in_order_at_once_and_in_a_loop() -> None:
    def agent(name: str, *turns: Any, **settings: Any) -> Agent:
        return Agent(name=name, model=ScriptedModel(*turns), **settings)

    chain = SequentialAgent(name="chain", sub_agents=[agent("x", "1"), agent("y", "2")])
    assert (await chain.run("go")).state == {"x": "1", "y": "2"}
    both = ParallelAgent(name="both", sub_agents=[agent("x", "1"), agent("y", "2")])
    assert (await both.run("go")).state == {"x": "1", "y": "2"}
    critic = agent("critic", "more", call("exit_loop"), tools=[exit_loop])
    loop = LoopAgent(name="loop", sub_agents=[critic], max_iterations=5)
    assert (await loop.run("go")).status == "done"
    assert len(critic.model.requests) == 2  # type: ignore[attr-defined]


@pytest.mark.migration("adk", "AgentTool")
async def test_an_agent_is_a_tool_of_another() -> None:
    inner = Agent(name="summarizer", model=ScriptedModel("short"), description="Summarises.")
    [result] = await _answered([AgentTool(agent=inner)], call("summarizer", request="long text"))
    assert result.text == "short"


@pytest.mark.migration(
    "adk",
    "FunctionTool(func, require_confirmation=)",
    "require_confirmation",
    "a FunctionResponse with a ToolConfirmation",
)
async def test_a_confirmed_function_waits_and_a_rejected_call_never_runs() -> None:
    ran: list[int] = []

    def transfer(amount: int) -> str:
        """Transfer money."""
        ran.append(amount)
        return "done"

    wire = FunctionTool(func=transfer, require_confirmation=True)
    for answer, expected in ((Reject(), []), (Approve(), [5])):
        agent = Agent(name="a", model=ScriptedModel(call("transfer", amount=5), "ok"), tools=[wire])
        runner = Runner(agent)
        paused = await runner.run("go", session_id="s")
        await runner.answer("s", paused.pending[0].call_id, answer)
        await runner.resume("s")
        assert ran == expected
    assert wire(7) == "done"


@pytest.mark.migration("adk", "LongRunningFunctionTool")
@pytest.mark.parametrize("status", ["pending", "RUNNING", "In Progress", "in_progress", "queued"])
async def test_a_status_however_written_keeps_the_call_open(status: str) -> None:
    def ask_for_approval(purpose: str) -> dict[str, str]:
        """Ask for approval for the reimbursement."""
        return {"status": status, "ticket-id": "approval-ticket-1"}

    model = ScriptedModel(call("ask_for_approval", purpose="trip"), "told")
    tool_ = LongRunningFunctionTool(func=ask_for_approval)
    runner = Runner(Agent(name="a", model=model, tools=[tool_]))
    await runner.run("go", session_id="s")
    assert [one.name for one in await runner.pending("s")] == ["ask_for_approval"]


class Lookup(BaseTool):
    """The page's hand-written tool."""

    def __init__(self) -> None:
        super().__init__(name="lookup", description="Looks up a product.")

    def _get_declaration(self) -> Any:
        schema = {"type": "OBJECT", "properties": {"sku": {"type": "STRING"}}, "required": ["sku"]}
        return {"name": self.name, "description": self.description, "parameters": schema}

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Look it up."""
        return {"sku": args["sku"], "price": 19.99}


@pytest.mark.migration("adk", "BaseTool", "process_llm_request", "get_tools_with_prefix")
async def test_a_hand_written_tool_runs_and_what_nothing_calls_is_refused() -> None:
    right, wrong = await _answered([Lookup()], call("lookup", sku="W-42"), call("lookup"))
    assert right.text == '{"sku":"W-42","price":19.99}'
    assert (wrong.status, "'sku'" in wrong.text) == ("error", True)
    assert isinstance(FunctionTool(get_weather), BaseTool)
    with pytest.raises(UsageError, match="shape_request"):
        type("P", (FunctionTool,), {"process_llm_request": None})
    with pytest.raises(UsageError, match="list_tools"):
        type("T", (BaseToolset,), {"get_tools_with_prefix": None})


class RoleBased(BaseToolset):
    """The page's toolset, which lists by role."""

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[Any]:
        """More for an admin."""
        role = readonly_context.state.get("role") if readonly_context else None
        return [get_weather, Lookup()] if role == "admin" else [get_weather]


@pytest.mark.migration("adk", "BaseToolset", "ToolPredicate", 'tool_name_prefix="petstore_"')
async def test_a_toolset_lists_by_context_filters_and_prefixes() -> None:
    model = ScriptedModel("ok")
    only = RoleBased(
        tool_filter=lambda tool, ctx: tool.name == "lookup", tool_name_prefix="petstore_"
    )
    await Agent(name="a", model=model, tools=[only]).run("hi", state={"role": "admin"})
    assert [spec.name for spec in model.requests[0].tools] == ["petstore_lookup"]
    assert [tool.name for tool in await RoleBased(tool_name_prefix="shop").list_tools()] == [
        "shop_get_weather"
    ]


@pytest.mark.row("004-B6")
@pytest.mark.migration("adk", "ExecuteBashTool, BashToolPolicy")
async def test_a_prefix_is_a_command_and_a_quoted_operator_is_none(tmp_path: Path) -> None:
    policy = BashToolPolicy(
        allowed_command_prefixes=("git", "echo"), blocked_operators=("|", ";", "&&", "||")
    )
    bash = ExecuteBashTool(workspace=tmp_path, policy=policy)
    [refused] = await _answered([bash], call("execute_bash", command="git-annex init"))
    assert refused.status in ("denied", "error")
    model = ScriptedModel(call("execute_bash", command="echo 'a;b'"), "ok")
    result = await Agent(name="a", model=model, tools=[bash]).run("go")
    assert [one.name for one in result.pending] == ["execute_bash"]


_PETS = {
    "openapi": "3.0.0",
    "info": {"title": "Petstore", "version": "1"},
    "servers": [{"url": "http://127.0.0.1:9"}],
    "paths": {"/pets": {"get": {"operationId": "listPets", "responses": {"200": {"description": "ok"}}}}},
}  # fmt: skip


@pytest.mark.migration("adk", "OpenAPIToolset, RestApiTool, ApiRegistry", "auth_helpers")
async def test_an_api_becomes_tools_with_a_key() -> None:
    scheme, credential = token_to_scheme_credential(
        token_type="apikey", location="header", name="X-API-Key", credential_value="my-secret"
    )
    toolset = OpenAPIToolset(spec_dict=_PETS, auth_scheme=scheme, auth_credential=credential)
    assert toolset.get_tool("list_pets").name == "list_pets"
    assert [tool.name for tool in await toolset.list_tools()] == ["list_pets"]


@pytest.mark.migration("adk", "ToolContext, Context", "state", "EventActions")
async def test_state_is_a_mapping_whose_reads_are_copies() -> None:
    def update(key: str, tool_context: ToolContext) -> dict[str, str]:
        """Update a user preference."""
        found = tool_context.state.get("user:preferences", {})
        found[key] = "lost"
        assert tool_context.state.get("user:preferences", {}) == {}
        tool_context.state["user:preferences"] = {key: "kept"}
        tool_context.actions.state_delta["seen"] = True
        return {"status": "success"}

    assert Context is ToolContext
    fields = [
        "skip_summarization",
        "transfer_to_agent",
        "escalate",
        "state_delta",
        "artifact_delta",
    ]
    assert all(hasattr(EventActions(), name) for name in fields)
    result = await Agent(
        name="a", model=ScriptedModel(call("update", key="theme"), "ok"), tools=[update]
    ).run("go")
    assert result.state == {"user:preferences": {"theme": "kept"}, "seen": True}


@pytest.mark.migration("adk", "ReadonlyContext", "run_config")
async def test_a_readonly_context_has_deps_in_place_of_a_run_config() -> None:
    async def dynamic_instruction(ctx: ReadonlyContext) -> str:
        assert not hasattr(ctx, "run_config")
        lang = ctx.state.get("user:preferred_language", "en")
        return f"Always respond in language code '{lang}' to {ctx.deps}."

    model = ScriptedModel("ok")
    agent = LlmAgent(name="localised", model=model, instructions=dynamic_instruction)
    await agent.run("hi", deps="Ada")
    assert model.requests[0].instructions == "Always respond in language code 'en' to Ada."


@pytest.mark.migration("adk", "invocation_id, function_call_id, function_call_event_id")
async def test_a_call_knows_its_ids_and_the_event_that_it_came_in() -> None:
    seen: list[str] = []

    def look(tool_context: ToolContext) -> str:
        """Look."""
        seen.extend([tool_context.invocation_id, tool_context.function_call_event_id])
        return tool_context.function_call_id

    model = ScriptedModel(call("look"), "ok")
    result = await Agent(name="a", model=model, tools=[look]).run("go")
    [replied] = [event for event in result.events if event.id == seen[1]]
    assert isinstance(replied, ModelReplied)
    assert seen[0]


@pytest.mark.migration("adk", "request_confirmation, tool_confirmation")
async def test_a_function_asks_and_only_an_approved_call_is_run_again() -> None:
    seen: list[Any] = []

    def wipe(tool_context: ToolContext) -> dict[str, str]:
        """Wipe the database."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Really?")
            return {"status": "pending"}
        seen.append(tool_context.tool_confirmation.confirmed)
        return {"status": "wiped"}

    for answer, expected in ((Reject(), []), (Approve(), [True])):
        model = ScriptedModel(call("wipe"), "ok")
        runner = Runner(Agent(name="a", model=model, tools=[wipe]))
        paused = await runner.run("go", session_id="s")
        await runner.answer("s", paused.pending[0].call_id, answer)
        await runner.resume("s")
        assert seen == expected


@pytest.mark.migration("adk", "TransferToAgentTool, transfer_to_agent")
async def test_a_sub_agent_takes_over() -> None:
    billing = Agent(name="billing", model=ScriptedModel("Paid."), description="Bills.")
    model = ScriptedModel(call("transfer_to_agent", agent_name="billing"))
    assert (await Agent(name="a", model=model, sub_agents=[billing]).run("pay")).text == "Paid."


@pytest.mark.migration("adk", "output_schema with tools")
async def test_an_answer_that_does_not_fit_goes_back_to_the_model() -> None:
    class Weather(BaseModel):
        city: str
        degrees: int

    model = ScriptedModel('{"city": "Oslo"}', '{"city": "Oslo", "degrees": 3}')
    agent = Agent(name="a", model=model, tools=[get_weather], output_schema=Weather)
    assert (await agent.run("go")).output == Weather(city="Oslo", degrees=3)


@pytest.mark.migration("adk", "Workflow")
async def test_two_edges_that_could_both_be_taken_are_refused() -> None:
    def end(text: str) -> str:
        """End."""
        return text

    nodes: dict[str, Any] = {"a": end, "b": end, "c": end}
    with pytest.raises(UsageError, match="two edges without a route"):
        Workflow(name="w", nodes=nodes, edges=[("start", "a"), ("a", "b"), ("a", "c")])
    flow = Workflow(name="w", nodes=nodes, edges=[("start", "a"), ("a", "b")])
    assert (await flow.run("hi")).output == "hi"


# -- adk-deepagents -------------------------------------------------------------------------


@pytest.mark.migration("adk-deepagents", "create_deep_agent", "SubAgentSpec")
async def test_a_deep_agent_is_made_with_instructions_and_known_keys() -> None:
    spec = SubAgentSpec(name="researcher", description="Searches.", system_prompt="Search well.")
    model = ScriptedModel("ok")
    await create_deep_agent(
        name="d", model=model, instructions="You tidy code.", subagents=[spec]
    ).run("hi")
    assert model.requests[0].instructions.startswith("You tidy code.")
    wrong: Any = {"name": "x", "description": "d", "promt": "p"}
    with pytest.raises(UsageError, match="promt"):
        create_deep_agent(model=model, subagents=[wrong])


@pytest.mark.migration("adk-deepagents", "create_deep_agent_async")
async def test_a_server_that_cannot_be_started_is_an_error_at_once(tmp_path: Path) -> None:
    nowhere = {"command": str(tmp_path / "nothing-here")}
    with pytest.raises(Exception, match="nothing-here"):
        await create_deep_agent_async(model=ScriptedModel(), execution=nowhere)
    _, cleanup = await create_deep_agent_async(model=ScriptedModel())
    await cleanup()


@pytest.mark.migration("adk-deepagents", "sub-agents get the core tools", "one tool per sub-agent")
async def test_one_tool_delegates_to_agents_that_have_their_parents_tools() -> None:
    seen: list[ModelRequest] = []

    def helper(request: ModelRequest) -> str:
        seen.append(request)
        return "done"

    model = ScriptedModel(call("task", agent="clerk", description="Stamp."), helper, "ok")
    spec = SubAgentSpec(name="clerk", description="Stamps.")
    agent = create_deep_agent(model=model, subagents=[spec], tools=[get_weather], execution="local")
    await agent.run("go")
    names = {one.name for one in seen[0].tools}
    assert {"get_weather", "execute", "read_file"} <= names
    assert "task" not in names


@pytest.mark.migration("adk-deepagents", "interrupt_on")
async def test_delegating_is_no_way_around_a_question() -> None:
    model = ScriptedModel(
        call("task", agent="general_purpose", description="Write."),
        call("write_file", file_path="/x", content="x"),
    )
    paused = await create_deep_agent(model=model, interrupt_on={"write_file": True}).run("go")
    assert [one.name for one in paused.pending] == ["write_file"]


@pytest.mark.migration(
    "adk-deepagents", 'state["_backend"], state["_backend_factory"]', "WriteResult.files_update"
)
async def test_a_backend_is_given_to_the_tools_and_writes_to_the_state_by_itself() -> None:
    def backend(ctx: ToolContext) -> StateBackend:
        return StateBackend(ctx.state)

    model = ScriptedModel(call("write_file", file_path="/a.txt", content="x"), "ok")
    result = await Agent(name="a", model=model, tools=file_tools(backend)).run("go")
    assert list(result.state) == ["files"]
    assert "/a.txt" in result.state["files"]


@pytest.mark.migration("adk-deepagents", "glob, grep")
@pytest.mark.parametrize("ripgrep", [True, False])
async def test_hidden_and_ignored_files_are_found(tmp_path: Path, ripgrep: bool) -> None:
    for name, text in ((".gitignore", "*.log"), ("a.log", "needle"), (".hidden", "needle")):
        (tmp_path / name).write_text(text)
    tools = file_tools(FilesystemBackend(tmp_path, ripgrep=ripgrep))
    found, named = await _answered(
        tools, call("grep", pattern="needle"), call("glob", pattern="*.log")
    )
    assert "/a.log" in found.text
    assert "/.hidden" in found.text
    assert "/a.log" in named.text


@pytest.mark.migration("adk-deepagents", "edit_file")
async def test_an_edit_leaves_all_other_bytes_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\n\xe9")
    edit = call("edit_file", file_path="/a.txt", old_string="two", new_string="2")
    await _answered(
        file_tools(FilesystemBackend(tmp_path)), call("read_file", file_path="/a.txt"), edit
    )
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\n2\n\xe9"


@pytest.mark.migration("adk-deepagents", "create_local_execute_tool")
async def test_execute_can_be_called_with_await(tmp_path: Path) -> None:
    answer = await create_local_execute_tool(work_dir=tmp_path)("echo hi; exit 3")
    assert (answer["status"], answer["exit_code"]) == ("error", 3)


# -- go-agent -------------------------------------------------------------------------------


@pytest.mark.migration("go-agent", "read, write, edit, ls, find, grep, bash", "edit")
async def test_the_seven_tools_work_in_a_directory_and_never_leave_it(tmp_path: Path) -> None:
    results = await _answered(
        workspace_tools(str(tmp_path)),
        call("write", path="a.go", content="func main() { say(\u201chi\u201d) }\n"),
        call("read", path="a.go"),
        call("edit", path="a.go", old_text='main() { say("hi") }', new_text="Main() {}"),
        call("ls"),
        call("find", pattern="*.go"),
        call("grep", pattern="func\\s+Main"),
        call("bash", command="cat a.go"),
        call("read", path="../x"),
    )
    assert [one.status for one in results] == ["ok"] * 7 + ["error"]
    assert "a.go:1:" in results[5].text
    assert "Main" in results[6].text


@pytest.mark.migration(
    "go-agent",
    "tools.Tool with Definition and Execute",
    "TextResult, ErrorResult",
    "tools.NewRegistry, Register",
    'validation error: missing required parameter "city"',
)
async def test_a_tool_is_a_function_that_returns_a_text_or_raises() -> None:
    @tool
    def weather(city: str) -> str:
        """Get the weather."""
        if city == "Nowhere":
            raise ToolError("No such city.")
        return f"Sunny in {city}"

    good, bad, missing = await _answered(
        [weather], call("weather", city="Oslo"), call("weather", city="Nowhere"), call("weather")
    )
    assert (good.status, good.text) == ("ok", "Sunny in Oslo")
    assert (bad.status, bad.text) == ("error", "No such city.")
    assert "missing required parameter 'city'" in missing.text


@pytest.mark.migration(
    "go-agent", "TruncateHead, TruncateTail, FormatSize", "DefaultMaxBytes, DefaultMaxLines"
)
def test_texts_are_cut_between_characters() -> None:
    assert (tw.DEFAULT_MAX_BYTES, tw.DEFAULT_MAX_LINES) == (51_200, 2000)
    assert truncate_head("a\nb\nc\n", max_lines=2).text == "a\nb"
    assert truncate_tail("a\nb\nc\n", max_lines=2).text.strip() == "b\nc"
    assert truncate_head("é" * 100, max_bytes=21).text.encode().decode()
    assert tw.format_size(51_200) == "50KB"


@pytest.mark.migration("go-agent", "tools.SimpleSchema, MustSchema")
async def test_a_schema_is_plain_json_schema() -> None:
    class Weather(BaseTool):
        """The page's tool."""

        def _get_declaration(self) -> ToolSpec:
            city = {"city": {"type": "string", "description": "The city name"}}
            schema = {"type": "object", "properties": city, "required": ["city"]}
            return ToolSpec(name="get_weather", description="Get it.", parameters=schema)

        async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:
            """Get it."""
            return f"Sunny in {args['city']}"

    [result] = await _answered([Weather(name="get_weather")], call("get_weather", city="Oslo"))
    assert result.text == "Sunny in Oslo"


# -- nfactorial -----------------------------------------------------------------------------


@pytest.mark.migration(
    "nfactorial",
    "function_tool, tool",
    "Agent(description=, instructions=, tools=)",
    "AgentContext and its subclasses",
    "ExecutionContext",
    "(display, data)",
)
async def test_the_samples_of_nfactorial_run_with_a_name_and_deps() -> None:
    @function_tool
    def search(query: str, agent_ctx: ExecutionContext) -> tuple[str, list[str]]:
        """Search the web."""
        assert agent_ctx.current_tool_call_id
        return f"1 hit for {query} of {agent_ctx.deps}", ["hit"]

    model = ScriptedModel(call("search", query="bees"), "ok")
    agent = Agent(
        name="r", description="Research", instructions="Search.", tools=[search], model=model
    )
    result = await agent.run("go", deps="Ada")
    [ended] = [event.result for event in result.events if isinstance(event, ToolEnded)]
    assert (ended.text, ended.data) == ("1 hit for bees of Ada", ["hit"])


@pytest.mark.migration("nfactorial", "is_enabled(agent_ctx)")
async def test_a_tool_that_is_not_enabled_is_neither_offered_nor_run() -> None:
    premium = FunctionTool(get_weather, is_enabled=lambda ctx: bool(ctx.state.get("premium")))
    [refused] = await _answered([premium], call("get_weather", city="Oslo"))
    assert refused.status == "error"
    [allowed] = await _answered(
        [premium], call("get_weather", city="Oslo"), state={"premium": True}
    )
    assert allowed.status == "ok"


@pytest.mark.migration("nfactorial", "raising, or returning an error text")
async def test_both_ways_to_fail_reach_the_model() -> None:
    def fails(how: str) -> str:
        """Fail."""
        if how == "raise":
            raise ValueError("broken")
        return "Error: broken"

    raised, told = await _answered([fails], call("fails", how="raise"), call("fails", how="say"))
    assert (raised.status, raised.text) == ("error", "ValueError: broken")
    assert told.text == "Error: broken"


@pytest.mark.migration("nfactorial", "@deferred_tool(timeout=)")
async def test_a_deferred_tool_waits_for_its_result() -> None:
    @deferred_tool(timeout=3600)
    def ask_manager(question: str) -> None:
        """Ask the manager."""

    model = ScriptedModel(call("ask_manager", question="May I?"), "ok")
    runner = Runner(Agent(name="a", model=model, tools=[ask_manager]))
    paused = await runner.run("go", session_id="s")
    await runner.answer("s", paused.pending[0].call_id, "You may.")
    result = await runner.resume("s")
    [message] = [one for one in result.history if one.kind == "tool"]
    assert message.results[0].text == "You may."
