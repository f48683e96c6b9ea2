"""Workflows in sessions that go on: more messages, pauses, restarts, hand-overs."""

import anyio
import pytest
from pydantic import BaseModel

from toolwright import Agent, Approve, Runner, ToolContext, UsageError, tool
from toolwright.agent import AgentTool, LoopAgent, SequentialAgent, Workflow, exit_loop
from toolwright.messages import UserMessage
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


class City(BaseModel):
    name: str


@tool(require_confirmation=True)
def wipe() -> str:
    """Wipe the disk."""
    return "wiped"


async def approve(runner: Runner, session: str = "s") -> None:
    for pending in await runner.pending(session):
        await runner.answer(session, pending.call_id, Approve())


async def test_a_workflow_answers_each_message_of_its_session() -> None:
    steps = [Agent(name="a", model=ScriptedModel("one", "two"))]
    runner = Runner(SequentialAgent(name="w", sub_agents=steps))
    assert (await runner.run("first", session_id="s")).text == "one"
    assert (await runner.run("second", session_id="s")).text == "two"


async def test_a_graph_answers_each_message_of_its_session() -> None:
    def loud(text: str) -> str:
        """Make it loud."""
        return text.upper()

    runner = Runner(Workflow(name="w", nodes={"loud": loud}, edges=[("start", "loud")]))
    assert (await runner.run("first", session_id="s")).text == "FIRST"
    assert (await runner.run("second", session_id="s")).text == "SECOND"


async def test_the_steps_after_a_pause_still_know_what_was_asked() -> None:
    last = ScriptedModel("two")
    first = Agent(name="a", model=ScriptedModel(call("wipe"), "one"), tools=[wipe])
    steps = SequentialAgent(name="steps", sub_agents=[first, Agent(name="b", model=last)])
    outer = ScriptedModel(call("steps", request="clean up"), "end")
    runner = Runner(Agent(name="o", model=outer, tools=[AgentTool(steps)]))
    await runner.run("hi", session_id="s")
    await approve(runner)
    assert (await runner.resume("s")).text == "end"
    message = last.requests[0].history[0]
    assert isinstance(message, UserMessage)
    assert "clean up" in message.text


async def test_a_step_that_was_done_keeps_its_typed_output_after_a_restart() -> None:
    typed = Agent(
        name="a", model=ScriptedModel('```json\n{"name": "Ghent"}\n```'), output_schema=City
    )
    asks = Agent(name="b", model=ScriptedModel(call("wipe"), "two"), tools=[wipe])
    runner = Runner(SequentialAgent(name="w", sub_agents=[typed, asks]))
    await runner.run("hi", session_id="s")
    await approve(runner)
    assert (await runner.resume("s")).text == "two"
    assert (await runner.state("s"))["a"] == {"name": "Ghent"}


async def test_a_done_session_has_its_typed_output_when_it_is_looked_at_again() -> None:
    model = ScriptedModel('```json\n{"name": "Ghent"}\n```')
    runner = Runner(Agent(name="t", model=model, output_schema=City))
    await runner.run("hi", session_id="s")
    assert (await runner.resume("s")).output == City(name="Ghent")


async def test_a_step_that_is_done_does_not_undo_what_was_made_of_its_output() -> None:
    @tool
    def correct(tool_context: ToolContext) -> str:
        """Correct the draft."""
        tool_context.state["a"] = "better"
        return "ok"

    second = ScriptedModel([call("correct"), call("wipe")], "two")
    steps = [
        Agent(name="a", model=ScriptedModel("draft")),
        Agent(name="b", model=second, tools=[correct, wipe]),
    ]
    runner = Runner(SequentialAgent(name="w", sub_agents=steps))
    await runner.run("hi", session_id="s")
    await approve(runner)
    await runner.resume("s")
    assert (await runner.state("s"))["a"] == "better"


async def test_a_conversation_can_be_handed_to_a_workflow() -> None:
    steps = SequentialAgent(
        name="steps", sub_agents=[Agent(name="a", model=ScriptedModel("from a"))]
    )
    model = ScriptedModel(call("transfer_to_agent", agent_name="steps"))
    result = await Agent(name="o", model=model, sub_agents=[steps]).run("hi")
    assert (result.text, result.agent) == ("from a", "steps")


async def test_of_two_transfers_in_one_turn_the_first_counts() -> None:
    agents = [
        Agent(name=name, model=ScriptedModel(f"I am {name}"), disallow_transfer_to_peers=True)
        for name in ("x", "y")
    ]
    turn = [call("transfer_to_agent", agent_name=name) for name in ("x", "y")]
    result = await Agent(name="o", model=ScriptedModel(turn), sub_agents=agents).run("hi")
    assert result.text == "I am x"


async def test_a_loop_that_was_left_stays_left_after_a_restart() -> None:
    leaves = Agent(name="a", model=ScriptedModel(call("exit_loop"), "round two"), tools=[exit_loop])
    asks = Agent(name="b", model=ScriptedModel(call("wipe"), "end"), tools=[wipe])
    loop = LoopAgent(name="loop", sub_agents=[leaves])
    runner = Runner(SequentialAgent(name="w", sub_agents=[loop, asks]))
    await runner.run("hi", session_id="s")
    await approve(runner)
    assert (await runner.resume("s")).text == "end"


async def test_nodes_hand_on_outputs_of_any_size() -> None:
    def many() -> dict[str, list[int]]:
        """Many numbers."""
        return {"items": list(range(50_000))}

    def count(items: list[int]) -> int:
        """Count them."""
        return len(items)

    edges = [("start", "many"), ("many", "count")]
    flow = Workflow(name="w", nodes={"many": many, "count": count}, edges=edges)
    assert (await flow.run("go")).output == 50_000


def test_two_sub_agents_of_one_name_are_refused() -> None:
    twins = [Agent(name="x", model=ScriptedModel()) for _ in "ab"]
    with pytest.raises(UsageError, match="two sub-agents named 'x'"):
        SequentialAgent(name="o", sub_agents=twins)


async def test_a_message_put_into_a_workflow_reaches_the_agent_whose_turn_it_is() -> None:
    started, go_on = anyio.Event(), anyio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        started.set()
        await go_on.wait()
        return "waited"

    model = ScriptedModel(call("wait"), "end")
    steps = [Agent(name="a", model=model, tools=[wait])]
    runner = Runner(SequentialAgent(name="w", sub_agents=steps))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: runner.run("go", session_id="s"))
            await started.wait()
            assert await runner.steer("s", "and be quick")
            go_on.set()
    message = model.requests[1].history[-1]
    assert isinstance(message, UserMessage)
    assert message.text == "and be quick"
