"""Workflows: sequential, parallel, loop and graph; pauses in any step survive a restart."""

from typing import Any

import pytest
from inline_snapshot import snapshot

from toolwright import Agent, AgentTool, Approve, FunctionTool, Runner, ToolContext, UsageError
from toolwright.agent import START, LoopAgent, ParallelAgent, SequentialAgent, Workflow, exit_loop
from toolwright.messages import ToolMessage
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


def speaker(name: str, *turns: Any, **settings: Any) -> Agent:
    return Agent(name=name, model=ScriptedModel(*turns), **settings)


async def test_a_sequence_hands_each_answer_on_and_keeps_it_in_the_state() -> None:
    writer = speaker("writer", "A brief.", instructions="Write from: {researcher}")
    flow = SequentialAgent(name="flow", sub_agents=[speaker("researcher", "Bees dance."), writer])
    result = await flow.run("Bees?")
    assert result.text == "A brief."
    assert result.state == {"researcher": "Bees dance.", "writer": "A brief."}
    [request] = writer.model.requests  # type: ignore[attr-defined]
    assert request.instructions == "Write from: Bees dance."
    assert "Bees dance." in request.history[0].text
    assert request.tools == ()


async def test_parallel_agents_answer_together_in_their_own_order() -> None:
    flow = ParallelAgent(name="flow", sub_agents=[speaker("a", "one"), speaker("b", "two")])
    result = await flow.run("go")
    assert result.output == {"a": "one", "b": "two"}
    assert result.text == "[a]\none\n\n[b]\ntwo"


@pytest.mark.row("001-31", "004-X2c")
async def test_a_loop_ends_when_exit_loop_is_called_or_at_its_most() -> None:
    critic = speaker("critic", "Better.", call("exit_loop"), tools=[exit_loop])
    flow = LoopAgent(
        name="flow", sub_agents=[speaker("writer", "v1", "v2"), critic], max_iterations=5
    )
    assert (await flow.run("go")).text == "Leaving the loop."
    endless = LoopAgent(name="flow", sub_agents=[speaker("w", "1", "2", "3")], max_iterations=3)
    assert (await endless.run("go")).text == "3"


def publish(ran: list[str]) -> FunctionTool:
    def publish(text: str) -> str:
        """Publish it."""
        ran.append(text)
        return "published"

    return FunctionTool(publish, require_confirmation=True)


async def test_a_pause_in_a_step_survives_a_restart_and_earlier_steps_are_not_repeated() -> None:
    ran: list[str] = []
    first = speaker("first", "Draft.")
    second = speaker("second", call("publish", text="Draft."), "Out.", tools=[publish(ran)])
    flow = SequentialAgent(name="flow", sub_agents=[first, second])
    runner = Runner(flow)
    paused = await runner.run("go", session_id="s")
    assert paused.status == "paused"
    again = Runner(flow, store=runner.store)
    await again.answer("s", paused.pending[0].call_id, Approve())
    assert (await again.resume("s")).text == "Out."
    assert ran == ["Draft."]
    assert len(first.model.requests) == 1  # type: ignore[attr-defined]


def triage(text: str, tool_context: ToolContext) -> dict[str, Any]:
    """Decide what to do."""
    tool_context.route = "urgent" if "urgent" in text else "normal"
    tool_context.output = {"text": text.upper(), "node": tool_context.node_path}
    return {}


def reply(text: str) -> str:
    """Answer at once."""
    return f"Replied to {text}"


@pytest.mark.row("004-W1a", "004-W1b")
async def test_a_graph_follows_the_route_a_function_chose() -> None:
    flow = Workflow(
        name="desk",
        nodes={"triage": triage, "reply": reply, "escalate": speaker("expert", "I am on it.")},
        edges=[(START, "triage"), ("triage", "escalate", "urgent"), ("triage", "reply")],
    )
    assert (await flow.run("urgent: fire")).text == "I am on it."
    assert (await flow.run("hello")).text == "Replied to HELLO"
    assert flow.mermaid() == snapshot(
        """\
flowchart TD
    start((start))
    triage("triage")
    reply("reply")
    escalate["escalate"]
    start --> triage
    triage -->|urgent| escalate
    triage --> reply\
"""
    )


