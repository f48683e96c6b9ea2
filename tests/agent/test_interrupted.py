"""A process died inside a call, and then the person writes something else: the model reads the truth."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from toolwright import Agent, AgentTool, FunctionTool, Hooks, Result, Runner, ToolContext, tool
from toolwright.agent import SequentialAgent
from toolwright.backends import Hold, MemoryStore
from toolwright.errors import StoreError
from toolwright.messages import Event, ModelMessage, Scope, ToolEnded, ToolStarted
from toolwright.models import ModelRequest, OnDelta
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Decision, Tool, deferred_tool

pytestmark = pytest.mark.anyio


class MortalStore(MemoryStore):
    """Takes nothing more from a process that died, until the next one begins."""

    dead = False

    async def append(
        self, scope: Scope, events: Sequence[Event], hold: Hold | None = None, **settings: Any
    ) -> None:
        if self.dead:
            raise StoreError("the process is dead")
        await super().append(scope, events, hold, **settings)


class Crash:
    """Lets the process die inside a function, once."""

    def __init__(self) -> None:
        self.store = MortalStore()
        self.ran: list[str] = []

    def __call__(self, what: str = "pay") -> str:
        self.ran.append(what)
        self.store.dead = len(self.ran) == 1
        return f"{what} is done"

    async def run(self, agent: Any, message: str = "go") -> Runner:
        with pytest.raises(StoreError):
            await Runner(agent, store=self.store, retry_writes=0).run(message, session_id="s")
        self.store.dead = False
        return Runner(agent, store=self.store)


def results(result: Result) -> list[str]:
    return [r.text for m in result.history if m.kind == "tool" for r in m.results]


def paying(crash: Crash, **settings: Any) -> Tool:
    @tool(**settings)
    async def pay() -> str:
        """Pay."""
        return crash()

    return pay


def agent_with(*tools: Any, script: Sequence[Any] = (), **settings: Any) -> Agent:
    turns = script or (call(tools[0].name), "Hello.", "I see.")
    return Agent(name="a", model=ScriptedModel(*turns), tools=tools, **settings)


# -- plain calls -----------------------------------------------------------------------------


async def test_a_call_that_had_started_is_of_unknown_outcome_when_the_person_writes_instead() -> (
    None
):
    crash = Crash()
    runner = await crash.run(agent_with(paying(crash)))
    done = await runner.run("hello", session_id="s")
    assert (done.status, done.text, crash.ran) == ("done", "Hello.", ["pay"])
    assert "outcome is unknown" in results(done)[0]
    assert [m.text for m in done.history if m.kind == "user"] == ["go", "hello"]


async def test_a_person_is_asked_for_the_outcome_beside_the_message_that_they_sent() -> None:
    crash = Crash()
    runner = await crash.run(agent_with(paying(crash, on_unknown="ask")))
    done = await runner.run("hello", session_id="s")
    assert (done.status, done.text, crash.ran) == ("done", "Hello.", ["pay"])
    assert "outcome is unknown" in results(done)[0]
    [asked] = done.pending
    assert (asked.name, asked.kind) == ("pay", "result")
    assert await runner.answer("s", asked.call_id, "it was paid") == "accepted"
    told = await runner.resume("s")
    assert told.text == "I see."
    assert "it was paid" in [m.text for m in told.history if m.kind == "user"][-1]


@pytest.mark.parametrize("settings", [{"effects": "read"}, {"idempotent": True}])
async def test_a_call_that_may_be_repeated_is_said_to_be_interrupted(
    settings: dict[str, Any],
) -> None:
    crash = Crash()
    runner = await crash.run(agent_with(paying(crash, **settings)))
    done = await runner.run("hello", session_id="s")
    assert (done.text, crash.ran) == ("Hello.", ["pay"])
    told = "This call was interrupted before it had a result. It may be called again."
    assert results(done) == [told]


async def test_a_call_that_never_started_is_said_not_to_have_run() -> None:
    crash = Crash()

    @tool(sequential=True)
    async def later() -> str:
        """Later."""
        return crash("later")

    script = ([call("pay"), call("later")], "Hello.")
    agent = agent_with(paying(crash, sequential=True), later, script=script)
    runner = await crash.run(agent)
    done = await runner.run("hello", session_id="s")
    assert crash.ran == ["pay"]
    paid, not_run = results(done)
    assert "outcome is unknown" in paid
    assert not_run == "This call was interrupted before it began; it was not run."


async def test_a_call_inside_an_agent_is_of_unknown_outcome_and_the_message_still_comes() -> None:
    crash = Crash()
    inner = ScriptedModel(call("pay"), "Who knows.")
    sub = Agent(name="sub", description="s", model=inner, tools=[paying(crash, on_unknown="ask")])
    model = ScriptedModel(call("sub", request="x"), "Hello.")
    runner = await crash.run(Agent(name="top", model=model, tools=[AgentTool(sub)]))
    done = await runner.run("hello", session_id="s")
    assert (done.status, done.text, crash.ran) == ("done", "Hello.", ["pay"])
    assert "outcome is unknown" in inner.requests[-1].history[-1].results[0].text  # type: ignore[union-attr]
    assert [pending.name for pending in done.pending] == ["pay"]
    assert results(done) == ["Who knows."]


async def test_an_interrupted_agent_says_what_it_has_done_rather_than_that_it_may_be_called_again() -> (
    None
):
    crash = Crash()

    class Dies(ScriptedModel):
        async def respond(
            self, request: ModelRequest, on_delta: OnDelta | None = None
        ) -> ModelMessage:
            crash.store.dead = bool(self.requests)
            return await super().respond(request, on_delta)

    @tool
    async def pay() -> str:
        """Pay."""
        return "paid"

    sub = Agent(name="sub", description="s", model=Dies(call("pay"), "."), tools=[pay])
    model = ScriptedModel(call("sub", request="x"), "Hello.")
    runner = await crash.run(Agent(name="top", model=model, tools=[AgentTool(sub)]))
    [told] = results(await runner.run("hello", session_id="s"))
    assert told.endswith("interrupted before it had a result. What it has called is done: pay.")


# -- deferred ones ---------------------------------------------------------------------------


def sending(crash: Crash, **settings: Any) -> Tool:
    @deferred_tool(**settings)
    async def send() -> None:
        """Send a mail; the answer comes by another."""
        crash("send")

    return send


@pytest.mark.parametrize("in_workflow", [False, True])
async def test_an_interrupted_deferred_call_is_repeated_and_its_result_follows_the_message(
    in_workflow: bool,
) -> None:
    crash = Crash()
    agent: Any = agent_with(sending(crash, idempotent=True))
    runner = await crash.run(
        SequentialAgent(name="w", sub_agents=[agent]) if in_workflow else agent
    )
    done = await runner.run("hello", session_id="s")
    assert (done.status, done.text, crash.ran) == ("done", "Hello.", ["send", "send"])
    [open_call] = done.pending
    assert open_call.ran
    assert await runner.answer("s", open_call.call_id, "they answered") == "accepted"
    assert (await runner.resume("s")).text == "I see."
    requests = agent.model.requests
    assert "they answered" in json.dumps([str(message) for message in requests[-1].history])


@pytest.mark.parametrize("on_unknown", ["tell", "ask"])
@pytest.mark.parametrize("in_workflow", [False, True])
async def test_an_interrupted_deferred_call_that_may_not_be_repeated_is_of_unknown_outcome(
    on_unknown: str, in_workflow: bool
) -> None:
    crash = Crash()
    agent: Any = agent_with(sending(crash, on_unknown=on_unknown))
    runner = await crash.run(
        SequentialAgent(name="w", sub_agents=[agent]) if in_workflow else agent
    )
    done = await runner.run("hello", session_id="s")
    assert (done.status, crash.ran) == ("done", ["send"])
    [open_call] = done.pending
    assert ("Find out" in open_call.hint) is (on_unknown == "ask")
    if not in_workflow:
        assert "outcome is unknown" in results(done)[0]


async def test_an_interrupted_deferred_call_inside_an_agent_is_repeated_too() -> None:
    crash = Crash()
    inner = ScriptedModel(call("send"), "It is on its way.")
    sub = Agent(name="sub", description="s", model=inner, tools=[sending(crash, idempotent=True)])
    model = ScriptedModel(call("sub", request="x"), "Hello.")
    runner = await crash.run(Agent(name="top", model=model, tools=[AgentTool(sub)]))
    done = await runner.run("hello", session_id="s")
    assert (done.status, done.text, crash.ran) == ("done", "Hello.", ["send", "send"])
    assert [pending.ran for pending in done.pending] == [True]


async def test_an_interrupted_call_of_a_workflows_earlier_message_is_asked_about() -> None:
    crash = Crash()
    agent = agent_with(paying(crash, on_unknown="ask"))
    runner = await crash.run(SequentialAgent(name="w", sub_agents=[agent]))
    done = await runner.run("hello", session_id="s")
    assert (done.text, crash.ran) == ("Hello.", ["pay"])
    [asked] = done.pending
    await runner.answer("s", asked.call_id, "it was paid")
    await runner.resume("s")
    assert agent.model.requests[-1].history[-1].results[0].text == "it was paid"  # type: ignore[attr-defined]


# -- before the function runs ----------------------------------------------------------------


def events_of(result: Result, kind: type[Event]) -> list[Event]:
    return [event for event in result.events if isinstance(event, kind)]


@pytest.mark.parametrize("where", ["predicate", "policy", "hook"])
async def test_a_crash_before_the_function_runs_loses_no_question(where: str) -> None:
    """Whoever has a say has not spoken yet, so nothing can have happened."""
    crash = Crash()
    ran: list[str] = []

    async def predicate() -> bool:
        crash("judged")
        return True

    async def policy(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Decision:
        crash("judged")
        return Decision(verdict="ask")

    async def hook(ctx: ToolContext, tool: Tool, args: dict[str, Any]) -> None:
        crash("judged")

    async def wipe() -> str:
        """Wipe."""
        ran.append("wiped")
        return "wiped"

    asks: Any = predicate if where == "predicate" else where == "hook"
    settings: dict[str, Any] = {
        "predicate": {},
        "policy": {"policy": policy},
        "hook": {"hooks": Hooks(before_tool=hook)},
    }[where]
    runner = await crash.run(agent_with(FunctionTool(wipe, require_confirmation=asks), **settings))
    asked = await runner.resume("s")
    assert (asked.status, ran) == ("paused", [])
    [pending] = asked.pending
    assert pending.kind == "confirmation"
    await runner.answer("s", pending.call_id, True)
    done = await runner.resume("s")
    assert (results(done), ran) == (["wiped"], ["wiped"])


async def test_a_call_starts_when_it_was_allowed_and_not_before() -> None:
    @tool(require_confirmation=True)
    async def wipe() -> str:
        """Wipe."""
        return "wiped"

    runner = Runner(agent_with(wipe))
    paused = await runner.run("go", session_id="s")
    assert events_of(paused, ToolStarted) == []
    await runner.answer("s", paused.pending[0].call_id, True)
    done = await runner.resume("s")
    assert len(events_of(done, ToolStarted)) == 1


async def test_a_denied_call_has_an_end_and_no_start() -> None:
    @tool
    async def wipe() -> str:
        """Wipe."""
        return "wiped"

    async def deny(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Decision:
        return Decision(verdict="deny", reason="never")

    done = await agent_with(wipe, policy=deny).run("go")
    assert events_of(done, ToolStarted) == []
    [ended] = events_of(done, ToolEnded)
    assert isinstance(ended, ToolEnded)
    assert ended.result.status == "denied"
