"""`toolwright check` warns where untrusted input, private data and a way out come together."""

from collections.abc import Sequence
from typing import Any

import pytest

from toolwright import (
    Agent,
    AgentTool,
    Rule,
    Runner,
    SequentialAgent,
    careful,
    code_mode,
    rules,
    tool,
)
from toolwright.builtin import web_tools
from toolwright.cli._rule_of_two import check_rule_of_two
from toolwright.cli._tools import listed_tools
from toolwright.tools import with_trust

pytestmark = pytest.mark.anyio


@tool(effects="read", trust="untrusted")
def read_mail() -> str:
    """Read the latest mail."""
    return ""


@tool(effects="read")
def read_contract() -> str:
    """Read a contract."""
    return ""


@tool
def send(to: str) -> str:
    """Send a mail."""
    return ""


ALL = (read_mail, read_contract, send)


async def found(tools: Sequence[Any], **settings: Any) -> list[str]:
    agent = Agent(name="clerk", tools=tools, **settings)
    listed = await listed_tools(agent)
    return [f.message for f in await check_rule_of_two(Runner(agent), agent, listed)]


async def test_an_agent_with_all_three_is_warned_about_by_the_names_of_its_tools() -> None:
    [message] = await found(ALL)
    assert "(read_mail) and private data (read_mail, read_contract)" in message
    assert "send or change something (send)" in message
    assert "policy=careful()" in message


async def test_what_is_below_in_a_workflow_counts_and_a_rule_only_for_its_own_tools() -> None:
    step = Agent(name="step", tools=ALL)
    assert await found([], sub_agents=[SequentialAgent(name="flow", sub_agents=[step])])
    narrow = Rule.ask("read_contract", from_untrusted=True)
    assert await found(ALL, policy=rules(narrow, otherwise="allow"))
    wide = Rule.ask("send", from_untrusted=True)
    assert not await found(ALL, policy=rules(wide, otherwise="allow"))


@pytest.mark.parametrize(
    "tools",
    [
        (read_contract, send),
        (read_mail, read_contract),
        (*web_tools(), send),
        (with_trust(read_mail, "trusted"), send),
    ],
    ids=["nothing untrusted", "no way out", "nothing private", "trusted"],
)
async def test_two_of_them_are_in_order(tools: Sequence[Any]) -> None:
    assert await found(tools) == []


@pytest.mark.parametrize(
    "policy",
    [
        careful(),
        rules(Rule.deny(from_untrusted=True), otherwise="allow"),
        rules(Rule.allow("send"), otherwise=careful()),
        rules(Rule.allow(effects="read")),
        rules(Rule.ask("send"), otherwise="allow"),
        lambda tool, args, ctx: None,
    ],
    ids=["careful", "deny", "nested", "asks about the rest", "asks by name", "a function"],
)
async def test_a_rule_that_looks_at_it_is_enough(policy: Any) -> None:
    assert await found(ALL, policy=policy) == []


async def test_rules_about_something_else_are_not_enough() -> None:
    assert await found(ALL, policy=rules(Rule.ask("read_mail"), otherwise="allow"))
    assert await found(ALL, policy=rules(Rule.allow("send")))
    assert await found(ALL, policy=rules(Rule.ask("send", when="to == 'me'"), otherwise="allow"))
    assert await found(ALL, interrupt_on={"read_mail": True})
    assert await found(ALL, interrupt_on={"send": True}) == []


async def test_helpers_and_code_count() -> None:
    reader = Agent(name="reader", description="Reads.", tools=[read_mail])
    assert await found([AgentTool(reader), read_contract, send])
    assert await found([code_mode([read_mail, read_contract]), send])
    sender = Agent(name="sender", description="Sends.", tools=[send])
    assert await found([read_mail], sub_agents=[sender])