@pytest.mark.row("004-W5")
async def test_a_node_is_tried_again_and_can_see_which_attempt_it_is() -> None:
    attempts: list[int] = []

    def flaky(text: str, tool_context: ToolContext) -> str:
        """Fails at first."""
        attempts.append(tool_context.attempt_count)
        if tool_context.attempt_count < 3:
            raise ConnectionError("reset")
        return "fine"

    flow = Workflow(name="w", nodes={"flaky": flaky}, edges=[(START, "flaky")], retries=2)
    assert (await flow.run("go")).text == "fine"
    assert attempts == [1, 2, 3]


@pytest.mark.row("004-W6")
async def test_a_node_that_asks_a_person_pauses_the_graph_and_goes_on_with_the_answer() -> None:
    def ask(text: str, tool_context: ToolContext) -> str:
        """Ask."""
        tool_context.request_input(hint="How many?", schema={"type": "integer"})
        return ""

    def double(n: int) -> int:
        """Double it."""
        return n * 2

    flow = Workflow(
        name="w", nodes={"ask": ask, "double": double}, edges=[(START, "ask"), ("ask", "double")]
    )
    runner = Runner(flow)
    paused = await runner.run("go", session_id="s")
    [pending] = paused.pending
    assert (pending.kind, pending.hint) == ("input", "How many?")
    with pytest.raises(UsageError, match="does not fit"):
        await runner.answer("s", pending.call_id, "many")
    await runner.answer("s", pending.call_id, 21)
    assert (await Runner(flow, store=runner.store).resume("s")).output == 42


async def test_an_edge_to_nowhere_is_refused_when_the_graph_is_built() -> None:
    with pytest.raises(UsageError, match=r"'missing', which is no node; nodes: reply"):
        Workflow(name="w", nodes={"reply": reply}, edges=[(START, "reply"), ("reply", "missing")])


@pytest.mark.parametrize("wrong", ["a~b", "a~2", "~", "a/b", "/", "a.1", "a.1.12", "n" * 161])
async def test_a_node_whose_calls_could_be_mistaken_for_others_is_refused_when_the_graph_is_built(
    wrong: str,
) -> None:
    node = Agent(name="a", model=ScriptedModel())
    with pytest.raises(UsageError, match=r"rename it\.$|has 161 bytes and may have 160"):
        Workflow(name="w", nodes={wrong: node}, edges=[(START, wrong)])


@pytest.mark.parametrize("name", ["a.b", "v1.2 draft", ".", "a@2", "é", "n" * 160])
async def test_a_node_may_have_any_other_name_and_asks_under_it(name: str) -> None:
    ran: list[str] = []

    async def pay() -> str:
        """Pay."""
        ran.append("paid")
        return "paid"

    flow = Workflow(
        name="w", nodes={name: FunctionTool(pay, require_confirmation=True)}, edges=[(START, name)]
    )
    runner = Runner(flow)
    for _ in range(2):
        paused = await runner.run("go", session_id="s")
        [asked] = paused.pending
        assert await runner.answer("s", asked.call_id, Approve()) == "accepted"
        assert (await runner.resume("s")).status == "done"
    assert ran == ["paid", "paid"]


async def test_workflows_are_tools_of_other_agents() -> None:
    from toolwright import AgentTool

    flow = SequentialAgent(
        name="flow", description="Two steps.", sub_agents=[speaker("a", "1"), speaker("b", "2")]
    )
    result = await speaker(
        "outer", call("flow", request="go"), "Done.", tools=[AgentTool(flow)]
    ).run("hi")
    message = result.history[2]
    assert isinstance(message, ToolMessage)
    assert message.results[0].text == "2"


