"""Calls that only read start while the model still writes its reply."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from toolwright import Agent, Hooks, Limits, ModelError, Rule, Runner, ToolContext, rules, tool
from toolwright.messages import (
    ModelMessage,
    ModelReplied,
    StartedEarly,
    TextPart,
    ToolCall,
    ToolEnded,
    ToolStarted,
)
from toolwright.models import Delta, ModelRequest, OnDelta

pytestmark = pytest.mark.anyio


class Slow:
    """Writes its calls one after the other; `between` happens after each, and may fail."""

    name = "slow:model"

    def __init__(self, *calls: ToolCall, between: Callable[[], Awaitable[Any]]) -> None:
        self.calls = calls
        self.between = between
        self.asked = 0
        self.streamed = False

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        self.asked += 1
        if self.asked > 1:
            return ModelMessage(parts=(TextPart("Done."),))
        self.streamed = on_delta is not None
        for index, call in enumerate(self.calls):
            if on_delta is not None:
                on_delta(Delta(kind="call", index=index, name=call.name, text=call.arguments))
                if request.whole_calls:
                    on_delta(Delta(kind="call", index=index, call=call))
            await self.between()
        return ModelMessage(parts=self.calls, finish_reason="calls")


def call(name: str, number: int = 1, **arguments: Any) -> ToolCall:
    return ToolCall(call_id=f"c{number}", name=name, arguments=json.dumps(arguments))


class Desk:
    """Tools that note when they run."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.started = anyio.Event()
        self.go_on = anyio.Event()
        self.cancelled = False

    def tools(self) -> list[Any]:
        @tool(effects="read")
        async def look(page: int) -> str:
            """Look at a page."""
            self.ran.append(f"look {page}")
            self.started.set()
            try:
                await self.go_on.wait()
            except BaseException:
                self.cancelled = True
                raise
            return f"page {page}"

        @tool
        async def write(page: int) -> str:
            """Write a page."""
            self.ran.append(f"write {page}")
            return "written"

        @tool(effects="read", sequential=True)
        async def alone(page: int) -> str:
            """Look at a page, with nobody else around."""
            self.ran.append(f"alone {page}")
            return "seen"

        return [look, write, alone]

    async def until_started(self) -> None:
        """Let the reply go on only when the tool runs; then the tool may end."""
        with anyio.fail_after(5):
            await self.started.wait()
        self.go_on.set()

    async def a_while(self) -> None:
        """Let the reply go on when whatever would start has started."""
        self.go_on.set()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        self.ran.append("(reply)")


def agent_of(model: Slow, desk: Desk, *, start_early: bool | None = True, **more: Any) -> Agent:
    return Agent(name="a", model=model, tools=desk.tools(), start_early=start_early, **more)


async def test_a_read_starts_before_the_reply_is_whole_and_its_result_counts() -> None:
    desk = Desk()
    model = Slow(call("look", page=3), between=desk.until_started)
    result = await agent_of(model, desk).run("Look.")

    assert (result.text, desk.ran) == ("Done.", ["look 3"])
    kinds = (StartedEarly, ModelReplied, ToolStarted, ToolEnded)
    order = [type(event) for event in result.events if isinstance(event, kinds)]
    assert order == [StartedEarly, ModelReplied, ToolStarted, ToolEnded, ModelReplied]
    [ended] = [event for event in result.events if isinstance(event, ToolEnded)]
    assert (ended.result.status, ended.result.text) == ("ok", "page 3")


async def test_it_is_stored_before_it_starts(tmp_path: Any) -> None:
    stored: list[list[type]] = []

    @tool(effects="read")
    async def look(tool_context: ToolContext) -> str:
        """Look who is stored."""
        stored.append([type(event) for event in await runner.events("s")])
        desk.started.set()
        return "seen"

    desk = Desk()
    model = Slow(call("look"), between=desk.until_started)
    agent = Agent(name="a", model=model, tools=[look], start_early=True)
    async with Runner(agent, store=f"sqlite:///{tmp_path}/s.db") as runner:
        await runner.run("Look.", session_id="s")
    assert [kinds[-1] for kinds in stored] == [StartedEarly]


