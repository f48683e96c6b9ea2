"""Agents: instructions, transfer, agents as tools, sessions, replay, tracing."""

import anyio
import pytest
from pydantic import BaseModel

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    FunctionTool,
    Hooks,
    Reject,
    Runner,
    ToolContext,
    UsageError,
    tool,
)
from toolwright.messages import ModelReplied, ToolMessage, Transferred
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, ReadonlyContext, Tool

pytestmark = pytest.mark.anyio


async def test_instructions_are_filled_from_the_state() -> None:
    model = ScriptedModel(".")
    text = "Speak {user:lang}. {{literal}} {missing?}End. {not a placeholder}"
    await Agent(name="t", model=model, instructions=text).run("hi", state={"user:lang": "Dutch"})
    assert model.requests[0].instructions == "Speak Dutch. {literal} End. {not a placeholder}"


async def test_a_missing_placeholder_says_what_to_do() -> None:
    agent = Agent(name="t", model=ScriptedModel("."), instructions="Speak {lang}.")
    with pytest.raises(UsageError, match=r"use \{lang\}.*write \{lang\?\} to make it optional"):
        await agent.run("hi")


@pytest.mark.row("004-X4d")
async def test_instructions_may_be_a_function_sync_or_async() -> None:
    async def later(ctx: ReadonlyContext) -> str:
        return f"{ctx.agent_name} for {ctx.deps} {{kept}}"

    for instructions in (later, lambda ctx: f"{ctx.agent_name} for {ctx.deps} {{kept}}"):
        model = ScriptedModel(".")
        await Agent(name="t", model=model, instructions=instructions).run("hi", deps="Ada")
        assert model.requests[0].instructions == "t for Ada {kept}"


def support(*turns: object) -> tuple[Agent, Agent]:
    helper = Agent(
        name="support_agent",
        description="Urgent cases.",
        model=ScriptedModel("On it.", "Still here."),
    )

    @tool
    def check_and_transfer(query: str, tool_context: ToolContext) -> str:
        """Hand urgent cases over."""
        tool_context.actions.transfer_to_agent = query
        return "Transferring…"

    model = ScriptedModel(*turns)  # type: ignore[arg-type]
    return Agent(name="main", model=model, tools=[check_and_transfer], sub_agents=[helper]), helper


@pytest.mark.row("004-T1")
async def test_a_transfer_hands_the_conversation_over_for_this_and_later_messages() -> None:
    agent, _ = support(call("transfer_to_agent", agent_name="support_agent"))
    runner = Runner(agent)
    result = await runner.run("urgent!", session_id="s")
    assert (result.text, result.agent) == ("On it.", "support_agent")
    assert any(isinstance(e, Transferred) for e in result.events)
    again = await Runner(agent, store=runner.store).run("still there?", session_id="s")
    assert again.text == "Still here."


@pytest.mark.row("001-30", "004-X2b")
async def test_a_tool_can_transfer_and_an_unknown_agent_is_an_error_with_the_names() -> None:
    agent, _ = support(
        call("check_and_transfer", query="nobody"),
        call("check_and_transfer", query="support_agent"),
    )
    result = await agent.run("urgent!")
    message = result.history[2]
    assert isinstance(message, ToolMessage)
    assert (
        "There is no agent 'nobody' to transfer to; agents: support_agent."
        in message.results[0].text
    )
    assert result.text == "On it."


@pytest.mark.row("001-03", "004-G1")
async def test_an_agent_is_a_tool_whose_parameters_are_its_input_schema() -> None:
    class ResearchIn(BaseModel):
        topic: str

    inner = Agent(
        name="researcher",
        description="Researches.",
        model=ScriptedModel("Facts."),
        input_schema=ResearchIn,
    )
    model = ScriptedModel(call("researcher", topic="bees"), "A brief.")
    result = await Agent(name="writer", model=model, tools=[AgentTool(inner)]).run("Write.")
    assert model.requests[0].tools[0].parameters["required"] == ["topic"]
    message = result.history[2]
    assert isinstance(message, ToolMessage)
    assert message.results[0].text == "Facts."
    paths = [e.path for e in result.events if isinstance(e, ModelReplied)]
    assert paths[0] == ""
    assert paths[1] == message.results[0].call_id
    assert paths[2] == ""
    assert result.usage.requests == 3


@pytest.mark.row("000-06", "001-28", "001-29", "004-X2a")
async def test_skip_summarization_ends_the_run_with_the_tools_own_words() -> None:
    inner = Agent(name="poet", description="Writes.", model=ScriptedModel("Roses."))
    outer = Agent(
        name="o",
        model=ScriptedModel(call("poet", request="go")),
        tools=[AgentTool(inner, skip_summarization=True)],
    )
    assert (await outer.run("A poem.")).text == "Roses."


def wipes(ran: list[str]) -> FunctionTool:
    def wipe(scope: str) -> str:
        """Wipe."""
        ran.append(scope)
        return f"wiped {scope}"

    return FunctionTool(wipe, require_confirmation=lambda scope: scope != "dry-run")


