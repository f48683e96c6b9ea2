"""The tools an agent has in one turn: what the model is told, and what its calls find by name."""

import json
import logging
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolwright._settings import near_names
from toolwright.agent._bounds import READ_OUTPUT
from toolwright.agent._node import AgentNode, check_agent_names
from toolwright.agent._rules import Guard, guards_around
from toolwright.errors import ToolError, UsageError
from toolwright.messages import CALL_TOOL, ModelMessage, ServerTool, ToolCall, ToolSpec
from toolwright.tools import (
    BaseTool,
    ReadonlyContext,
    RequestShaper,
    Tool,
    Toolset,
    as_tool,
    without_clashes,
)

__all__ = ["Shelf", "Toolbox", "ToolboxMaker", "check_names", "real_call", "sort_tools"]

_log = logging.getLogger("toolwright")
_MOST_REMEMBERED = 20_000
"""Names of tools whose order is kept; more have only sources that make up new ones all the time."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Tools by name; `specs` are those the model may see now."""

    tools: dict[str, Tool]
    specs: tuple[ToolSpec, ...]
    free: Collection[str] = ()
    """The framework's own tools, which no rule and no hook is asked about."""
    outside: tuple[Tool, ...] = ()
    """Those that came from elsewhere, which may have changed since they were last seen; among them
    those that others of the tools call."""
    guards: tuple[Guard, ...] = ()
    """The policies around single tools whose names are still to be checked."""
    found: tuple[ToolSpec, ...] = ()
    """Those that the model may call too, and has been told of in the conversation."""
    searches: tuple[str, ...] = ()
    """The names of the tools that find others."""
    reads: bool = False
    """Whether one of the tools changes nothing, and might be started early."""

    def find(self, name: str, ctx: ReadonlyContext) -> Tool:
        """The tool to run, or a `ToolError` that helps the model to a better call."""
        tool = self.tools.get(name)
        if tool is None:
            known = [spec.name for spec in (*self.specs, *self.found)]
            near = near_names(name, known, most=3, cutoff=0.5)
            names = ", ".join(near or known[:20]) or "none"
            raise ToolError(
                f"There is no tool {name!r}. {'Near' if near else 'Known'} names: {names}."
            )
        if tool.is_enabled is not None and not tool.is_enabled(ctx):
            raise ToolError(f"Tool {name!r} is not available now; do not call it again.")
        return tool

    def with_real_calls(self, reply: ModelMessage) -> ModelMessage:
        """The reply with calls of the tools themselves, instead of those that `call_tool` calls."""
        if all(call.name != CALL_TOOL for call in reply.calls):
            return reply
        parts = (real_call(part) if isinstance(part, ToolCall) else part for part in reply.parts)
        return replace(reply, parts=tuple(parts))


def real_call(call: ToolCall) -> ToolCall:
    """The call that this one stands for; itself where it names none, which is answered like any."""
    try:
        given = json.loads(call.arguments) if call.name == CALL_TOOL else None
    except (ValueError, RecursionError):
        return call
    if not isinstance(given, dict) or not isinstance(name := given.pop("name", None), str):
        return call
    # Some models leave one of the two objects out.
    wanted = given.get("arguments", given)
    arguments = wanted if isinstance(wanted, str) else json.dumps(wanted, ensure_ascii=False)
    return replace(call, name=name, arguments=arguments, called_as=CALL_TOOL)


@dataclass(frozen=True, slots=True)
class Shelf:
    """An agent's `tools`, sorted by what they are."""

    tools: tuple[Tool, ...]
    toolsets: tuple[Toolset, ...]
    server_tools: tuple[ServerTool, ...]
    shapers: tuple[RequestShaper, ...]


def sort_tools(things: Iterable[Any]) -> Shelf:
    """Sort what the developer gave; functions become tools here, once."""
    tools: list[Tool] = []
    toolsets: list[Toolset] = []
    server_tools: list[ServerTool] = []
    shapers: list[RequestShaper] = []
    for thing in things:
        if isinstance(thing, Toolset):
            toolsets.append(thing)
        elif isinstance(thing, ServerTool):
            server_tools.append(thing)
        elif isinstance(thing, AgentNode):
            raise UsageError(
                f"Agent {thing.name!r} is not a tool; let it be called with tools=[AgentTool(…)], or "
                f"take over the conversation with sub_agents=[…]."
            )
        elif isinstance(thing, RequestShaper):
            shapers.append(thing)
            if isinstance(thing, BaseTool):
                tools.append(as_tool(thing))
        else:
            tools.append(as_tool(thing))
    return Shelf(tuple(tools), tuple(toolsets), tuple(server_tools), tuple(shapers))


def check_names(agent: str, tools: Sequence[Tool], free: Collection[str] = ()) -> dict[str, Tool]:
    """The tools by name; `UsageError` when two have the same, or one that the framework needs.

    Those in `free` are the framework's own.
    """
    by_name: dict[str, Tool] = {}
    for tool in tools:
        if tool.name == READ_OUTPUT and tool.name not in free:
            raise _is_needed(agent, READ_OUTPUT, "reads on in long outputs")
        if tool.name in by_name:
            if tool.name == CALL_TOOL and tool.name in free:
                raise _is_needed(agent, CALL_TOOL, "calls what a search for tools has found")
            raise UsageError(
                f"Agent {agent!r} has two tools named {tool.name!r}; rename one "
                "(@tool(name=…)) or give its toolset a tool_name_prefix."
            )
        by_name[tool.name] = tool
    return by_name


def _is_needed(agent: str, name: str, what: str) -> UsageError:
    return UsageError(
        f"Agent {agent!r} has a tool named {name!r}, which is the name of the one that {what}; rename "
        "it (@tool(name=…)) or give its toolset a tool_name_prefix."
    )