@pytest.mark.row("004-W7")
@pytest.mark.parametrize(("route", "end"), [("x", "other"), (None, "end")])
async def test_a_tool_of_an_agent_node_chooses_the_way_and_knows_where_it_is(
    route: str | None, end: str
) -> None:
    seen: list[tuple[str, int]] = []

    def choose(tool_context: ToolContext) -> str:
        """Choose."""
        seen.append((tool_context.node_path, tool_context.attempt_count))
        tool_context.route = route
        return "chosen"

    agent = Agent(name="ag", model=ScriptedModel(call("choose"), "final words"), tools=[choose])

    def last(said: str) -> str:
        """End here."""
        return f"end {said}"

    def other(said: str) -> str:
        """End there."""
        return f"other {said}"

    nodes = {"ag": agent, "end": last, "other": other}
    edges = [("start", "ag"), ("ag", "other", "x"), ("ag", "end")]
    result = await Workflow(name="wf", nodes=nodes, edges=edges).run("go")
    assert result.output == f"{end} final words"
    assert seen == [("ag.1", 1)]


@pytest.mark.parametrize("pauses", [False, True])
async def test_a_tool_of_an_agent_node_gives_its_output(pauses: bool) -> None:
    def measure(size: int, tool_context: ToolContext) -> str:
        """Measure."""
        tool_context.output = {"size": size, "by": ("a", 1)}
        return "measured"

    tool = FunctionTool(measure, require_confirmation=pauses)
    agent = speaker(
        "ag", call("measure", size=2), call("measure", size=3), "final words", tools=[tool]
    )

    def last(size: int, by: list[Any]) -> str:
        """End here."""
        return f"{size} {by}"

    edges = [("start", "ag"), ("ag", "end")]
    runner = Runner(Workflow(name="wf", nodes={"ag": agent, "end": last}, edges=edges))
    result = await runner.run("go", session_id="s")
    while result.pending:
        await runner.answer("s", result.pending[0].call_id, True)
        result = await runner.resume("s")
    assert (result.output, result.state["ag"]) == ("3 ['a', 1]", {"size": 3, "by": ["a", 1]})


@pytest.mark.parametrize("how", ["called", "in a sequence"])
async def test_a_route_set_deeper_inside_an_agent_node_is_logged_and_not_followed(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    def choose(tool_context: ToolContext) -> str:
        """Choose."""
        tool_context.route = "x"
        return "chosen"

    inner = speaker("inner", call("choose"), "words", tools=[choose], description="Chooses.")
    node = (
        speaker("ag", call("inner", request="go"), "words", tools=[AgentTool(inner)])
        if how == "called"
        else SequentialAgent(name="ag", sub_agents=[inner])
    )
    nodes = {"ag": node, "end": lambda said: f"end {said}", "other": lambda said: f"other {said}"}
    named = {
        name: FunctionTool(made, name=name, description="End.") if callable(made) else made
        for name, made in nodes.items()
    }
    edges = [("start", "ag"), ("ag", "other", "x"), ("ag", "end")]
    result = await Workflow(name="wf", nodes=named, edges=edges).run("go")
    assert result.output == "end words"
    [message] = [one.getMessage() for one in caplog.records if one.name == "toolwright.workflow"]
    assert message.startswith("Route 'x' is not followed")
    assert "of node ag.1 itself" in message


async def test_a_route_that_one_agent_node_has_chosen_is_not_the_next_ones() -> None:
    def choose(tool_context: ToolContext) -> str:
        """Choose."""
        tool_context.route = "x"
        return "chosen"

    first = Agent(name="first", model=ScriptedModel(call("choose"), "go"), tools=[choose])
    second = Agent(name="second", model=ScriptedModel("second words"))

    def last(said: str) -> str:
        """End here."""
        return f"end {said}"

    def other(said: str) -> str:
        """End there."""
        return f"other {said}"

    nodes = {"first": first, "second": second, "end": last, "other": other}
    edges = [
        ("start", "first"),
        ("first", "second", "x"),
        ("second", "other", "x"),
        ("second", "end"),
    ]
    result = await Workflow(name="wf", nodes=nodes, edges=edges).run("go")
    assert result.output == "end second words"
