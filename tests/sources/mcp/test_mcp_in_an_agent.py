"""MCP servers and plugins as part of an agent's run."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests._npm import npm_program
from tests.sources.mcp.conftest import EVERYTHING, stdio

from toolwright.agent import Agent, Runner
from toolwright.messages import Approve, Reject, ToolProgress
from toolwright.sources import McpToolset, PluginToolset
from toolwright.testing import ScriptedModel, call

pytestmark = [pytest.mark.anyio, pytest.mark.npm]
NOTES = Path(__file__).parents[3] / "examples" / "plugins" / "notes.py"


async def test_what_a_server_asks_waits_for_an_answer_and_the_call_goes_on_with_it() -> None:
    server = McpToolset(stdio([*npm_program(*EVERYTHING), "stdio"]))
    model = ScriptedModel(call("trigger-elicitation-request"), "Thank you.")
    async with Runner(Agent(name="a", model=model, tools=[server]), app_name="t") as runner:
        paused = await runner.run("go", session_id="s1")
        (pending,) = paused.pending
        await runner.answer("s1", pending.call_id, {"name": "Ada Lovelace"})
        done = await runner.resume("s1")
    assert (paused.status, done.status, done.text) == ("paused", "done", "Thank you.")
    assert pending.schema is not None
    assert "Ada Lovelace" in model.requests[1].history[-1].results[0].text  # type: ignore[union-attr]


async def test_a_question_is_answered_after_a_restart(tmp_path: Path) -> None:
    def runner(*turns: Any) -> Runner:
        server = McpToolset(stdio([*npm_program(*EVERYTHING), "stdio"]))
        agent = Agent(name="a", model=ScriptedModel(*turns), tools=[server])
        return Runner(agent, app_name="t", store=f"sqlite:///{tmp_path / 'runs.db'}")

    async with runner(call("trigger-elicitation-request")) as before:
        paused = await before.run("go", session_id="s1")
    async with runner("Thank you.") as after:
        answer = {"name": "Ada Lovelace"}
        await after.answer("s1", paused.pending[0].call_id, answer)
        done = await after.resume("s1")
    assert done.text == "Thank you."
    assert "Ada Lovelace" in done.history[-2].results[0].text  # type: ignore[union-attr]


async def test_a_call_can_be_confirmed_and_then_ask_a_question_of_its_own() -> None:
    server = McpToolset(stdio([*npm_program(*EVERYTHING), "stdio"]), require_confirmation=True)
    model = ScriptedModel(call("trigger-elicitation-request"), "Thank you.")
    async with Runner(Agent(name="a", model=model, tools=[server]), app_name="t") as runner:
        paused = await runner.run("go", session_id="s1")
        await runner.answer("s1", paused.pending[0].call_id, Approve())
        asked = await runner.resume("s1")
        (question,) = asked.pending
        await runner.answer("s1", question.call_id, {"name": "Ada Lovelace"})
        done = await runner.resume("s1")
    assert (paused.status, asked.status, done.status) == ("paused", "paused", "done")
    assert question.call_id != paused.pending[0].call_id
    assert "Ada Lovelace" in model.requests[1].history[-1].results[0].text  # type: ignore[union-attr]


async def test_a_rejected_question_ends_the_call_without_asking_the_server_again() -> None:
    server = McpToolset(stdio([*npm_program(*EVERYTHING), "stdio"]))
    model = ScriptedModel(call("trigger-elicitation-request"), "As you like.")
    async with Runner(Agent(name="a", model=model, tools=[server]), app_name="t") as runner:
        paused = await runner.run("go", session_id="s1")
        await runner.answer("s1", paused.pending[0].call_id, Reject(reason="none of your business"))
        done = await runner.resume("s1")
    result = model.requests[1].history[-1].results[0]  # type: ignore[union-attr]
    assert done.text == "As you like."
    assert result.status == "denied"
    assert "none of your business" in result.text


async def test_a_server_that_asks_the_agents_model_gets_its_answer() -> None:
    server = McpToolset(stdio([*npm_program(*EVERYTHING), "stdio"]), allow_sampling=True)
    sampling = call("trigger-sampling-request", prompt="What is the capital?", maxTokens=20)
    model = ScriptedModel(sampling, "Oslo", "It says Oslo.")
    async with Runner(Agent(name="a", model=model, tools=[server]), app_name="t") as runner:
        result = await runner.run("go")
    assert result.text == "It says Oslo."
    assert "Oslo" in model.requests[2].history[-1].results[0].text  # type: ignore[union-attr]


@pytest.mark.row("004-K4")
async def test_confirmation_is_asked_before_a_server_is_called() -> None:
    clock = McpToolset(stdio([sys.executable, "-m", "mcp_server_time"]), require_confirmation=True)
    model = ScriptedModel(call("get_current_time", timezone="UTC"), "Now.")
    async with Runner(Agent(name="a", model=model, tools=[clock]), app_name="t") as runner:
        paused = await runner.run("go", session_id="s1")
        await runner.answer("s1", paused.pending[0].call_id, Approve())
        done = await runner.resume("s1")
    assert (paused.status, done.status) == ("paused", "done")
    assert model.requests[1].history[-1].results[0].data["timezone"] == "UTC"  # type: ignore[union-attr]


async def test_an_agent_with_a_plugin_runs_its_tools_and_shows_their_progress() -> None:
    notes = PluginToolset(NOTES, tool_name_prefix="n")
    calls = [call("n_add_note", text="milk"), call("n_count_down", start=1)]
    model = ScriptedModel(calls, call("n_list_notes"), "Done.")
    agent = Agent(name="a", model=model, tools=[notes])
    shown = [event.text async for event in agent.stream("go") if isinstance(event, ToolProgress)]
    await notes.close()
    assert shown == ["1 to go"]
    assert model.requests[2].history[-1].results[0].text == "milk"  # type: ignore[union-attr]


def test_a_plugin_serves_two_runs_that_each_have_their_own_event_loop() -> None:
    notes = PluginToolset(NOTES)
    for _ in range(2):
        model = ScriptedModel(call("list_notes"), "Done.")
        assert Agent(name="a", model=model, tools=[notes]).run_sync("go").text == "Done."
