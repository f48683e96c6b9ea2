"""Searching for tools changes nothing at the beginning of the requests, and they can be called."""

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from tests.models.providers import SEARCHING, Provider
from tests.models.wire import running

from toolwright import (
    Agent,
    Approve,
    Compaction,
    Hooks,
    Rule,
    Runner,
    Tool,
    rules,
    searchable,
    tool,
)
from toolwright.backends import MemoryStore
from toolwright.messages import (
    HistoryCompacted,
    ModelReplied,
    ToolEnded,
    ToolMessage,
    ToolResult,
    ToolStarted,
)
from toolwright.testing import ScriptedModel, call
from toolwright.tools import Toolset

pytestmark = pytest.mark.anyio
KINDS = ["invoice", "refund", "shipment", "report", "label"]
LONG = "Be kind, and look at everything twice before you answer. " * 400


@pytest.fixture(params=SEARCHING)
async def provider(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Provider]:
    async with running() as wire:
        yield SEARCHING[request.param](wire)


def about(kind: str) -> Tool:
    def work(amount: int, note: str = "") -> str:
        return f"{kind} {amount} " + "once upon a time " * 20

    return tool(name=f"send_{kind}", description=f"Send one {kind} to a customer.")(work)


TOOLS = [about(kind) for kind in KINDS]


def results(history: Any) -> list[ToolResult]:
    return [one for m in history if isinstance(m, ToolMessage) for one in m.results]


def agent_of(provider: Provider, tools: Any = TOOLS, **more: Any) -> Agent:
    found = searchable(tools, limit=1)
    return Agent(name="a", model=provider.model, instructions=LONG, tools=[found], **more)


def script(provider: Provider, kinds: list[str], calls: int) -> None:
    for kind in kinds:
        provider.will_find(kind)
        provider.will_call_found(*[(f"send_{kind}", {"amount": n}) for n in range(calls)])


async def test_a_search_only_adds_to_what_was_sent(provider: Provider) -> None:
    script(provider, KINDS, 2)
    provider.will("Done.")

    result = await agent_of(provider).run("Send one of each.")

    found = provider.cached()
    assert [one.changed_at for one in found] == [""] * 16
    assert all(two.read >= one.tokens - 128 for one, two in pairwise(found))
    called = [one for one in results(result.history) if one.name != "search_tools"]
    assert [(one.name, one.status) for one in called] == [
        (f"send_{kind}", "ok") for kind in KINDS for _ in range(2)
    ]


async def test_searching_costs_hardly_more_than_having_all_tools(provider: Provider) -> None:
    """Five searches in 31 requests, with results of 4 kB."""
    long = [
        one.replace(run=lambda args, ctx, one=one: _long(one, args, ctx))  # type: ignore[misc]
        for one in TOOLS
    ]
    script(provider, KINDS, 5)
    provider.will("Done.")
    await agent_of(provider, long).run("Send five of each.")
    searched = sum(one.paid for one in provider.cached())

    provider.wire.requests.clear()
    for kind in KINDS:
        provider.will(("look_up", {"query": kind}))
        provider.will(*[(f"send_{kind}", {"amount": n}) for n in range(5)])
    provider.will("Done.")
    all_there = Agent(name="a", model=provider.model, instructions=LONG, tools=[look_up, *long])
    await all_there.run("Send five of each.")
    stable = provider.cached()

    assert len(stable) == 31
    assert searched <= 1.05 * sum(one.paid for one in stable)


async def _long(one: Tool, args: Any, ctx: Any) -> Any:
    output = await one.run(args, ctx)
    return type(output)(text=output.text * 12)


@tool
def look_up(query: str) -> str:
    """Find out what to send, in a few words."""
    return "Send it."


