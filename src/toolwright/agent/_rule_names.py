"""Refuse a rule for a name that nothing has: misspelt, it would leave a tool unguarded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolwright.agent._node import AgentNode
from toolwright.agent._rules import Guard, guards_around
from toolwright.errors import UsageError
from toolwright.messages import ServerTool, ToolSpec
from toolwright.tools import (
    Args,
    NameKind,
    Output,
    PolicyWish,
    ReadonlyContext,
    Rules,
    Tool,
    ToolContext,
    Toolset,
    nearest,
)

__all__ = [
    "Reached",
    "agents_inside",
    "check_all_rule_names",
    "check_rule_names",
    "refuse_unknown_names",
    "stand_in",
]


_TRANSFER = "transfer_to_agent"
"""Given to agents that have others around them, when they first run."""
_WORDS: dict[NameKind, str] = {"tool": "tool", "agent": "agent", "source": "tool from"}
ANYTHING = ("*", "")
"""Patterns that are never wrong: for all there is, and for tools that came from nowhere else."""
Names = Mapping[NameKind, Iterable[str]]


def stand_in(server_tool: ServerTool) -> Tool:
    """A tool of a model's provider as rules see it; it is never called here."""

    async def run(args: Args, ctx: ToolContext) -> Output:
        raise AssertionError("only the provider calls it")

    return Tool(spec=ToolSpec(name=server_tool.name), parse=lambda raw: {}, run=run)


class Reached:
    """The agents and tools that an agent can have work done by, each once."""

    def __init__(self, *tops: AgentNode) -> None:
        self.agents: dict[int, AgentNode] = {}
        self.tools: list[Tool] = []
        self.server_tools: list[Tool] = []
        """What stands in for those that providers call."""
        self.toolsets: list[Toolset] = []
        """Those whose tools are not among `tools`."""
        self.listed: list[Toolset] = []
        """Those that were asked for theirs."""
        for top in tops:
            self._add_agent(top)

    async def list_all(self, ctx: ReadonlyContext | None) -> None:
        """Add what toolsets have; those that cannot say that now are left in `toolsets`."""
        unlisted: list[Toolset] = []
        while self.toolsets:
            toolset = self.toolsets.pop()
            self.listed.append(toolset)
            found = await toolset.all_tools(ctx)
            if found is None:
                unlisted.append(toolset)
            for tool in found or ():
                self._add_tool(tool)
        self.toolsets = unlisted

    def _add_agent(self, agent: AgentNode) -> None:
        if id(agent) in self.agents:
            return
        self.agents[id(agent)] = agent
        tools, toolsets = agent.own_tools()
        self.toolsets += toolsets
        self.server_tools += map(stand_in, agent.server_tools())
        for tool in tools:
            self._add_tool(tool)
        for child in agent.sub_agents:
            self._add_agent(child)

    def _add_tool(self, tool: Tool) -> None:
        self.tools.append(tool)
        for inner in tool.inside:
            if isinstance(inner, AgentNode):
                self._add_agent(inner)
            elif isinstance(inner, Tool):
                self._add_tool(inner)


def agents_inside(top: Any) -> Iterator[Any]:
    """`top` and all agents that it or its tools can hand work to, each once."""
    yield from Reached(top).agents.values()


def refuse_unknown_names(agent: AgentNode) -> None:
    """Check the rules of `agent` when it is built, if all tools it can reach are known by then.

    Names of agents, and those in policies around single tools, are left for the first run: others
    that they are about may be around it by then.
    """
    if not any(guard.unchecked for guard in agent.guards):
        return
    reached = Reached(agent)
    for guard in agent.guards:
        names = _names_for(guard, [*reached.tools, *reached.server_tools])
        _strike(guard, names)
        if not reached.toolsets:
            _refuse(guard, names)


