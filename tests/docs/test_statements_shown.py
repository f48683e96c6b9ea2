"""Statements about names, arguments and defaults that a table of names cannot show."""

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import pytest

import toolwright as tw
from toolwright import (
    Agent,
    ApplicationIntegrationToolset,
    BashToolPolicy,
    ExecuteBashTool,
    FunctionTool,
    LlmAgent,
    OpenAPIToolset,
    ReadonlyContext,
    Runner,
    Skill,
    SkillToolset,
    StateBackend,
    SubAgentSpec,
    ToolContext,
    Workflow,
    create_deep_agent,
    create_local_execute_tool,
    file_tools,
    truncate_head,
)
from toolwright.backends.executors import Finished, LocalExecutor
from toolwright.messages import ToolEnded
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import tool

pytestmark = pytest.mark.anyio


def mine() -> str:
    """Do it."""
    return "mine"


def _defaults(thing: Any, names: str) -> dict[str, Any]:
    given = inspect.signature(thing).parameters
    return {name: given[name].default for name in names.split()}


@pytest.mark.row("000-02")
async def test_extra_tools_stand_beside_execution_and_sub_agents() -> None:
    model = ScriptedModel("Hello.")
    spec = SubAgentSpec(name="clerk", description="Stamps.")
    agent = create_deep_agent(model=model, tools=[mine], execution="local", subagents=[spec])
    await agent.run("hi")
    names = [spec.name for spec in model.requests[0].tools]
    assert {"mine", "execute", "task", "write_todos", "read_file"} <= set(names)


@pytest.mark.row("000-80", "000-81")
async def test_a_sub_agent_has_its_own_instruction_and_the_tools_of_its_parent() -> None:
    seen: list[ModelRequest] = []

    def helper(request: ModelRequest) -> str:
        seen.append(request)
        return "done"

    spec = SubAgentSpec(name="clerk", description="Stamps.", system_prompt="You are a clerk.")
    model = ScriptedModel(call("task", agent="clerk", description="Stamp."), helper, "Done.")
    settings: dict[str, Any] = {"tools": [mine], "execution": "local", "instructions": "You lead."}
    await create_deep_agent(model=model, subagents=[spec], **settings).run("go")
    [request] = seen
    assert "You are a clerk." in request.instructions
    assert "You lead." not in request.instructions
    names = {spec.name for spec in request.tools}
    assert {"mine", "execute", "read_file", "write_file", "grep"} <= names
    assert "task" not in names


@pytest.mark.row("000-10")
async def test_a_function_that_gives_the_backend_is_asked_at_each_call() -> None:
    asked: list[str] = []

    def factory(ctx: ToolContext) -> StateBackend:
        asked.append(ctx.function_call_id)
        return StateBackend(ctx.state)

    model = ScriptedModel(
        call("write_file", file_path="/a", content="x"), call("ls", path="/"), "."
    )
    result = await Agent(name="a", model=model, tools=file_tools(factory)).run("x")
    assert len(set(asked)) == 2
    assert list(result.state) == ["files"]


class Recording(LocalExecutor):
    """Notes how long a command may take."""

    timeouts: list[Any] = []  # noqa: RUF012 - shared on purpose

    async def run(self, command: Any, **settings: Any) -> Finished:
        """Run it."""
        self.timeouts.append(settings["limits"].timeout)
        return await super().run(command, **settings)


@pytest.mark.row("000-64")
async def test_a_command_has_120_seconds(tmp_path: Path) -> None:
    answer = await create_local_execute_tool(Recording(str(tmp_path)))("echo hi")
    assert (answer["status"], Recording.timeouts) == ("success", [120.0])


@pytest.mark.row("000-87")
def test_a_sub_agent_is_described_with_seven_keys() -> None:
    keys = "name description system_prompt tools model skills interrupt_on"
    assert list(SubAgentSpec.__annotations__) == keys.split()


@pytest.mark.row("001-13", "001-14", "001-17")
async def test_tool_agent_and_runner_are_made_with_the_arguments_of_the_page() -> None:
    model = ScriptedModel(call("mine"), "ok")
    agent = Agent(model=model, name="a", tools=[FunctionTool(func=mine)])
    result = await Runner(agent=agent, app_name="app").run("hi", session_id="s")
    [ended] = [e.result for e in result.events if isinstance(e, ToolEnded)]
    assert (ended.text, result.text) == ("mine", "ok")


@pytest.mark.row("002-57")
def test_output_is_cut_at_50_kb_or_2000_lines() -> None:
    assert (tw.DEFAULT_MAX_BYTES, tw.DEFAULT_MAX_LINES) == (50 * 1024, 2000)
    assert len(truncate_head("x\n" * 3000).text.splitlines()) == 2000
    assert len(truncate_head("x" * 99 + "\n" * 1 + "y" * 60_000).text.encode()) <= 50 * 1024


@pytest.mark.row("003-N1")
async def test_the_names_of_nfactorial_are_here_and_work() -> None:
    @tw.function_tool
    def one(ctx: tw.ExecutionContext) -> str:
        """One."""
        return "1"

    @tool
    def two() -> str:
        """Two."""
        return "2"

    @tw.deferred_tool(timeout=60)
    def three() -> None:
        """Three."""

    model = ScriptedModel([call("one"), call("two"), call("three")])
    result = await tw.Agent(name="a", model=model, tools=[one, two, three]).run("x")
    assert [e.result.text for e in result.events if isinstance(e, ToolEnded)][:2] == ["1", "2"]
    assert [pending.name for pending in result.pending] == ["three"]


