"""Instructions that change from turn to turn: the first ones stay, and changes are told once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from toolwright import Agent, Compaction, Runner, ToolContext, tool
from toolwright.messages import ModelMessage, TurnStarted, Usage, UserMessage
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@tool
def set_unit(unit: str, tool_context: ToolContext) -> str:
    """Set the unit."""
    tool_context.state["unit"] = unit
    return "set"


def texts(request: Any) -> list[str]:
    return [message.text for message in request.history if isinstance(message, UserMessage)]


def begins(result: Any) -> list[Any]:
    turns = [event for event in result.events if isinstance(event, TurnStarted)]
    return [turn.instructions for turn in turns]


def agent_with(model: ScriptedModel, instructions: Any, **more: Any) -> Agent:
    return Agent(name="a", model=model, instructions=instructions, tools=[set_unit], **more)


async def test_what_has_changed_is_told_at_the_end_and_once() -> None:
    model = ScriptedModel(call("set_unit", unit="K"), call("set_unit", unit="K"), "Done.")
    agent = agent_with(model, "Be brief.\nUse {unit?}.\nBe kind.")
    result = await agent.run("Hi")

    assert {request.instructions for request in model.requests} == {"Be brief.\nUse .\nBe kind."}
    told = "[Your instructions have changed. Now in them:]\nUse K.\n[No longer in them:]\nUse ."
    assert [texts(request) for request in model.requests] == [["Hi"], ["Hi", told], ["Hi", told]]
    assert begins(result) == [("Be brief.\nUse .\nBe kind.",), None, None]


async def test_lines_in_another_order_are_told_all() -> None:
    model = ScriptedModel(call("set_unit", unit="K"), "Done.")
    agent = agent_with(model, lambda ctx: "one\ntwo" if "unit" in ctx.state else "two\none")
    await agent.run("Hi")
    told = "[Your instructions have changed. Now in them:]\none\ntwo"
    assert texts(model.requests[1]) == ["Hi", told]


async def test_instructions_that_cannot_change_are_not_recorded() -> None:
    result = await agent_with(ScriptedModel("Hello."), "Be brief.").run("Hi")
    assert begins(result) == [None]


async def test_another_process_goes_on_with_those_of_the_first(tmp_path: Any) -> None:
    model = ScriptedModel("One.", "Two.", "Three.", "Four.")

    async def run(instructions: str) -> Any:
        agent = agent_with(model, lambda ctx: instructions)
        async with Runner(agent, store=f"sqlite:///{tmp_path}/s.db") as runner:
            return await runner.run("Hi", session_id="s")

    for instructions in ("It is one.", "It is two.", "It is two.", "It is one."):
        await run(instructions)

    assert [request.instructions for request in model.requests] == ["It is one."] * 4
    last = texts(model.requests[-1])
    assert last[1:3] == [
        "Hi",
        "[Your instructions have changed. Now in them:]\nIt is two.\n"
        "[No longer in them:]\nIt is one.",
    ]
    # What the model was told last is not known to a new process, so that is told again.
    again = "[Your instructions are again as they were when this conversation began.]"
    assert last[-1] == again


async def test_long_instructions_that_become_others_are_a_new_beginning() -> None:
    model = ScriptedModel(call("set_unit", unit="K"), "Done.")
    plan, work = "Plan all of it first. " * 200, "Work on what was planned. " * 200
    agent = agent_with(model, lambda ctx: work if "unit" in ctx.state else plan)
    result = await agent.run("Hi")

    assert [request.instructions for request in model.requests] == [plan, work]
    assert texts(model.requests[1]) == ["Hi"]
    assert begins(result) == [(plan,), (work,)]


class Adds:
    """Puts a file, as it is now, after the instructions."""

    def __init__(self, read: Callable[[], str]) -> None:
        self.read = read

    async def shape_request(self, ctx: Any, request: Any) -> Any:
        text = self.read()
        if not text:
            return request
        added = f"\n\n<file>\n{text}\n</file>"
        return replace(request, instructions=request.instructions + added)


async def test_what_a_tool_adds_is_told_whole_with_what_it_says_of_itself() -> None:
    lines = iter(["one\n\ntwo", "one\n\nthree", ""])
    model = ScriptedModel(*[call("set_unit", unit="K")] * 2, "Done.")
    agent = Agent(
        name="a", model=model, instructions="Be brief.", tools=[set_unit, Adds(lambda: next(lines))]
    )
    await agent.run("Hi")

    first = "Be brief.\n\n<file>\none\n\ntwo\n</file>"
    assert {request.instructions for request in model.requests} == {first}
    assert texts(model.requests[-1])[1:] == [
        "[What was said before this conversation is now:]\n<file>\none\n\nthree\n</file>",
        "[This, which was said before this conversation, no longer holds:]\n"
        "<file>\none\n\nthree\n</file>",
    ]


async def test_compaction_begins_with_the_instructions_of_the_day() -> None:
    turn = ModelMessage(parts=(call("set_unit", unit="K"),), usage=Usage(input_tokens=9))
    model = ScriptedModel(turn, turn, "A summary.", "Done.")
    agent = agent_with(model, "Use {unit?}.", compaction=Compaction(max_tokens=1, keep_messages=1))
    await agent.run("Hi")
    assert model.requests[-1].instructions == "Use K."


async def test_another_agent_has_its_own_beginning() -> None:
    model = ScriptedModel(call("transfer_to_agent", agent_name="b"), "Done.")
    helper = Agent(name="b", instructions="You are b, {unit?}.")
    agent = Agent(name="a", model=model, instructions="You are a, {unit?}.", sub_agents=[helper])
    await agent.run("Hi")
    assert model.requests[-1].instructions.startswith("You are b, .")
    assert texts(model.requests[-1]) == ["Hi"]


async def test_a_change_is_not_what_the_person_said() -> None:
    model = ScriptedModel(call("set_unit", unit="K"), "Done.")
    await agent_with(model, "Use {unit?}.").run("Hi")
    said = [m for m in model.requests[-1].history if isinstance(m, UserMessage)]
    assert [message.own_text for message in said] == ["Hi", ""]