async def test_what_has_effects_or_runs_alone_waits_for_the_whole_reply() -> None:
    for name in ("write", "alone"):
        desk = Desk()
        await agent_of(Slow(call(name, page=1), between=desk.a_while), desk).run("Go.")
        assert desk.ran == ["(reply)", f"{name} 1"]


async def test_what_comes_after_a_tool_that_runs_alone_waits_too() -> None:
    desk = Desk()
    calls = call("alone", page=1), call("look", 2, page=2)
    await agent_of(Slow(*calls, between=desk.a_while), desk).run("Go.")
    assert desk.ran == ["(reply)", "(reply)", "alone 1", "look 2"]


async def test_a_reply_that_fails_drops_what_was_started() -> None:
    desk = Desk()

    async def fails() -> None:
        with anyio.fail_after(5):
            await desk.started.wait()
        raise ModelError("broken off", reason="server")

    runner = Runner(agent_of(Slow(call("look", page=3), between=fails), desk))
    with pytest.raises(ModelError, match="broken off"):
        await runner.run("Look.", session_id="s")
    assert desk.cancelled
    events = await runner.events("s")
    assert [e.call.name for e in events if isinstance(e, StartedEarly)] == ["look"]
    assert not [e for e in events if isinstance(e, ToolStarted | ToolEnded)]

    desk.go_on.set()
    again = await runner.run("Again.", session_id="s")
    assert again.text == "Done."


async def test_rules_that_would_ask_or_deny_are_heard_first() -> None:
    for rule, status in ((Rule.ask("look"), "paused"), (Rule.deny("look"), "done")):
        desk = Desk()
        model = Slow(call("look", page=1), between=desk.a_while)
        agent = agent_of(model, desk, policy=rules(rule, otherwise="allow"))
        result = await agent.run("Go.")
        assert (result.status, desk.ran) == (status, ["(reply)"])


async def test_arguments_that_do_not_fit_are_told_as_ever() -> None:
    desk = Desk()
    model = Slow(call("look", page="none"), between=desk.a_while)
    result = await agent_of(model, desk).run("Go.")
    [ended] = [event for event in result.events if isinstance(event, ToolEnded)]
    assert (ended.result.status, desk.ran) == ("error", ["(reply)"])


async def test_a_tool_that_raises_is_answered_like_any() -> None:
    @tool(effects="read")
    async def broken() -> str:
        """Fail."""
        raise RuntimeError("no paper")

    desk = Desk()
    model = Slow(call("broken"), between=desk.a_while)
    agent = Agent(name="a", model=model, tools=[broken], start_early=True)
    result = await agent.run("Go.")
    [ended] = [event for event in result.events if isinstance(event, ToolEnded)]
    assert "no paper" in ended.result.text
    assert result.text == "Done."


async def test_hooks_and_a_limit_of_calls_come_first() -> None:
    hooked: dict[str, Any] = {"hooks": Hooks(before_tool=lambda ctx, t, a: None)}
    limited: dict[str, Any] = {"limits": Limits(tool_calls=5)}
    for more in (hooked, limited):
        desk = Desk()
        await agent_of(Slow(call("look", page=1), between=desk.a_while), desk, **more).run("Go.")
        assert desk.ran == ["(reply)", "look 1"]


async def test_it_is_for_streamed_runs_unless_it_is_said() -> None:
    for said, streams, early in (
        (None, False, False),
        (None, True, True),
        (False, True, False),
        (True, False, True),
    ):
        desk = Desk()
        model = Slow(call("look", page=1), between=desk.a_while)
        agent = agent_of(model, desk, start_early=said)
        if streams:
            async for _ in agent.stream("Go."):
                pass
        else:
            await agent.run("Go.")
        assert desk.ran == (["look 1", "(reply)"] if early else ["(reply)", "look 1"])
        assert model.streamed is (streams or early)


async def test_a_hook_that_makes_another_reply_drops_what_was_started() -> None:
    desk = Desk()
    said = ModelMessage(parts=(TextPart("Something else."),))
    model = Slow(call("look", page=1), between=desk.a_while)
    agent = agent_of(model, desk, hooks=Hooks(after_model=lambda ctx, reply: said))
    result = await agent.run("Go.")
    assert result.text == "Something else."
    assert not [event for event in result.events if isinstance(event, ToolStarted)]
