"""Find the tool that a waiting call is for, so that changed arguments are checked by the tool itself."""

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

from toolwright.agent._node import AgentNode
from toolwright.messages import Approve, Pending
from toolwright.tools import ReadonlyContext, Tool, Toolset

__all__ = ["changes_arguments", "tool_asked_about"]

_log = logging.getLogger("toolwright")


def changes_arguments(value: Any) -> bool:
    """Whether an answer would run its call with other arguments."""
    if isinstance(value, Approve):
        return value.arguments is not None
    return isinstance(value, dict) and value.get("arguments") is not None


async def tool_asked_about(
    root: AgentNode, pending: Pending, context: ReadonlyContext
) -> Tool | None:
    """The tool of `pending` among those of `root`, the agents below it and those inside its tools.

    None where it is not at hand: the agent is another one, or its toolset cannot be listed now.
    """
    # Toolsets are listed only if need be: a server may have to be started for it.
    for listing in (False, True):
        async for agent, tool in _tools(root, context if listing else None, set()):
            if (agent, tool.name) == (pending.agent, pending.name):
                return tool
    return None


async def _tools(
    node: AgentNode, context: ReadonlyContext | None, seen: set[int]
) -> AsyncIterator[tuple[str, Tool]]:
    """Every tool that can be called below `node`, with the name of the agent whose call it is."""
    if id(node) in seen:
        return
    seen.add(id(node))
    below: list[AgentNode] = [*node.sub_agents]
    tools = list(await _own(node, context))
    for tool in tools:  # Grows while it is gone through: a tool inside may have others inside it.
        yield node.name, tool
        tools += [inside for inside in tool.inside if isinstance(inside, Tool)]
        below += [inside for inside in tool.inside if isinstance(inside, AgentNode)]
    for agent in below:
        async for found in _tools(agent, context, seen):
            yield found


async def _own(node: AgentNode, context: ReadonlyContext | None) -> Sequence[Tool]:
    given, toolsets = node.own_tools()
    tools = [*given]
    if context is not None:
        for toolset in toolsets:
            tools += await _list(toolset, context)
    return tools


async def _list(toolset: Toolset, context: ReadonlyContext) -> Sequence[Tool]:
    try:
        return await toolset.list_tools(context)
    except Exception as error:  # noqa: BLE001 - the schema of the call's parameters is left
        _log.warning("An answer is checked without %r, which cannot be listed: %s", toolset, error)
        return []
