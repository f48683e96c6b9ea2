"""Tool search over ten thousand tools: the first search, the next ones, and what a turn costs.

python bench/tool_search.py
"""

import statistics
import time

import anyio

from toolwright import Agent, FunctionTool, searchable
from toolwright.messages import ToolSpec
from toolwright.models import ModelRequest
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Tool

COUNT, ROUNDS, LIMIT_MS = 10_000, 5, 50
NOUNS = ["invoice", "customer", "refund", "report", "payment", "shipment", "label", "account"]
VERBS = ["create", "delete", "list", "get"]


def make_tools(count: int) -> list[Tool]:
    """Tools that differ in name and description only."""
    template = FunctionTool(lambda: "done", name="template", description="x")
    return [template.replace(spec=_spec(number)) for number in range(count)]


def _spec(number: int) -> ToolSpec:
    verb, noun = VERBS[number % 4], NOUNS[number // 4 % len(NOUNS)]
    text = f"{verb.title()} the {noun} of an account that is kept in the ledger, number {number}."
    return ToolSpec(name=f"{verb}_{noun}_{number}", description=text)


class _Clock(ScriptedModel):
    """Notes when each turn began."""

    def __init__(self, *turns: object) -> None:
        super().__init__(*turns)  # type: ignore[arg-type]
        self.began: list[float] = []

    async def respond(self, request: ModelRequest, on_delta: object = None) -> object:  # type: ignore[override]
        self.began.append(time.process_time())
        return await super().respond(request)


async def searches(count: int) -> list[float]:
    """Milliseconds of processor time of each of four turns with a search in them."""
    queries = ["refunding a customer", "shipment labels", "delete reports", "payments of accounts"]
    model = _Clock(*[call("search_tools", query=query) for query in queries], "done")
    await Agent(name="a", model=model, tools=[searchable(make_tools(count))]).run("go")
    return [(b - a) * 1000 for a, b in zip(model.began, model.began[1:], strict=False)]


async def idle_turn(count: int) -> float:
    """Milliseconds of a turn without a search, after one that found tools."""
    tick = FunctionTool(lambda: "tick", name="tick")
    model = _Clock(call("search_tools", query="refund"), *[call("tick")] * 50, "done")
    await Agent(name="a", model=model, tools=[tick, searchable(make_tools(count))]).run("go")
    return (
        statistics.median(b - a for a, b in zip(model.began[2:], model.began[3:], strict=False))
        * 1000
    )


def main() -> None:
    rounds = [anyio.run(searches, COUNT) for _ in range(ROUNDS)]
    first = min(times[0] for times in rounds)
    later = min(statistics.median(times[1:]) for times in rounds)
    over = "" if first < LIMIT_MS else "  over"
    print(f"{COUNT:,} tools: first search {first:.1f} ms{over}, later ones {later:.1f} ms")
    few, many = anyio.run(idle_turn, 10), anyio.run(idle_turn, COUNT)
    print(f"a turn without a search: {few:.2f} ms with 10 tools, {many:.2f} ms with {COUNT:,}")


if __name__ == "__main__":
    main()
