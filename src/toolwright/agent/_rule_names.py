"""Refuse a rule for a name that no tool has: misspelt, it would leave its tool unguarded."""

import fnmatch
from collections.abc import Iterable, Iterator
from typing import Any

from toolwright.agent._node import AgentNode
from toolwright.agent._rules import Guard
from toolwright.errors import UsageError
from toolwright.tools import ReadonlyContext, Tool, Toolset, nearest

__all__ = ["agents_inside", "check_rule_names", "refuse_unknown_names"]


_TRANSFER = "transfer_to_agent"
"""Given to agents that have others around them, when they first run."""


def refuse_unknown_names(agent: Any) -> None:
    """Check the rules of `agent` when it is built, if all tools it can reach are known by then."""
    if not any(guard.unchecked for guard in agent.guards):
        return
    owned = [inner.own_tools() for inner in agents_inside(agent)]
    if any(toolsets for _, toolsets in owned):
        return
    names = {_TRANSFER, *(tool.name for tools, _ in owned for tool in tools)}
    for guard in agent.guards:
        _strike(guard, names)
        _refuse(guard, names)


async def check_rule_names(
    guard: Guard, listed: Iterable[str], top: Any, ctx: ReadonlyContext
) -> None:
    """Check the names in `guard` against what was listed, and then against all there is below `top`.

    `UsageError` for one that no tool has. While a toolset cannot say what it has, the names that
    might be its are left for the next listing.
    """
    _strike(guard, listed)
    if not guard.unchecked or top is None:
        return
    names, complete = {_TRANSFER, *listed}, True
    for agent in agents_inside(top):
        tools, toolsets = agent.own_tools()
        names |= {tool.name for tool in tools}
        for toolset in toolsets:
            found = await _all_of(toolset, ctx)
            complete = complete and found is not None
            names |= {tool.name for tool in found or ()}
    _strike(guard, names)
    if complete:
        _refuse(guard, names)


async def _all_of(toolset: Toolset, ctx: ReadonlyContext) -> list[Tool] | None:
    """All tools of a toolset, and of the agents that these run."""
    found = await toolset.all_tools(ctx)
    if found is None or not any(tool.inside for tool in found):
        return found
    inner = [agent for tool in found for top in _agents_of(tool) for agent in agents_inside(top)]
    more = [tool for agent in inner for tool in agent.own_tools()[0]]
    lists = [await toolset.all_tools(ctx) for agent in inner for toolset in agent.own_tools()[1]]
    if any(listed is None for listed in lists):
        return None
    return [*found, *more, *(tool for listed in lists for tool in listed or ())]


def agents_inside(top: Any) -> Iterator[Any]:
    """`top` and all agents that it or its tools can hand work to, each once."""
    seen: set[int] = set()
    waiting = [top]
    while waiting:
        agent = waiting.pop()
        if id(agent) in seen:
            continue
        seen.add(id(agent))
        yield agent
        tools, _ = agent.own_tools()
        waiting += [*agent.sub_agents, *(inner for tool in tools for inner in _agents_of(tool))]


def _agents_of(tool: Tool) -> list[AgentNode]:
    return [inner for inner in tool.inside if isinstance(inner, AgentNode)]


def _strike(guard: Guard, names: Iterable[str]) -> None:
    names = list(names)
    known = {pattern for pattern in guard.unchecked if fnmatch.filter(names, pattern)}
    guard.unchecked.difference_update(known, ("*",))


def _refuse(guard: Guard, names: Iterable[str]) -> None:
    for name in sorted(guard.unchecked):
        raise UsageError(
            f"There is no tool {name!r}, which {guard.origin} names; {nearest(name, names)} "
            "Where it may be missing, say so: Rule.…(…, optional=True)."
        )