@pytest.mark.row("003-N5b")
async def test_the_second_value_of_a_tuple_is_in_the_event_that_the_call_has_ended() -> None:
    def fetch_user() -> tuple[str, dict[str, str]]:
        """Fetch a user."""
        return "User: Ada", {"name": "Ada"}

    model = ScriptedModel(call("fetch_user"), "ok")
    result = await Agent(name="a", model=model, tools=[fetch_user]).run("x")
    [ended] = [e.result for e in result.events if isinstance(e, ToolEnded)]
    assert (ended.text, ended.data) == ("User: Ada", {"name": "Ada"})


@pytest.mark.row("004-B1")
def test_a_bash_policy_is_frozen_and_has_the_defaults_of_the_page() -> None:
    policy = BashToolPolicy()
    limits = ["timeout_seconds", "max_memory_bytes", "max_file_size_bytes", "max_child_processes"]
    assert (policy.allowed_command_prefixes, policy.blocked_operators) == (("*",), ())
    assert [getattr(policy, name) for name in limits] == [30, None, None, None]
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.timeout_seconds = 60  # type: ignore[misc]


@pytest.mark.row("004-B2")
async def test_a_bash_tool_is_made_in_three_ways_and_always_asks(tmp_path: Path) -> None:
    policy = BashToolPolicy(allowed_command_prefixes=("git", "echo"), timeout_seconds=60)
    made = (
        ExecuteBashTool(),
        ExecuteBashTool(workspace=tmp_path),
        ExecuteBashTool(workspace=tmp_path, policy=policy),
    )
    for bash in made:
        model = ScriptedModel(call("execute_bash", command="echo hi"), "ok")
        result = await Agent(name="a", model=model, tools=[bash]).run("x")
        assert [pending.name for pending in result.pending] == ["execute_bash"]


@pytest.mark.row("004-O4")
def test_an_openapi_toolset_has_eleven_arguments_with_these_defaults() -> None:
    nothing = "spec_dict spec_str auth_scheme auth_credential credential_key tool_filter "
    nothing += "tool_name_prefix ssl_verify header_provider"
    assert set(_defaults(OpenAPIToolset, nothing).values()) == {None}
    others = _defaults(OpenAPIToolset, "spec_str_type preserve_property_names")
    assert others == {"spec_str_type": "json", "preserve_property_names": False}


@pytest.mark.row("004-CI1")
def test_the_samples_of_application_integration_are_made_as_they_stand() -> None:
    ApplicationIntegrationToolset(
        project="my-gcp-project",
        location="us-central1",
        integration="order-processor",
        triggers=["api_trigger/process_order"],
        tool_name_prefix="order_",
        tool_instructions="Use these tools to manage order processing workflows.",
    )
    ApplicationIntegrationToolset(
        project="my-gcp-project",
        location="us-central1",
        connection="salesforce-prod",
        entity_operations={
            "Account": ["LIST", "GET", "CREATE"],
            "Opportunity": ["LIST", "GET"],
        },
        actions=["QueryRecords"],
        tool_name_prefix="sf_",
    )
    nothing = "integration triggers connection entity_operations actions service_account_json "
    nothing += "auth_scheme auth_credential tool_filter"
    assert set(_defaults(ApplicationIntegrationToolset, nothing).values()) == {None}
    texts = _defaults(ApplicationIntegrationToolset, "tool_name_prefix tool_instructions")
    assert set(texts.values()) == {""}
    required = _defaults(ApplicationIntegrationToolset, "project location")
    assert set(required.values()) == {inspect.Parameter.empty}


@pytest.mark.row("004-X4", "004-X4b")
async def test_instructions_see_the_context_and_what_one_run_brings_along() -> None:
    seen: list[Any] = []

    async def instructions(ctx: ReadonlyContext) -> str:
        message = ctx.user_content.text if ctx.user_content else ""
        seen.extend([ctx.agent_name, message, ctx.user_id, ctx.session.id, ctx.deps])
        assert ctx.invocation_id
        assert not hasattr(ctx, "run_config")
        with pytest.raises(TypeError):
            ctx.state["x"] = 1  # type: ignore[index]
        return f"Answer in {ctx.state.get('user:language', 'en')}."

    model = ScriptedModel("ok")
    agent = LlmAgent(name="localised", model=model, instructions=instructions)
    state = {"user:language": "de"}
    await Runner(agent).run("hi", session_id="s", user_id="ada", state=state, deps="this run's")
    assert seen == ["localised", "hi", "ada", "s", "this run's"]
    assert model.requests[0].instructions == "Answer in de."


@pytest.mark.row("004-W1c")
async def test_a_node_knows_its_path_and_its_run() -> None:
    seen: list[tuple[str, str]] = []

    def look(text: str, tool_context: ToolContext) -> str:
        """Look where it is."""
        seen.append((tool_context.node_path, tool_context.run_id))
        return text

    def again(text: str, tool_context: ToolContext) -> str:
        """Look again."""
        return look(text, tool_context)

    edges = [("start", "look"), ("look", "again")]
    flow = Workflow(name="wf", nodes={"look": look, "again": again}, edges=edges)
    result = await flow.run("go")
    assert seen == [("look.1", result.run_id), ("again.1", result.run_id)]


@pytest.mark.row("004-S4")
def test_a_skill_toolset_has_these_defaults_and_reads_skills_from_directories(
    tmp_path: Path,
) -> None:
    found = _defaults(SkillToolset, "skills registry code_executor script_timeout additional_tools")
    assert list(found.values()) == [(), None, None, 300, None]
    folder = tmp_path / "python-helper"
    folder.mkdir()
    text = "---\nname: python-helper\ndescription: Helps with Python.\n---\n# Python Helper\n"
    (folder / "SKILL.md").write_text(text)
    skill = Skill.from_directory(folder)
    assert (skill.name, skill.frontmatter.description) == ("python-helper", "Helps with Python.")
    assert "# Python Helper" in skill.instructions
