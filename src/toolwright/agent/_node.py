"""An agent's place among others: its name, what it is for, who is above and below it."""

import copy
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, Self

from toolwright._sealed import Sealed
from toolwright.agent._hooks import NO_HOOKS, Hooks
from toolwright.agent._limits import Limits
from toolwright.agent._result import Outcome
from toolwright.agent._rules import Guard
from toolwright.concurrency import close_all
from toolwright.errors import UsageError
from toolwright.messages import ServerTool
from toolwright.models import Model
from toolwright.tools import SessionInfo, Tool, Toolset

__all__ = ["AgentNode", "check_agent_names"]


class AgentNode(Sealed):
    """Anything that can take part in a conversation: an agent with a model, or a workflow."""

    hands_over = True
    """Whether agents below it may hand the conversation to it and to each other."""
    is_asked_by_person = True
    """Whether the messages to it, where it is the outermost, are a person's; a program that makes
    calls is none."""
    on_tool_error: Literal["tell", "raise"] = "tell"
    """What becomes of an exception in a tool: told to whoever called it, or the end of the run."""
    guards: tuple[Guard, ...] = ()
    """The rules that it brings into its runs, and into those inside them."""
    hooks: Hooks = NO_HOOKS
    _lent: Model | None = None

    def __init__(
        self,
        *,
        name: str,
        description: str = "",
        sub_agents: Sequence["AgentNode"] = (),
        limits: Limits | None = None,
        disallow_transfer_to_parent: bool = False,
        disallow_transfer_to_peers: bool = False,
    ) -> None:
        if not name or not name.replace("_", "a").replace("-", "a").isalnum():
            raise UsageError(f"An agent's name is letters, digits, '_' and '-'; got {name!r}.")
        self.name = name
        self.description = description
        self.limits = limits or Limits()
        self.disallow_transfer_to_parent = disallow_transfer_to_parent
        self.disallow_transfer_to_peers = disallow_transfer_to_peers
        self.parent: AgentNode | None = None
        self.sub_agents = tuple(sub_agents)
        _check_names(name, self.sub_agents)
        check_agent_names(self)
        for child in self.sub_agents:
            child.join(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def join(self, parent: "AgentNode") -> None:
        """Become a child of `parent`; an agent has one parent at most."""
        if self.parent is not None and self.parent is not parent:
            raise UsageError(
                f"Agent {self.name!r} is already a sub-agent of {self.parent.name!r}; "
                f"make another one for {parent.name!r}."
            )
        self.parent = parent

    def copy(self) -> Self:
        """The same agent without a parent; those below it are copied with it."""
        twin = copy.copy(self)
        twins = {id(child): child.copy() for child in self.sub_agents}
        # A workflow of one's own may keep its steps under names of its own. Set past the guard:
        # nobody has seen the twin yet.
        own = {name: twins.get(id(value), value) for name, value in vars(self).items()}
        vars(twin).update(own, parent=None, sub_agents=tuple(twins.values()))
        for child in twin.sub_agents:
            child.join(twin)
        return twin

    @property
    def has_model(self) -> bool:
        """Whether every agent in it has a model."""
        in_tools = (inside for tool in self.own_tools()[0] for inside in tool.inside)
        agents = (*self.sub_agents, *(node for node in in_tools if isinstance(node, AgentNode)))
        return self._lent is not None or all(agent.has_model for agent in agents)

    def with_model(self, model: Model) -> Self:
        """The same with a model for the agents in it that have none; it has no parent yet."""
        twin = self.copy()
        vars(twin)["_lent"] = model
        return twin

    def own_model(self) -> Model | None:
        """The model that it has for itself and for those inside it."""
        return self._lent

    def nearest_model(self) -> Model | None:
        """Its own model, else that of the nearest agent above it."""
        if (model := self.own_model()) is not None:
            return model
        return None if self.parent is None else self.parent.nearest_model()

    def find(self, name: str) -> "AgentNode | None":
        """This agent, or the one below it with that name that a conversation can be handed to."""
        return next((agent for agent in self._in_conversation() if agent.name == name), None)

    def _in_conversation(self) -> Iterator["AgentNode"]:
        """This agent and those below it that a conversation can be handed to.

        The steps of a workflow have conversations of their own.
        """
        yield self
        for child in self.sub_agents if self.hands_over else ():
            yield from child._in_conversation()

    def reachable(self) -> list["AgentNode"]:
        """The agents a transfer may go to: children, then parent, then siblings, by its rules."""
        targets = list(self.sub_agents)
        if self.parent is not None and self.parent.hands_over:
            if not self.disallow_transfer_to_parent:
                targets.append(self.parent)
            if not self.disallow_transfer_to_peers:
                targets.extend(peer for peer in self.parent.sub_agents if peer is not self)
        return targets

    async def go(self, run: Any) -> Outcome | None:
        """Go on with the conversation of `run` (a `Run`) until it is done, waits, or must stop.

        None: another agent has the conversation now (`run.agent`) and goes on with it.
        """
        raise TypeError(f"{type(self).__name__} must define go(run).")

    def helpers(self, tools: Iterable[Tool] | None = None) -> list["AgentNode"]:
        """The agents that it can hand something to: those below it, and those inside its tools.

        `tools` are those that it has now, with what toolsets have listed.
        """
        own = self.own_tools()[0] if tools is None else tools
        inside = (agent for tool in own if tool.inside for agent in _agents_in(tool))
        return [*self.sub_agents, *inside]

    def own_tools(self) -> tuple[Sequence[Tool], Sequence[Toolset]]:
        """The tools that it calls itself, and the toolsets that list more."""
        return (), ()

    def server_tools(self) -> Sequence[ServerTool]:
        """Those that its model's provider calls."""
        return ()

    async def close(self) -> None:
        """Let go of what this agent and those below it hold open, even if some of it fails."""
        await close_all([child.close for child in self.sub_agents])

    async def end_session(self, session: SessionInfo) -> None:
        """Let go of what the toolsets of this agent and those below it keep for one session."""
        await close_all([partial(child.end_session, session) for child in self.sub_agents])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _check_names(parent: str, children: Sequence[AgentNode]) -> None:
    names = [child.name for child in children]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"Agent {parent!r} has two sub-agents named {twice!r}; rename one.")