async def test_rules_hooks_and_the_journal_see_the_tool_itself(provider: Provider) -> None:
    provider.will_find("refund")
    provider.will_call_found(("send_refund", {"amount": 3}))
    provider.will("Done.")
    hooked: list[str] = []

    def before(ctx: Any, tool: Tool, args: Any) -> None:
        hooked.append(f"{tool.name} {args.get('amount')}")

    hooks = Hooks(before_tool=before)
    agent = agent_of(
        provider, policy=rules(Rule.ask("send_refund"), otherwise="allow"), hooks=hooks
    )
    runner = Runner(agent)
    paused = await runner.run("Refund three.", session_id="s")

    [pending] = paused.pending
    assert (pending.name, pending.arguments["amount"]) == ("send_refund", 3)
    await runner.answer("s", pending.call_id, Approve())
    done = await runner.resume("s")

    events = [*paused.events, *done.events]
    assert done.text == "Done."
    assert "send_refund 3" in hooked
    names = [call.name for e in events if isinstance(e, ModelReplied) for call in e.message.calls]
    assert names == ["search_tools", "send_refund"]
    assert [e.call.name for e in events if isinstance(e, ToolStarted)] == [
        "search_tools",
        "send_refund",
    ]


async def test_what_was_found_is_callable_in_another_process(
    provider: Provider, tmp_path: Any
) -> None:
    async def run(text: str) -> Any:
        async with Runner(agent_of(provider), store=f"sqlite:///{tmp_path}/s.db") as runner:
            return await runner.run(text, session_id="s")

    provider.will_find("label")
    provider.will("Found.")
    await run("Look for it.")
    provider.will_call_found(("send_label", {"amount": 1}))
    provider.will("Done.")
    result = await run("Send it.")

    assert results(result.history)[-1].status == "ok"
    assert all(not one.changed_at for one in provider.cached())


async def test_what_was_found_is_callable_after_compaction(provider: Provider) -> None:
    store = MemoryStore()
    script(provider, KINDS[:2], 1)
    provider.will("Sent.")
    await Runner(agent_of(provider), store=store).run("Send two.", session_id="s")
    provider.will("A summary.")
    provider.will_call_found(*[(f"send_{kind}", {"amount": 1}) for kind in KINDS[:2]])
    provider.will("Done.")
    compacting = agent_of(provider, compaction=Compaction(max_tokens=1, keep_messages=1))
    result = await Runner(compacting, store=store).run("And again.", session_id="s")

    assert [type(event) for event in result.events].count(HistoryCompacted) == 1
    called = [e.result for e in result.events if isinstance(e, ToolEnded)]
    assert [(one.name, one.status) for one in called] == [
        ("send_invoice", "ok"),
        ("send_refund", "ok"),
    ]
    # The tools that the model is told of at the beginning are the same as ever.
    first, last = provider.wire.bodies[0], provider.wire.bodies[-1]
    assert _shown(first) == _shown(last)
    assert "send_invoice" in json.dumps(last)


def _shown(body: Any) -> list[Any]:
    return [tool for tool in body["tools"] if not tool.get("defer_loading")]


async def test_a_branch_calls_what_was_found_before_it_and_nothing_else() -> None:
    model = ScriptedModel(
        call("search_tools", query="label"),
        "Found.",
        call("search_tools", query="refund"),
        "Found.",
    )
    agent = Agent(name="a", model=model, tools=[searchable(TOOLS, limit=1)])
    runner = Runner(agent)
    first = await runner.run("Look for labels.", session_id="s")
    await runner.run("And for refunds.", session_id="s")
    await runner.branch("s", new_id="t", upto=first.events[-1].seq)

    model.turns += [call("send_label", amount=1), call("send_refund", amount=1), "Done."]
    result = await runner.run("Send both.", session_id="t")

    label, refund = results(result.history)[-2:]
    assert (label.status, refund.status) == ("ok", "error")
    assert "There is no tool 'send_refund'" in refund.text


async def test_a_tool_that_is_gone_is_not_referred_to(provider: Provider) -> None:
    class Source(Toolset):
        cache_listing = False
        tools: ClassVar = TOOLS

        async def get_tools(self, readonly_context: Any = None) -> list[Tool]:
            return self.tools

    source = Source()
    runner = Runner(agent_of(provider, source))
    provider.will_find("label")
    provider.will("Found.", "Gone.")
    await runner.run("Look for it.", session_id="s")
    Source.tools = TOOLS[:-1]
    result = await runner.run("Send it.", session_id="s")

    assert result.text == "Gone."
    body = provider.wire.bodies[-1]
    sent = json.dumps(body)
    if provider.loads_tools:
        assert '"tool_name": "send_label"' not in sent
        assert '"name": "send_label"' not in sent
