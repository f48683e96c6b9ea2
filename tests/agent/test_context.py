"""What a tool sees and asks for through its context, and what agents pass on."""

from pathlib import Path
from typing import Any

import pytest
from tests.docs._snippets import results_of

from toolwright import (
    Agent,
    AgentTool,
    Context,
    EventActions,
    ExecutionContext,
    Runner,
    ToolContext,
    Toolset,
    function_tool,
    transfer_to_agent,
)
from toolwright.messages import ModelMessage, ModelReplied, TextPart
from toolwright.testing import ScriptedModel, call
from toolwright.tools import with_name

pytestmark = pytest.mark.anyio


@pytest.mark.row("000-07", "001-34", "001-35", "003-N10e")
async def test_a_call_knows_its_ids_and_its_owner() -> None:
    seen: dict[str, Any] = {}

    @function_tool
    def look(ctx: ExecutionContext) -> str:
        """Look."""
        seen.update(
            call=ctx.current_tool_call_id, event=ctx.function_call_event_id, owner=ctx.owner_id
        )
        return "seen"

    runner = Runner(Agent(name="a", model=ScriptedModel(call("look"), "ok"), tools=[look]))
    result = await runner.run("x", user_id="ada")
    assert seen["owner"] == "ada"
    [turn] = [e for e in result.events if isinstance(e, ModelReplied) and e.message.calls]
    assert (seen["event"], turn.message.calls[0].call_id) == (turn.id, seen["call"])


@pytest.mark.row("004-X5a")
def test_other_frameworks_names_are_the_same_things() -> None:
    assert Context is ToolContext is ExecutionContext
    assert isinstance(EventActions(), EventActions)


async def test_what_a_person_fills_in_is_the_result() -> None:
    def order(tool_context: ToolContext) -> None:
        """Order lunch."""
        schema = {"type": "object", "properties": {"dish": {"type": "string"}}}
        tool_context.request_input(hint="What would you like?", schema=schema)

    agent = Agent(name="a", model=ScriptedModel(call("order"), "Soup it is."), tools=[order])
    paused = await agent.run("Lunch, please")
    [pending] = paused.pending
    assert (pending.kind, pending.hint) == ("input", "What would you like?")
    result = await agent.resume(paused, {pending.call_id: {"dish": "soup"}})
    assert [r.text for r in results_of(result)] == ['{"dish":"soup"}']


@pytest.mark.row("004-M3")
async def test_single_events_can_be_remembered(tmp_path: Path) -> None:
    async def keep(tool_context: ToolContext) -> str:
        """Keep the beginning."""
        events = await tool_context.run.stored_events()
        await tool_context.add_events_to_memory(events[:1])
        found = await tool_context.search_memory("lighthouse")
        return str(len(found.memories))

    model = ScriptedModel(call("keep"), "Kept.")
    agent = Agent(name="a", model=model, tools=[keep])
    async with Runner(agent, memory=f"sqlite:///{tmp_path}/memory.db") as runner:
        result = await runner.run("I live in a lighthouse")
    assert [r.text for r in results_of(result)] == ["1"]


@pytest.mark.row("004-G3b")
async def test_grounding_of_an_inner_agent_is_passed_on_if_wanted() -> None:
    grounded = ModelMessage(parts=(TextPart("Bees dance."),), meta={"grounding": {"n": 1}})
    researcher = Agent(name="researcher", description="Finds out.", model=ScriptedModel(grounded))
    seen: list[Any] = []

    def look(tool_context: ToolContext) -> str:
        """Look."""
        seen.append(tool_context.state.get("temp:grounding_metadata"))
        return "looked"

    model = ScriptedModel(call("researcher", request="bees"), call("look"), "Done.")
    tools = [AgentTool(researcher, propagate_grounding_metadata=True), look]
    await Agent(name="writer", model=model, tools=tools).run("Bees")
    assert seen == [{"n": 1}]


async def test_the_transfer_tool_can_be_given_by_hand() -> None:
    other = Agent(name="other", model=ScriptedModel("Other here."))
    first = Agent(name="first", model=ScriptedModel(call("hand_over", agent_name="other")))
    handing = with_name(transfer_to_agent, "hand_over")
    parent = first.replace(tools=[handing], sub_agents=[other])
    assert (await parent.run("x")).agent == "other"


@pytest.mark.row("004-K11")
async def test_toolsets_are_closed_with_the_runner() -> None:
    closed: list[bool] = []

    class Connection(Toolset):
        async def get_tools(self, readonly_context: Any = None) -> list[Any]:
            return []

        async def close(self) -> None:
            closed.append(True)

    async with Runner(Agent(name="a", model=ScriptedModel("Hi."), tools=[Connection()])) as runner:
        await runner.run("x")
        assert closed == []
    assert closed == [True]