def check_agent_names(parent: AgentNode, tools: Iterable[Tool] = ()) -> None:
    """`UsageError` when two agents could not be told apart: rules and approvals know them by name.

    Those are the agents that one conversation may be handed to, those that one agent has below it
    or inside its tools, and an agent and whoever works for it at any depth.
    """
    tools = list(tools)
    _refuse_twins(parent, parent._in_conversation())
    _refuse_twins(parent, parent.helpers(tools))
    namesakes = (agent for agent in _working_for(parent, tools) if agent.name == parent.name)
    _refuse_twins(parent, [parent, *namesakes])


def _working_for(top: AgentNode, tools: Iterable[Tool]) -> Iterator[AgentNode]:
    """All agents below an agent and inside its tools, at any depth, each once."""
    known: set[int] = set()
    waiting = top.helpers(tools)
    while waiting:
        agent = waiting.pop()
        if id(agent) not in known:
            known.add(id(agent))
            yield agent
            waiting += agent.helpers()


def _refuse_twins(parent: AgentNode, agents: Iterable[AgentNode]) -> None:
    known: dict[str, AgentNode] = {}
    for agent in agents:
        if known.setdefault(agent.name, agent) is not agent:
            raise UsageError(
                f"Agent {parent.name!r} has two agents named {agent.name!r} below it or inside its "
                "tools; rename one: rules and approvals tell agents apart by their names."
            )


def _agents_in(tool: Tool) -> Iterator[AgentNode]:
    for inner in tool.inside:
        if isinstance(inner, AgentNode):
            yield inner
        elif isinstance(inner, Tool):
            yield from _agents_in(inner)
