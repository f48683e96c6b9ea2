"""`toolwright check`: untrusted input, private data and a way out come together, and nobody is asked."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from toolwright.agent import Agent, Runner
from toolwright.cli._check import Finding
from toolwright.cli._tools import agents_of
from toolwright.tools import Policy, Rules, Tool

__all__ = ["check_rule_of_two"]

_PUBLIC = ("web_search", "web_fetch")
"""What these read anybody may."""
_STAYS_HERE = (
    "write_todos", "read_todos", "write", "edit", "write_file", "edit_file",
    "transfer_to_agent", "get_user_choice", "ask_user",
)  # fmt: skip
_MOST = 3
_MESSAGE = (
    "it reads what anybody may have written ({}) and private data ({}), and can send or change "
    "something ({}), and no rule looks at where values come from: a text could tell the model to give "
    "the one away by the other. Use policy=careful(), or add Rule.ask(from_untrusted=True)"
)


async def check_rule_of_two(runner: Runner, agent: Agent, listed: Sequence[Tool]) -> list[Finding]:
    """A warning for an agent of the runner when its tools, those of its helpers too, are all three."""
    around = () if agent is runner.agent else runner.agent.guards
    policies = [guard.policy for guard in (*runner.guards, *around, *agent.guards)]
    tools = [tool async for tool in _reached(agent, listed, set())]
    untrusted = [tool for tool in tools if not tool.is_trusted]
    others = [tool for tool in tools if tool.name not in _STAYS_HERE]
    private = [t for t in others if t.effects == "read" and t.name not in _PUBLIC]
    doing = [t for t in others if t.effects != "read" and not t.inside and not t.confirm]
    ways_out = [
        tool
        for tool in doing
        if all(_may_run(tool, policy) and not _looks_at_values(tool, policy) for policy in policies)
    ]
    if not (untrusted and private and ways_out):
        return []
    message = _MESSAGE.format(*map(_named, (untrusted, private, ways_out)))
    return [Finding(level="warning", tool=agent.name, message=message)]


def _looks_at_values(tool: Tool, policy: Policy | str) -> bool:
    """Whether the policy asks where the tool's values come from; a function may look at anything."""
    if not isinstance(policy, Rules):
        return callable(policy)
    if any(rule.from_untrusted for rule in Rules(policy.ordered).about(tool)):
        return True
    return _looks_at_values(tool, policy.otherwise)


def _may_run(tool: Tool, policy: Policy | str) -> bool:
    """Whether there are calls of the tool that the policy allows."""
    while isinstance(policy, Rules):
        for rule in Rules(policy.ordered).about(tool):
            if rule.verdict == "allow":
                return True
            if rule.when is None and rule.agent is None and rule.user is None:
                return False
        policy = policy.otherwise
    return policy == "allow"


async def _reached(agent: Any, listed: Sequence[Tool], seen: set[int]) -> Any:
    """The agent's tools, those that these call, and those of its helpers."""
    seen.add(id(agent))
    for tool in _with_inner(listed):
        yield tool
    for helper in itertools.chain.from_iterable(map(agents_of, agent.helpers(list(listed)))):
        if id(helper) not in seen:
            tools, toolsets = helper.own_tools()
            found = [tool for one in toolsets for tool in await one.list_tools(None)]
            async for tool in _reached(helper, [*tools, *found], seen):
                yield tool


def _with_inner(tools: Sequence[Tool]) -> Iterator[Tool]:
    for tool in tools:
        yield tool
        yield from _with_inner([inner for inner in tool.inside if isinstance(inner, Tool)])


def _named(tools: Sequence[Tool]) -> str:
    names = list(dict.fromkeys(tool.name for tool in tools))
    return ", ".join([*names[:_MOST], *(["…"] if len(names) > _MOST else [])])
