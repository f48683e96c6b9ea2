"""Hooks have a full context, may be plain functions, and what they change is checked."""

import threading
from dataclasses import fields
from typing import Any
from unittest.mock import AsyncMock

import pytest

from toolwright import Agent, Hooks, Output, Runner, Tool, ToolContext, UsageError, tool
from toolwright.agent import Result
from toolwright.messages import (
    AuthConfig,
    AuthCredential,
    AuthCredentialTypes,
    CustomAuthScheme,
    ModelMessage,
    TextPart,
    ToolEnded,
)
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Decision

pytestmark = pytest.mark.anyio


@tool
def double(x: int, tool_context: ToolContext) -> str:
    """Double a number."""
    return f"{x * 2!r} {tool_context.state.get('who')}"


def texts(result: Result) -> list[str]:
    return [event.result.text for event in result.events if isinstance(event, ToolEnded)]


@pytest.mark.row("004-X5b")
async def test_hooks_around_agent_and_model_write_state_that_tools_see_and_the_store_keeps() -> (
    None
):
    async def before_agent(ctx: ToolContext) -> None:
        ctx.state["who"] = "ada"

    async def before_model(ctx: ToolContext, request: ModelRequest) -> None:
        ctx.state.change("turns", lambda n: n + 1, 0)

    async def after_agent(ctx: ToolContext, text: str) -> None:
        ctx.actions.state_delta["said"] = text
        ctx.state["temp:scratch"] = "not kept"

    hooks = Hooks(before_agent=before_agent, before_model=before_model, after_agent=after_agent)
    model = ScriptedModel(call("double", x=2), "Done.")
    runner = Runner(Agent(name="a", model=model, tools=[double], hooks=hooks))
    result = await runner.run("go", session_id="s")
    assert texts(result) == ["4 ada"]
    assert result.state == {"who": "ada", "turns": 2, "said": "Done."} == await runner.state("s")


@pytest.mark.row("004-M4")
async def test_the_session_goes_to_memory_when_the_agent_is_done() -> None:
    async def after_agent(ctx: ToolContext, text: str) -> None:
        await ctx.add_session_to_memory()

    agent = Agent(
        name="a", model=ScriptedModel("Bees dance."), hooks=Hooks(after_agent=after_agent)
    )
    runner = Runner(agent, memory="memory://")
    await runner.run("What do bees do?", user_id="ada", session_id="s")
    memory = runner.services.memory
    assert memory is not None
    scope = (await runner.sessions())[0].scope
    assert "dance" in str(await memory.search(scope, "bees"))


@pytest.mark.row("004-A7b")
async def test_credentials_are_saved_and_loaded_in_hooks() -> None:
    scheme = CustomAuthScheme.model_validate({"type": "apiKey", "in": "header", "name": "X-Key"})
    config = AuthConfig(auth_scheme=scheme, credential_key="shop")
    key = AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k-123456")
    loaded: list[AuthCredential | None] = []

    async def before_agent(ctx: ToolContext) -> None:
        await ctx.save_credential(config, key)

    async def after_model(ctx: ToolContext, message: ModelMessage) -> None:
        loaded.append(await ctx.load_credential(config))

    hooks = Hooks(before_agent=before_agent, after_model=after_model)
    agent = Agent(name="a", model=ScriptedModel("Done."), hooks=hooks)
    await Runner(agent, credentials="memory://").run("go")
    assert loaded == [key]


async def test_plain_functions_are_hooks_in_a_thread_where_they_may_wait() -> None:
    loop_thread, seen = threading.get_ident(), dict[str, bool]()

    def note(name: str) -> None:
        seen[name] = threading.get_ident() != loop_thread

    def before_agent(ctx: ToolContext) -> None:
        note("before_agent")
        ctx.wait(ctx.save_artifact("a", TextPart("x")))

    def after_agent(ctx: ToolContext, text: str) -> str:
        note("after_agent")
        return f"{text}!"

    def before_model(ctx: ToolContext, request: ModelRequest) -> None:
        note("before_model")

    def after_model(ctx: ToolContext, message: ModelMessage) -> None:
        note("after_model")

    def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> dict[str, Any]:
        note("before_tool")
        return {"x": args["x"] + 1}

    def after_tool(ctx: ToolContext, tool: Tool, args: Args, output: Output) -> Output:
        note("after_tool")
        return Output(text=f"<{output.text}>")

    hooks = Hooks(
        before_agent=before_agent,
        after_agent=after_agent,
        before_model=before_model,
        after_model=after_model,
        before_tool=before_tool,
        after_tool=after_tool,
    )
    model = ScriptedModel(call("double", x=2), "Done.")
    runner = Runner(
        Agent(name="a", model=model, tools=[double], hooks=hooks), artifacts="memory://"
    )
    result = await runner.run("go")
    assert result.text == "Done.!"
    assert texts(result) == ["<6 None>"]
    assert seen == dict.fromkeys(seen, True)
    assert len(seen) == 6