@pytest.mark.row("004-C1b", "004-C1c")
async def test_a_confirmation_pauses_and_an_approval_runs_the_tool_once() -> None:
    ran: list[str] = []
    model = ScriptedModel([call("wipe", scope="dry-run"), call("wipe", scope="all")], "Done.")
    runner = Runner(Agent(name="t", model=model, tools=[wipes(ran)]))
    result = await runner.run("go", session_id="s")
    assert (result.status, ran) == ("paused", ["dry-run"])
    [pending] = result.pending
    assert (pending.kind, pending.arguments) == ("confirmation", {"scope": "all"})
    assert (await runner.resume("s")).status == "paused"
    assert len(model.requests) == 1
    assert await runner.answer("s", pending.call_id, Approve()) == "accepted"
    assert await runner.answer("s", pending.call_id, Approve()) == "duplicate"
    assert (await runner.resume("s")).text == "Done."
    assert (await runner.resume("s")).text == "Done."
    assert ran == ["dry-run", "all"]


async def test_a_rejection_is_told_to_the_model_and_the_tool_never_runs() -> None:
    ran: list[str] = []
    agent = Agent(
        name="t", model=ScriptedModel(call("wipe", scope="all"), "OK."), tools=[wipes(ran)]
    )
    paused = await agent.run("go")
    result = await agent.resume(paused, {paused.pending[0].call_id: Reject(reason="not today")})
    message = result.history[2]
    assert isinstance(message, ToolMessage)
    assert message.results[0].status == "denied"
    assert "not today" in message.results[0].text
    assert ran == []


async def test_an_answer_of_the_wrong_kind_is_refused_and_nothing_is_lost() -> None:
    runner = Runner(
        Agent(name="t", model=ScriptedModel(call("wipe", scope="all")), tools=[wipes([])])
    )
    result = await runner.run("go", session_id="s")
    with pytest.raises(UsageError, match="waits for a confirmation"):
        await runner.answer("s", result.pending[0].call_id, "sure")
    assert await runner.pending("s") == list(result.pending)


async def test_a_new_message_gives_up_the_calls_that_wait() -> None:
    ran: list[str] = []
    runner = Runner(
        Agent(
            name="t",
            model=ScriptedModel(call("wipe", scope="all"), "Never mind."),
            tools=[wipes(ran)],
        )
    )
    paused = await runner.run("go", session_id="s")
    result = await runner.run("forget it", session_id="s")
    assert (result.status, ran) == ("done", [])
    assert await runner.pending("s") == []
    assert await runner.answer("s", paused.pending[0].call_id, Approve()) in ("finished", "unknown")
    told = result.history[2].results[0].text  # type: ignore[union-attr]
    assert told == "The user sent a new message instead of answering; it was not run."


async def test_a_steering_message_reaches_a_run_that_is_going() -> None:
    inside, steered = anyio.Event(), anyio.Event()

    @tool
    async def work() -> str:
        """Work."""
        inside.set()
        await steered.wait()
        return "worked"

    model = ScriptedModel(call("work"), "Done.")
    runner = Runner(Agent(name="t", model=model, tools=[work]))
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: runner.run("go", session_id="s"))
            await inside.wait()
            assert await runner.steer("s", "Use metric units.")
            steered.set()
    assert model.requests[1].history[-1].text == "Use metric units."  # type: ignore[union-attr]


async def test_sessions_can_be_listed_read_branched_and_deleted() -> None:
    runner = Runner(Agent(name="t", model=ScriptedModel("one", "two", "three")))
    await runner.run("first", user_id="ada", session_id="s")
    first_end = (await runner.events("s"))[-1].seq
    await runner.run("second", user_id="ada", session_id="s")
    branch = await runner.branch("s", upto=first_end)
    assert [m.text for m in await runner.history(branch.scope.session_id)] == ["first", "one"]
    assert [m.text for m in await runner.history("s")] == ["first", "one", "second", "two"]
    assert {row.scope.session_id for row in await runner.sessions("ada")} == {
        "s",
        branch.scope.session_id,
    }
    await runner.delete("s")
    with pytest.raises(UsageError, match="no session 's'"):
        await runner.history("s")


async def test_two_runs_in_one_session_at_once_are_refused() -> None:
    inside, go = anyio.Event(), anyio.Event()

    @tool
    async def work() -> str:
        """Work."""
        inside.set()
        await go.wait()
        return ""

    runner = Runner(Agent(name="t", model=ScriptedModel(call("work"), "."), tools=[work]))
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: runner.run("go", session_id="s"))
            await inside.wait()
            with pytest.raises(UsageError, match="has a run going"):
                await runner.run("me too", session_id="s")
            go.set()


async def test_run_sync_inside_async_code_says_what_to_use() -> None:
    with pytest.raises(UsageError, match=r"await agent.run"):
        Agent(name="t", model=ScriptedModel(".")).run_sync("hi")


@pytest.mark.row("004-G3")
@pytest.mark.parametrize(("include", "seen"), [(True, ["inner", "add"]), (False, ["inner"])])
async def test_the_runners_hooks_see_inner_agents_unless_they_are_left_out(
    include: bool, seen: list[str]
) -> None:
    called: list[str] = []

    async def before_tool(ctx: ToolContext, tool: Tool, args: Args) -> None:
        called.append(tool.name)

    @tool
    def add(a: int) -> int:
        """Add one."""
        return a + 1

    inner = Agent(
        name="inner", description="Adds.", model=ScriptedModel(call("add", a=1), "2"), tools=[add]
    )
    outer = Agent(
        name="outer",
        model=ScriptedModel(call("inner", request="go"), "Done."),
        tools=[AgentTool(inner, include_plugins=include)],
    )
    await Runner(outer, hooks=Hooks(before_tool=before_tool)).run("go")
    assert called == seen
