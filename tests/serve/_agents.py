"""Agents for the tests: one that asks before it wipes, and one that can be held in mid-sentence."""

from collections.abc import Callable, Sequence
from typing import Any

import anyio

from toolwright import Agent, Runner, ToolContext, tool
from toolwright.backends import Store
from toolwright.messages import ModelMessage, TextPart, Usage
from toolwright.models import Delta, ModelRequest, OnDelta
from toolwright.testing import ScriptedModel, call

__all__ = ["Held", "Wiped", "chatting", "held", "wiping"]


class Wiped(list[str]):
    """What the tool has really wiped."""


def wiping(store: str | Store = "memory://", turns: Sequence[Any] = ()) -> tuple[Runner, Wiped]:
    """A runner whose agent wipes staging, if a person lets it."""
    wiped = Wiped()

    @tool(require_confirmation=True)
    async def wipe(target: str, force: bool = False) -> str:
        """Wipe a target for good."""
        wiped.append(target)
        return f"wiped {target}"

    @tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    model = ScriptedModel(*(turns or [call("wipe", target="staging"), "Done."]))
    agent = Agent(name="cleaner", model=model, tools=[wipe, add])
    return Runner(agent, app_name="test", store=store), wiped


class Held:
    """A model that says half a sentence and waits until it is let go."""

    name = "test:held"

    def __init__(self) -> None:
        self.half_said = anyio.Event()
        self._go = anyio.Event()

    def let_go(self) -> None:
        self._go.set()

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        if on_delta is not None:
            on_delta(Delta(kind="text", text="Half "))
            on_delta(Delta(kind="text", text="a "))
        self.half_said.set()
        await self._go.wait()
        if on_delta is not None:
            on_delta(Delta(kind="text", text="sentence."))
        return ModelMessage(
            parts=(TextPart("Half a sentence."),), model=self.name, usage=Usage(requests=1)
        )


def held(store: str = "memory://") -> tuple[Runner, Held]:
    """A runner whose model waits in mid-sentence; for servers in the test's own event loop."""
    model = Held()
    return Runner(Agent(name="slow", model=model), app_name="test", store=store), model


def chatting(reply: Callable[[ModelRequest], Any] = lambda request: "Hello.") -> Runner:
    """A runner that answers any number of messages, and can show progress."""

    @tool
    async def count(steps: int, tool_context: ToolContext) -> str:
        """Count to a number."""
        for n in range(steps):
            tool_context.progress(f"{n + 1}")
        return "counted"

    class Endless:
        name = "test:endless"

        async def respond(
            self, request: ModelRequest, on_delta: OnDelta | None = None
        ) -> ModelMessage:
            return await ScriptedModel(reply).respond(request, on_delta)

    return Runner(Agent(name="chatter", model=Endless(), tools=[count]), app_name="test")