class ToolboxMaker:
    """Makes the toolbox for each turn, and gives the same object again while nothing changes."""

    def __init__(self, agent: AgentNode, shelf: Shelf, wrap: Callable[[Tool], Tool]) -> None:
        self.agent = agent
        self.toolsets = shelf.toolsets
        self.wrap = wrap
        self.fixed = [wrap(tool) for tool in shelf.tools]
        check_names(agent.name, self.fixed)
        check_agent_names(agent, self.fixed)
        self._specs: tuple[ToolSpec, ...] = ()
        """Of the toolbox that was made last."""
        self._found: tuple[ToolSpec, ...] = ()
        self._order: dict[str, int] = {}
        """Names by when they were first listed."""
        changing = shelf.toolsets or any(tool.is_enabled is not None for tool in self.fixed)
        self._constant = None if changing else _build(agent, self.fixed, [True] * len(self.fixed))

    async def toolbox(
        self,
        ctx: ReadonlyContext,
        memo: "ListingMemo",
        extra: Sequence[Tool],
        told: Callable[[], Collection[str]] = tuple,
    ) -> Toolbox:
        """The toolbox for this turn; `memo` keeps what this run's toolsets have listed.

        `told` gives the names of the tools that the conversation has the definitions of.
        """
        if self._constant is not None and not extra:
            return self._constant
        tools = list(self.fixed)
        changing: list[Tool] = []
        for toolset in self.toolsets:
            listed = await self._listed(toolset, ctx, memo.listings)
            tools.extend(listed)
            if not toolset.cache_listing:
                changing.extend(listed)
        callers = {tool.caller.name: tool.caller for tool in changing if tool.caller is not None}
        extra = (*extra, *callers.values())
        tools.extend(extra)
        tools = self._as_first_listed(tools)
        shown = [tool.is_enabled is None or tool.is_enabled(ctx) for tool in tools]
        known = told() if any(tool.is_found for tool in changing) else ()
        key = ([id(tool) for tool in tools], shown, known)
        if memo.toolbox is None or memo.key != key:
            free = tuple(tool.name for tool in extra)
            box = _build(self.agent, tools, shown, free, known)
            memo.key, memo.toolbox = key, self._same_specs(box)
        return memo.toolbox

    def _as_first_listed(self, tools: list[Tool]) -> list[Tool]:
        """The tools in the order in which their names first came, whatever their source says now.

        They are the beginning of every request: in another order, or with a new one among them, a
        provider's cache of the whole conversation is lost.
        """
        order = self._order
        if len(order) > _MOST_REMEMBERED:
            order.clear()
        ranks = [order.setdefault(tool.name, len(order)) for tool in tools]
        in_order = all(map(operator.le, ranks, ranks[1:]))
        return tools if in_order else sorted(tools, key=lambda tool: order[tool.name])

    def _same_specs(self, box: Toolbox) -> Toolbox:
        """The toolbox with the specs of the last one where nothing has changed: models convert a
        tuple once."""
        if box.specs != self._specs:
            self._specs = box.specs
        if box.found != self._found:
            self._found = box.found
        return replace(box, specs=self._specs, found=self._found)

    async def _listed(
        self, toolset: Toolset, ctx: ReadonlyContext, listings: dict[int, list[Tool]]
    ) -> list[Tool]:
        known = listings.get(id(toolset))
        if known is not None and toolset.cache_listing:
            return known
        listed = [self.wrap(tool) for tool in await toolset.list_tools(ctx)]
        listings[id(toolset)] = listed
        return listed


class ListingMemo:
    """What one run has listed so far, so that an unchanged list stays the same object."""

    __slots__ = ("key", "listings", "toolbox")

    def __init__(self) -> None:
        self.listings: dict[int, list[Tool]] = {}
        self.key: Any = None
        self.toolbox: Toolbox | None = None


def _with_those_inside(tools: Iterable[Tool]) -> Iterator[Tool]:
    """The tools, and those that they call themselves, at any depth."""
    for tool in tools:
        yield tool
        if tool.inside:
            yield from _with_those_inside(t for t in tool.inside if isinstance(t, Tool))


def _without_taken(tools: Sequence[Tool], free: Collection[str]) -> Sequence[Tool]:
    """The tools without one from outside that has a name which the framework needs."""
    names = {READ_OUTPUT, *free}
    taken = [tool for tool in tools if tool.name in names and tool.source]
    for tool in taken:
        _log.error(
            "Tool %r of %s is left out: the framework has one of that name; give its toolset a "
            "tool_name_prefix to have both.", tool.name, tool.source,
        )  # fmt: skip
    return [tool for tool in tools if tool not in taken] if taken else tools


def _build(
    agent: AgentNode,
    tools: Sequence[Tool],
    shown: Sequence[bool],
    free: Collection[str] = (),
    told: Collection[str] = (),
) -> Toolbox:
    kept = without_clashes(_without_taken(tools, free))
    by_name = check_names(agent.name, kept, free)
    check_agent_names(agent, kept)
    hidden = {id(tool) for tool, show in zip(tools, shown, strict=True) if not show}
    visible = [tool for tool in kept if id(tool) not in hidden]
    # One that nobody has told the model of, such as by a result that was cut out, is told here.
    later = {tool.name for tool in visible if tool.is_found and tool.name in told}
    specs = tuple(tool.spec for tool in visible if tool.name not in later)
    found = tuple(tool.spec for tool in visible if tool.name in later)
    reads = any(tool.effects == "read" for tool in visible)
    searches = tuple(tool.name for tool in visible if tool.caller is not None)
    outside = tuple(tool for tool in _with_those_inside(tools) if tool.source)
    return Toolbox(by_name, specs, free, outside, guards_around(kept), found, searches, reads)
