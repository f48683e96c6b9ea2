"""A worker process of ours for `bench.tasks`: `python -m bench._tasks_worker URL WORKERS`."""

import sys
import time

import anyio

from toolwright.agent import Agent
from toolwright.messages import ModelMessage, TextPart, ToolCall, ToolMessage
from toolwright.models import ModelRequest, OnDelta
from toolwright.tasks import Orchestrator
from toolwright.tools import deferred_tool, tool

__all__ = ["LEASE", "make"]

LEASE = 30.0


@deferred_tool(timeout=86400)
async def ask() -> None:
    """Ask somebody."""


@tool(effects="read")
async def look() -> str:
    """Look."""
    return "seen"


@tool(effects="read")
async def hang() -> str:
    """Take long."""
    await anyio.sleep(3600)
    return ""


@tool(effects="read")
async def block() -> str:
    """Hold up the whole process."""
    time.sleep(10)  # noqa: ASYNC251 - what badly written tools do
    return ""


class Scripted:
    """Does what the task's first word says."""

    name = "scripted:bench"

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """A call of that tool until it has been called often enough, then the end."""
        word = request.history[0].text.split(" ", 1)[0]  # type: ignore[union-attr]
        results = sum(isinstance(message, ToolMessage) for message in request.history)
        name = {"long": "look"}.get(word, word)
        if name == "one" or results >= (10 if word == "long" else 1):
            return ModelMessage(parts=(TextPart(f"{time.time()}"),))
        call = ToolCall(call_id=f"c{results}", name=name)
        return ModelMessage(parts=(call,), finish_reason="calls")


def make(url: str, workers: int) -> Orchestrator:
    """The orchestrator of all measurements."""
    made = Orchestrator(url, lease=LEASE)
    agent = Agent(name="bench", model=Scripted(), tools=[ask, look, hang, block])
    made.register(agent, workers=workers)
    return made


if __name__ == "__main__":
    anyio.run(make(sys.argv[1], int(sys.argv[2])).worker().run)
