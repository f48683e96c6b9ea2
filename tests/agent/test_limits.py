"""Limits: of the run, of agents inside it, on calls and on wall time."""

import anyio
import pytest
from pydantic import BaseModel

from toolwright import Agent, Limits, tool
from toolwright.agent import AgentTool
from toolwright.messages import ToolMessage
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@tool
def ping() -> str:
    """Answer."""
    return "pong"


@tool
async def hang() -> str:
    """Never end."""
    await anyio.sleep_forever()
    return ""


def results(message: object) -> list[str]:
    assert isinstance(message, ToolMessage)
    return [result.text for result in message.results]


async def test_an_inner_agents_own_limits_hold_for_it_and_the_outer_run_goes_on() -> None:
    inner = Agent(
        name="inner",
        model=ScriptedModel(*[call("ping")] * 5),
        tools=[ping],
        limits=Limits(turns=2),
    )
    model = ScriptedModel(call("inner", request="go"), "end")
    result = await Agent(name="o", model=model, tools=[AgentTool(inner)]).run("go")
    assert "limit of 2 turns" in results(result.history[2])[0]
    assert result.text == "end"


async def test_what_an_inner_agent_uses_counts_for_the_outer_run() -> None:
    inner = Agent(name="inner", model=ScriptedModel(*[call("ping")] * 5), tools=[ping])
    model = ScriptedModel(call("inner", request="go"), "end")
    outer = Agent(name="o", model=model, tools=[AgentTool(inner)], limits=Limits(turns=3))
    result = await outer.run("go")
    assert (result.status, result.usage.requests) == ("stopped", 3)


async def test_the_last_allowed_call_may_be_answered_with_words() -> None:
    model = ScriptedModel(call("ping"), "end")
    limits = Limits(tool_calls=1)
    result = await Agent(name="o", model=model, tools=[ping], limits=limits).run("go")
    assert result.text == "end"


async def test_wall_time_ends_a_tool_that_hangs() -> None:
    model = ScriptedModel(call("hang"))
    agent = Agent(name="o", model=model, tools=[hang], limits=Limits(seconds=0.05))
    with anyio.fail_after(30):
        result = await agent.run("go")
    assert (result.status, result.reason) == (
        "stopped",
        "The run used up its wall time (seconds).",
    )


async def test_a_models_own_time_out_is_not_taken_for_the_runs() -> None:
    agent = Agent(name="o", model=ScriptedModel(TimeoutError("the provider")))
    with pytest.raises(TimeoutError, match="the provider"):
        await agent.run("go")


async def test_each_agent_may_write_its_final_reply_again() -> None:
    class City(BaseModel):
        name: str

    inner = [
        Agent(name=f"a{n}", model=ScriptedModel("?", '{"name": "Ghent"}'), output_schema=City)
        for n in range(4)
    ]
    model = ScriptedModel([call(agent.name, request="go") for agent in inner], "end")
    result = await Agent(name="o", model=model, tools=[AgentTool(a) for a in inner]).run("go")
    assert results(result.history[2]) == ['{"name":"Ghent"}'] * 4
