"""Knowing where values come from costs nothing without a rule, and then as much as there is new."""

import itertools
from typing import Any

import pytest

from toolwright import Agent, Limits, Rule, ToolContext, rules, tool
from toolwright.agent._values import Part
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Args, Decision, Tool

pytestmark = pytest.mark.anyio

TURNS = 30
ASK = rules(Rule.ask(from_untrusted=True), otherwise="allow")


@tool(effects="read", trust="untrusted")
def read(number: int) -> str:
    """Read a text."""
    return f"Line {number:04} of the book, by author{number:04}@books.example. " * 20


@tool
def send(to: str) -> str:
    """Send a mail."""
    return "sent"


def run_of(ctx: ToolContext) -> Any:
    """The agent's own run, which holds the index."""
    return ctx.run


async def played(rule: Any, seen: Any) -> None:
    """Each turn reads a text, and sends one mail to somebody whom the person has named."""

    async def policy(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        said = await rule(tool, args, ctx)
        if tool.name == "send":
            seen(run_of(ctx))
        return said

    turns = [
        made
        for number in range(10, 10 + TURNS)
        for made in (call("read", number=number), call("send", to="ada@corp.example"))
    ]
    agent = Agent(
        name="a",
        model=ScriptedModel(*turns, "Done."),
        tools=[read, send],
        policy=policy,
        limits=Limits(turns=2 * TURNS + 1),
    )
    result = await agent.run("Write to ada@corp.example")
    assert result.text == "Done."


async def test_without_such_a_rule_nothing_is_taken_in() -> None:
    kept: list[Any] = []
    other = rules(Rule.ask("nobody", optional=True), otherwise="allow")
    await played(other, lambda run: kept.append(run.shared.origins))
    assert kept == [None] * TURNS


async def test_calls_that_only_read_take_nothing_in() -> None:
    kept: list[Any] = []

    async def look(tool: Tool, args: Args, ctx: ToolContext) -> Decision:
        said = await ASK(tool, args, ctx)
        kept.append(run_of(ctx).shared.origins)
        return said

    model = ScriptedModel(*(call("read", number=n) for n in range(5)), "Done.")
    await Agent(name="a", model=model, tools=[read], policy=look).run("Read")
    assert kept == [None] * 5


async def test_each_turn_takes_in_what_is_new_and_no_more() -> None:
    work: list[int] = []
    await played(ASK, lambda run: work.append(run.shared.origins.work))
    steps = [after - before for before, after in itertools.pairwise(work)]
    assert len(set(steps)) == 1, steps


async def test_judging_a_call_looks_at_as_much_after_thirty_turns_as_after_three(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched = 0
    search = Part.place_in

    def counted(part: Part, folded: str) -> int:
        nonlocal searched
        searched += len(folded)
        return search(part, folded)

    monkeypatch.setattr(Part, "place_in", counted)
    totals: list[int] = []
    await played(ASK, lambda run: totals.append(searched))
    steps = [after - before for before, after in itertools.pairwise(totals)]
    assert steps[2] == steps[-1]
