"""Each request begins with what the last one began with, in the bytes that a provider receives."""

import json
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from tests.models.providers import PROVIDERS, Provider
from tests.models.wire import running

from toolwright import Agent, Compaction, Limits, Runner, Tool, ToolContext, Toolset, tool
from toolwright.builtin import todo_tools
from toolwright.messages import HistoryCompacted
from toolwright.testing import CachedRequest
from toolwright.tools import as_tool

pytestmark = pytest.mark.anyio
LONG = "Be kind, and look at everything twice before you answer. " * 400


@pytest.fixture(params=PROVIDERS)
async def provider(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Provider]:
    async with running() as wire:
        yield PROVIDERS[request.param](wire)


@tool
def look_at(page: int) -> str:
    """Look at a page of the book."""
    return f"page {page}: " + "once upon a time " * 20


def numbered(number: int) -> Tool:
    def work(amount: int) -> str:
        """Do some of the work that is to be done."""
        return str(amount)

    return tool(name=f"work_{number}")(work)


class Shuffling(Toolset):
    """A source that lists its tools anew each time, and in another order."""

    cache_listing = False

    def __init__(self, count: int = 12, *, anew: bool = False) -> None:
        super().__init__()
        self.random = random.Random(7)
        self.tools = [as_tool(numbered(number)) for number in range(count)]
        self.anew = anew

    async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
        made = [tool.replace() for tool in self.tools] if self.anew else list(self.tools)
        self.random.shuffle(made)
        return made


def only_adds(found: Sequence[CachedRequest]) -> bool:
    return len(found) > 1 and all(not one.changed_at for one in found)


async def test_a_conversation_only_adds_to_what_was_sent(provider: Provider) -> None:
    provider.will(("look_at", {"page": 1}), ("look_at", {"page": 2}), "Done.", "Yes.")
    runner = Runner(Agent(name="a", model=provider.model, instructions=LONG, tools=[look_at]))

    await runner.run("Read two pages.", session_id="s")
    await runner.run("Sure?", session_id="s")

    found = provider.cached()
    assert only_adds(found)
    # All that the request before had is read, but for what is not a whole step yet.
    pairs = pairwise(found)
    assert all(two.read >= one.tokens - 128 for one, two in pairs)


@pytest.mark.parametrize("anew", [False, True])
async def test_tools_stay_in_the_order_in_which_they_were_first_listed(
    provider: Provider, anew: bool
) -> None:
    provider.will(*[(f"work_{n}", {"amount": n}) for n in range(5)], "Done.", "Yes.")
    runner = Runner(Agent(name="a", model=provider.model, tools=[Shuffling(anew=anew)]))

    await runner.run("Work.", session_id="s")
    await runner.run("Sure?", session_id="s")

    assert only_adds(provider.cached())


async def test_a_tool_that_a_source_gets_later_comes_after_all_others(provider: Provider) -> None:
    source = Shuffling(3)
    provider.will(("look_at", {"page": 1}), "Done.")

    @tool
    def look_at(page: int) -> str:
        """Look at a page of the book."""
        source.tools.append(as_tool(numbered(3)))
        return "a page"

    other = Shuffling(2)
    other.tools = [tool.replace(spec=_renamed(tool)) for tool in other.tools]
    agent = Agent(name="a", model=provider.model, tools=[look_at, source, other])
    await agent.run("Work.")

    before, after = map(_tool_names, provider.wire.bodies)
    assert after == [*before, "work_3"]


def _renamed(tool: Tool) -> Any:
    return replace(tool.spec, name=f"other_{tool.name}")


def _tool_names(body: dict[str, Any]) -> list[str]:
    tools = body["tools"]
    if "functionDeclarations" in tools[0]:
        tools = tools[0]["functionDeclarations"]
    return [tool.get("name") or tool["function"]["name"] for tool in tools]


async def test_definitions_are_the_same_objects_while_they_say_the_same() -> None:
    from toolwright.testing import ScriptedModel, call

    model = ScriptedModel(*[call("work_1", amount=n) for n in range(3)], "Done.", "Yes.")
    runner = Runner(Agent(name="a", model=model, tools=[Shuffling(anew=True)]))
    await runner.run("Work.", session_id="s")
    await runner.run("Sure?", session_id="s")

    assert len({id(request.tools) for request in model.requests}) == 1


async def test_todos_limits_and_state_change_nothing_before_the_end(provider: Provider) -> None:
    @tool
    def note(text: str, tool_context: ToolContext) -> str:
        """Note something."""
        tool_context.state["noted"] = text
        return "noted"

    todo = {"todos": [{"content": "read", "status": "in_progress"}]}
    provider.will(("write_todos", todo), ("note", {"text": "x"}), "Done.", "Yes.")
    tools = [note, *todo_tools()]
    limits = Limits(turns=50, cost=1000)
    agent = Agent(name="a", model=provider.model, instructions=LONG, tools=tools, limits=limits)
    runner = Runner(agent)

    await runner.run("Work.", session_id="s")
    await runner.run("Sure?", session_id="s")

    assert only_adds(provider.cached())


async def test_another_process_goes_on_with_the_same_beginning(
    provider: Provider, tmp_path: Any
) -> None:
    provider.will(("look_at", {"page": 1}), "Done.", "Yes.")

    async def run(text: str) -> None:
        agent = Agent(name="a", model=provider.model, instructions=LONG, tools=[look_at])
        async with Runner(agent, store=f"sqlite:///{tmp_path}/s.db") as runner:
            await runner.run(text, session_id="s")

    await run("Read a page.")
    await run("Sure?")

    assert only_adds(provider.cached())


async def test_instructions_that_change_leave_the_beginning_as_it_is(provider: Provider) -> None:
    hours = iter(range(10))
    provider.will(*[("look_at", {"page": n}) for n in range(3)], "Done.", "Yes.")
    agent = Agent(
        name="a",
        model=provider.model,
        instructions=lambda ctx: f"{LONG}\nIt is {next(hours)}.",
        tools=[look_at],
    )
    runner = Runner(agent)
    await runner.run("Work.", session_id="s")
    await runner.run("Sure?", session_id="s")

    found = provider.cached()
    assert only_adds(found)
    assert all(two.read >= one.tokens - 128 for one, two in pairwise(found))
    assert json.dumps(provider.wire.bodies[-1]).count(LONG) == 1


async def test_compaction_rewrites_the_conversation_once_and_leaves_what_is_before_it(
    provider: Provider,
) -> None:
    provider.will(*[("look_at", {"page": n}) for n in range(3)], "A summary.", "Done.")
    compaction = Compaction(max_tokens=1, keep_messages=4)
    agent = Agent(
        name="a", model=provider.model, instructions=LONG, tools=[look_at], compaction=compaction
    )
    result = await agent.run("Read.")

    assert len([event for event in result.events if isinstance(event, HistoryCompacted)]) == 1
    *before, after = provider.cached()
    # The summary is asked for in the conversation: all of that is read from the cache.
    assert not any(one.changed_at for one in before)
    *_, asked, summary = before
    assert summary.read >= asked.tokens - 128
    assert after.changed_at.startswith(("messages", "input", "contents"))
    assert "A summary." in str(provider.wire.bodies[-1])
    assert after.read > 5000