async def test_changed_arguments_are_validated_and_the_policy_sees_them() -> None:
    judged: list[Args] = []

    async def policy(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        judged.append(args)
        return Decision(verdict="allow")

    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> dict[str, Any]:
        return {"x": "7" if args["x"] == 1 else "not a number"}

    model = ScriptedModel(call("double", x=1), call("double", x=2), "Done.")
    hooks = Hooks(before_tool=before_tool)
    agent = Agent(name="a", model=model, tools=[double], hooks=hooks, policy=policy)
    first, second = texts(await agent.run("go"))
    assert first == "14 None"
    assert "'x'" in second
    assert "integer" in second
    assert judged == [{"x": 7}]


async def test_a_result_that_is_taken_for_arguments_is_refused_with_a_hint() -> None:
    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> dict[str, Any]:
        return {"result": 4}

    model = ScriptedModel(call("double", x=2), "Done.")
    agent = Agent(name="a", model=model, tools=[double], hooks=Hooks(before_tool=before_tool))
    [text] = texts(await agent.run("go"))
    assert "['result'], which are no parameters of 'double'" in text


async def test_a_hook_around_an_agent_cannot_pause_the_run() -> None:
    async def before_agent(ctx: ToolContext) -> None:
        ctx.request_confirmation(hint="Sure?")

    agent = Agent(name="a", model=ScriptedModel("."), hooks=Hooks(before_agent=before_agent))
    with pytest.raises(UsageError, match="before_agent asked for confirmation"):
        await agent.run("go")


async def test_a_context_that_is_kept_after_its_hook_writes_nothing() -> None:
    kept: list[ToolContext] = []

    async def before_agent(ctx: ToolContext) -> None:
        kept.append(ctx)

    agent = Agent(name="a", model=ScriptedModel("."), hooks=Hooks(before_agent=before_agent))
    await agent.run("go")
    with pytest.raises(UsageError, match="after its call had ended"):
        kept[0].state["late"] = True


async def test_what_a_hook_wrote_before_it_failed_is_kept() -> None:
    async def before_model(ctx: ToolContext, request: ModelRequest) -> None:
        ctx.state["attempted"] = True
        raise RuntimeError("no")

    agent = Agent(name="a", model=ScriptedModel("."), hooks=Hooks(before_model=before_model))
    runner = Runner(agent)
    with pytest.raises(RuntimeError):
        await runner.run("go", session_id="s")
    assert await runner.state("s") == {"attempted": True}


async def test_arguments_that_a_hook_changes_in_place_are_validated_too() -> None:
    ran: list[int] = []

    @tool
    def pay(cents: int) -> str:
        """Pay."""
        ran.append(cents)
        return "paid"

    def meddle(ctx: ToolContext, tool: Tool, args: Args) -> None:
        args["cents"] = "7" if args["cents"] == 1 else "lots"

    calls = [call("pay", cents=1), call("pay", cents=2)]
    agent = Agent(
        name="a", model=ScriptedModel(calls, "."), tools=[pay], hooks=Hooks(before_tool=meddle)
    )
    result = await agent.run("go")
    good, wrong = result.history[2].results  # type: ignore[union-attr]
    assert (ran, good.status, wrong.status) == ([7], "ok", "error")


async def test_a_hook_that_asks_stops_the_call_before_the_tool_runs() -> None:
    ran: list[int] = []

    @tool
    def pay(cents: int) -> str:
        """Pay."""
        ran.append(cents)
        return "paid"

    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> None:
        if ctx.tool_confirmation is None:
            ctx.request_confirmation(hint="Really?")

    model = ScriptedModel(call("pay", cents=5), ".")
    runner = Runner(Agent(name="a", model=model, tools=[pay], hooks=Hooks(before_tool=before_tool)))
    paused = await runner.run("go", session_id="s")
    assert (paused.pending[0].hint, ran) == ("Really?", [])
    await runner.answer("s", paused.pending[0].call_id, True)
    assert (await runner.resume("s")).status == "done"
    assert ran == [5]


@pytest.mark.parametrize("name", [field.name for field in fields(Hooks)])
def test_a_hook_that_cannot_be_called_is_refused_when_it_is_given(name: str) -> None:
    def none() -> None:
        pass

    def many(a: Any, b: Any, c: Any, d: Any, e: Any) -> None:
        pass

    for hook in (none, many):
        wrong: Any = {name: hook}
        with pytest.raises(UsageError, match=f"it is called as {name}\\(ctx"):
            Hooks(**wrong)
    Hooks(**{name: lambda *given: None})
    Hooks(**{name: AsyncMock()})
