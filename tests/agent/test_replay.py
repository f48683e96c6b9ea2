"""Killed after any event, a session goes on to the same end and repeats nothing that was finished."""

import json
from collections import Counter
from typing import Any

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright import Agent, Approve, Runner, ToolContext, deferred_tool, tool
from toolwright.agent import AgentTool, Result
from toolwright.backends import open_store
from toolwright.messages import (
    Event,
    ModelMessage,
    Scope,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolMessage,
    ToolStarted,
)
from toolwright.models import ModelRequest, OnDelta

ran: Counter[str] = Counter()
SCOPE = Scope(app_name="app", user_id="user", session_id="s")


def note(ctx: ToolContext) -> str:
    ran[ctx.function_call_id] += 1
    ctx.state[ctx.function_call_id] = True
    return "done"


@tool
async def ok(tool_context: ToolContext) -> str:
    """Work."""
    await anyio.lowlevel.checkpoint()
    return note(tool_context)


@tool
async def broken(tool_context: ToolContext) -> str:
    """Write, then fail."""
    note(tool_context)
    raise ValueError("broken")


@tool(require_confirmation=True)
async def confirmed(tool_context: ToolContext) -> str:
    """Ask first."""
    return note(tool_context)


@tool
async def asks(tool_context: ToolContext) -> str:
    """Ask in the middle."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="really?")
        return ""
    return note(tool_context)


@deferred_tool()
async def deferred(tool_context: ToolContext) -> None:
    """Set something off."""
    note(tool_context)


@tool(sequential=True)
async def alone(tool_context: ToolContext) -> str:
    """Work alone."""
    return note(tool_context)


class Script:
    """Plays the turns that the first message spells out, by how many were played before."""

    name = "script"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The next turn."""
        turns = json.loads(request.history[0].text)  # type: ignore[union-attr]
        played = sum(isinstance(message, ModelMessage) for message in request.history)
        if played >= len(turns):
            return ModelMessage(parts=(TextPart(f"end after {played}"),))
        parts = tuple(_call(f"c{played}-{index}", kind) for index, kind in enumerate(turns[played]))
        return ModelMessage(parts=parts)


def _call(call_id: str, kind: Any) -> ToolCall:
    if isinstance(kind, list):
        arguments = json.dumps({"request": json.dumps(kind)})
        return ToolCall(call_id=call_id, name="inner", arguments=arguments)
    if kind.startswith("to "):
        arguments = json.dumps({"agent_name": kind[3:]})
        return ToolCall(call_id=call_id, name="transfer_to_agent", arguments=arguments)
    return ToolCall(call_id=call_id, name=kind, arguments="{}")


TOOLS = [ok, broken, confirmed, asks, deferred, alone]
simple = st.sampled_from([tool.name for tool in TOOLS])
inner_turns = st.lists(st.lists(simple, min_size=1, max_size=2), max_size=2)
calls = st.one_of(simple, simple, st.sampled_from(["to left", "to right", "to root"]), inner_turns)
scripts = st.lists(st.lists(calls, min_size=1, max_size=3), min_size=1, max_size=3)


def runner_on(store: Any) -> Runner:
    inner = Agent(name="inner", model=Script(), tools=TOOLS)

    def agent(name: str, *below: Agent) -> Agent:
        return Agent(name=name, model=Script(), tools=[*TOOLS, AgentTool(inner)], sub_agents=below)

    return Runner(agent("root", agent("left"), agent("right")), app_name="app", store=store)


async def finish(runner: Runner, result: Result) -> Result:
    for _ in range(50):
        if result.status != "paused":
            return result
        for pending in await runner.pending("s"):
            answer = Approve() if pending.kind == "confirmation" else "it came"
            await runner.answer("s", pending.call_id, answer)
        result = await runner.resume("s")
    raise AssertionError("it never ends")


async def after_a_crash(events: list[Event]) -> tuple[Result, dict[str, Any]]:
    store = open_store("memory://")
    await store.open(SCOPE)
    await store.append(SCOPE, events)
    runner = runner_on(store)
    return await finish(runner, await runner.resume("s")), await runner.state("s")


def address(event: ToolStarted | ToolEnded) -> str:
    call_id = event.call.call_id if isinstance(event, ToolStarted) else event.result.call_id
    return f"{event.path}/{call_id}" if event.path else call_id


def check_pairs(result: Result) -> None:
    history = list(result.history)
    for position, message in enumerate(history):
        if isinstance(message, ModelMessage) and message.calls:
            answer = history[position + 1]
            assert isinstance(answer, ToolMessage)
            assert [c.call_id for c in message.calls] == [r.call_id for r in answer.results]


async def story(turns: list[Any], cut: int) -> None:
    ran.clear()
    runner = runner_on("memory://")
    result = await finish(runner, await runner.run(json.dumps(turns), session_id="s"))
    assert (result.status, result.text) == ("done", f"end after {len(turns)}")
    assert set(ran.values()) <= {1}
    events = await runner.events("s")
    kept = events[: 1 + cut % len(events)]
    finished = {address(e) for e in kept if isinstance(e, ToolEnded)}
    started = {address(e) for e in kept if isinstance(e, ToolStarted)}
    whole_state, all_ran = await runner.state("s"), set(ran)
    ran.clear()
    again, state = await after_a_crash(kept)
    assert (again.status, again.text, again.agent) == ("done", result.text, result.agent)
    check_pairs(again)
    assert not finished & ran.keys(), "a finished tool has run again"
    assert set(ran.values()) <= {1}
    assert all_ran - ran.keys() <= started
    assert state.keys() <= whole_state.keys()
    assert whole_state.keys() - state.keys() <= started - finished
    # What an interrupted function has set off may still bring its result; nobody waits for it.
    assert not any(pending.blocking for pending in again.pending)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(turns=scripts, cut=st.integers(min_value=0, max_value=1000))
def test_killed_after_any_event_the_end_is_the_same_and_nothing_finished_is_repeated(
    turns: list[Any], cut: int
) -> None:
    anyio.run(story, turns, cut)