async def check_rule_names(
    guard: Guard,
    *,
    listed: Iterable[Tool],
    path: Sequence[str],
    root: AgentNode | None,
    ctx: ReadonlyContext,
) -> None:
    """Check the names in `guard` against what a turn has, and then against all that there is.

    `UsageError` for one that no tool or agent has, or from which none came. While a toolset cannot
    say what it has, names are left for the next listing.

    Args:
        guard: The rules.
        listed: The tools of the turn.
        path: The agents on the path.
        root: The agent that everything begins with.
        ctx: For listing toolsets.
    """
    _strike(guard, {**_names_for(guard, listed), "agent": path})
    top = guard.owner or root
    if not guard.unchecked or guard.elsewhere or top is None:
        return
    reached = Reached(top)
    await reached.list_all(ctx)
    names = _names_for(guard, [*listed, *reached.tools, *reached.server_tools])
    _strike(guard, names)
    if not reached.toolsets:
        _refuse(guard, names)
    if any(kind == "agent" for kind, _ in guard.unchecked):
        await _check_agents(guard, path, top if root is None else root, ctx)


async def check_all_rule_names(
    root: AgentNode, guards: Sequence[Guard], ctx: ReadonlyContext
) -> list[str]:
    """Check the names in all rules that may hold in a run of `root`, at any depth, before there is one.

    `UsageError` as from `check_rule_names`. What is returned are the names that could not be
    checked, in words: a toolset that may have them cannot be listed now.

    Args:
        root: The agent that everything begins with.
        guards: The rules around it.
        ctx: For listing toolsets.
    """
    reached = Reached(root)
    await reached.list_all(ctx)
    theirs = [guard for agent in reached.agents.values() for guard in agent.guards]
    found = [*guards, *theirs, *guards_around(reached.tools)]
    for guard in found:
        if guard.unchecked:
            await check_rule_names(guard, listed=(), path=(), root=root, ctx=ctx)
    away = ", ".join(sorted({type(toolset).__name__ for toolset in reached.toolsets}))
    return [
        f"{guard.origin} names the {_WORDS[kind]} {name.pattern!r}, which could not be checked: "
        f"{away or 'a toolset'} lists no tools now; its server is away, or wants a sign-in"
        for guard in found
        for kind, name in sorted(guard.unchecked, key=lambda pair: (pair[0], pair[1].pattern))
    ]


async def _check_agents(
    guard: Guard, path: Sequence[str], root: AgentNode, ctx: ReadonlyContext
) -> None:
    """Rules may be about agents around the one whose they are, so all there are count."""
    reached = Reached(root)
    await reached.list_all(ctx)
    names: Names = {"agent": [*path, *(agent.name for agent in reached.agents.values())]}
    _strike(guard, names)
    if not reached.toolsets:
        _refuse(guard, names)


def _names_for(guard: Guard, tools: Iterable[Tool]) -> Names:
    """The names of tools and sources that may stand in a rule.

    A policy that was put around tools knows them as they were then, and no others.
    """
    if guard.around:
        tools = [
            wish.tool
            for tool in tools
            for wish in tool.confirm
            if isinstance(wish, PolicyWish) and wish.policy is guard.policy
        ]
        return {"tool": [t.name for t in tools], "source": [t.source for t in tools]}
    tools = list(tools)
    return {"tool": [_TRANSFER, *(t.name for t in tools)], "source": [t.source for t in tools]}


def _strike(guard: Guard, names: Names) -> None:
    for kind, known in names.items():
        found = list(known)
        guard.unchecked.difference_update(
            [
                (wanted, name)
                for wanted, name in guard.unchecked
                if wanted == kind and (name.pattern in ANYTHING or name.is_one_of(found))
            ]
        )


def _refuse(guard: Guard, names: Names) -> None:
    for kind, name in sorted(guard.unchecked, key=lambda pair: (pair[0], pair[1].pattern)):
        if kind not in names:
            continue
        pattern = name.pattern
        known = {known for known in names[kind] if known}
        told = (
            f"There is no {_WORDS[kind]} {pattern!r}, which {guard.origin} names; "
            f"{nearest(pattern, known)}"
        )
        if place := _written(guard, pattern):
            raise UsageError(f"{place}: {told}")
        raise UsageError(f"{told} Where it may be missing, say so: Rule.…(…, optional=True).")


def _written(guard: Guard, pattern: str) -> str | None:
    """The line of a file in which a name stands; None for rules that are made in Python."""
    return guard.policy.written.get(pattern) if isinstance(guard.policy, Rules) else None
