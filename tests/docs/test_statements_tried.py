"""Statements of the five documents that no other test is about, tried as literally as possible."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    LlmAgent,
    OAuth2Auth,
    OpenIdConnectWithConfig,
    ReadonlyContext,
    SubAgentSpec,
    ToolContext,
    create_deep_agent,
    create_deep_agent_async,
    deferred_tool,
    token_to_scheme_credential,
)
from toolwright.messages import ToolEnded
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio
_SERVER = """
import os, anyio
from toolwright.serve.mcp import McpServer
from toolwright.tools import tool

@tool
def execute_bash(command: str) -> str:
    "Run it."
    return f"{command} in {os.environ['HEIMDALL_WORKSPACE']}"

anyio.run(McpServer([execute_bash]).run_stdio)
"""


def _names(request: ModelRequest) -> str:
    return " ".join(spec.name for spec in request.tools)


@pytest.mark.row("000-73", "000-74")
async def test_an_execution_server_is_started_with_its_arguments_and_environment(
    tmp_path: Path,
) -> None:
    script = tmp_path / "server.py"
    script.write_text(_SERVER)
    server = {
        "command": sys.executable,
        "args": [str(script)],
        "env": {"HEIMDALL_WORKSPACE": "/workspace"},
    }
    model = ScriptedModel(call("execute_bash", command="ls"), "ok")
    agent, cleanup = await create_deep_agent_async(model=model, execution=server)
    result = await agent.run("go")
    await cleanup()
    [ended] = [e.result for e in result.events if isinstance(e, ToolEnded)]
    assert ended.text == "ls in /workspace"


@pytest.mark.row("000-78")
async def test_a_general_purpose_agent_of_ones_own_takes_the_place_of_the_given_one() -> None:
    spec = SubAgentSpec(name="general_purpose", description="Mine.", system_prompt="Be brief.")

    def inside(request: ModelRequest) -> str:
        return request.instructions

    model = ScriptedModel(call("task", agent="general_purpose", description="d"), inside, "ok")
    result = await create_deep_agent(model=model, subagents=[spec]).run("go")
    [ended] = [e.result for e in result.events if isinstance(e, ToolEnded)]
    assert "Be brief." in ended.text


@pytest.mark.row("000-82")
async def test_a_sub_agent_may_have_tools_and_a_model_of_its_own() -> None:
    def stamp() -> str:
        """Stamp it."""
        return "stamped"

    own = ScriptedModel(_names)
    spec = SubAgentSpec(name="clerk", description="Stamps.", tools=[stamp], model=own)
    model = ScriptedModel(call("task", agent="clerk", description="d"), "ok")
    result = await create_deep_agent(model=model, subagents=[spec]).run("go")
    [ended] = [e.result for e in result.events if isinstance(e, ToolEnded)]
    assert ended.text == "stamp"


@pytest.mark.row("000-91", "000-92")
async def test_a_finished_agent_is_a_sub_agent_even_without_a_description() -> None:
    custom = LlmAgent(name="custom", model=ScriptedModel("mine"), instructions="Be special.")
    model = ScriptedModel(call("task", agent="custom", description="d"), "ok")
    result = await create_deep_agent(model=model, subagents=[custom]).run("go")
    [ended] = [e.result for e in result.events if isinstance(e, ToolEnded)]
    assert ended.text == "mine"


@pytest.mark.row("003-N13")
async def test_a_deferred_function_that_fails_is_an_error_and_waits_for_nobody() -> None:
    @deferred_tool(timeout=60)
    def ask_bank() -> None:
        """Ask the bank."""
        raise ValueError("no line")

    result = await Agent(
        name="a", model=ScriptedModel(call("ask_bank"), "ok"), tools=[ask_bank]
    ).run("x")
    [ended] = [e.result for e in result.events if isinstance(e, ToolEnded)]
    assert (result.status, result.pending) == ("done", ())
    assert (ended.status, ended.text) == ("error", "ValueError: no line")


@pytest.mark.row("003-N14")
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_deferred_function_returns_at_once_and_its_call_waits(kind: str) -> None:
    @deferred_tool(timeout=60)
    def plain() -> None:
        """Set it off."""

    @deferred_tool(timeout=60, name="plain")
    async def awaited() -> None:
        """Set it off."""

    tool = plain if kind == "plain" else awaited
    result = await Agent(name="a", model=ScriptedModel(call("plain"), "ok"), tools=[tool]).run("x")
    assert (result.status, [pending.kind for pending in result.pending]) == ("paused", ["result"])


@pytest.mark.row("004-G2")
async def test_an_agent_whose_words_are_final_is_not_summarised() -> None:
    inner = Agent(name="expert", model=ScriptedModel("polished words"))
    model = ScriptedModel(call("expert", request="x"))
    outer = Agent(name="a", model=model, tools=[AgentTool(agent=inner, skip_summarization=True)])
    result = await outer.run("x")
    assert (result.text, len(model.requests)) == ("polished words", 1)


@pytest.mark.row("004-X4c")
async def test_the_state_of_a_read_only_context_cannot_be_written() -> None:
    seen: list[Mapping[str, Any]] = []

    def instructions(ctx: ReadonlyContext) -> str:
        seen.append(ctx.state)
        return "x"

    await Agent(name="a", model=ScriptedModel("ok"), instructions=instructions).run("x")
    with pytest.raises(TypeError):
        seen[0]["key"] = 1  # type: ignore[index]


@pytest.mark.row("004-O5b")
def test_a_token_that_was_obtained_already_is_a_bearer_credential() -> None:
    scheme, credential = token_to_scheme_credential(
        token_type="oauth2Token",
        location="header",
        name="Authorization",
        credential_value="ya29.token",
    )
    assert credential is not None
    assert credential.http is not None
    assert credential.http.credentials.token == "ya29.token"
    assert str(scheme.type) in ("http", "SecuritySchemeType.http", "oauth2")


@pytest.mark.row("004-P:lazy")
def test_nothing_is_loaded_before_it_is_used() -> None:
    code = "import sys, toolwright; print([m for m in sys.modules if m.startswith('toolwright.s')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.row("004-A0b")
async def test_what_was_asked_for_is_in_the_actions() -> None:
    asked: list[Mapping[str, Any]] = []
    config = AuthConfig(
        auth_scheme=OpenIdConnectWithConfig(
            authorization_endpoint="https://127.0.0.1/auth",
            token_endpoint="https://127.0.0.1/token",
            scopes=["calendar"],
        ),
        raw_auth_credential=AuthCredential(
            auth_type=AuthCredentialTypes.OPEN_ID_CONNECT,
            oauth2=OAuth2Auth(client_id="id", client_secret="secret"),
        ),
        credential_key="google",
    )

    async def calendar(tool_context: ToolContext) -> str:
        """Read the calendar."""
        tool_context.request_credential(config)
        asked.append(dict(tool_context.actions.requested_auth_configs))
        return ""

    await Agent(name="a", model=ScriptedModel(call("calendar"), "ok"), tools=[calendar]).run("x")
    assert list(asked[0].values()) == ["google"]
