"""The rules of a run: those of everybody on the path from the root agent to a tool."""

import inspect
import itertools
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from toolwright.agent._hooks import Hooks
from toolwright.errors import UsageError
from toolwright.tools import (
    Named,
    NameKind,
    Policy,
    PolicyWish,
    Require,
    Rules,
    Tool,
    digest_of_policy,
    interrupting,
)

__all__ = ["ABOVE_ALL", "Above", "Guard", "compiled", "guards_around", "path_to"]

_PROCESS = secrets.token_hex(8)


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A policy, and whose it is."""

    policy: Policy
    origin: str
    """Such as "the policy of agent 'clerk'"."""
    owner: Any = None
    """The agent whose it is; None for the runner's, which is about all agents."""
    unchecked: set[tuple[NameKind, Named]] = field(default_factory=set)
    """The names and patterns in it that no listing has shown to be right yet."""
    around: bool = False
    """Whether it was put around tools, and knows no others."""
    elsewhere: bool = False
    """Whether its names are checked where the task that it holds for was started, and not here."""
    mark: int = field(default_factory=itertools.count().__next__)
    """Tells it from all others of this process."""

    @property
    def record(self) -> dict[str, Any]:
        """What a worker has to know of it that runs a task started under it; plain JSON."""
        return {
            "whose": self.origin,
            "digest": digest_of_policy(self.policy),
            "here": f"{_PROCESS}.{os.getpid()}.{self.mark}",
            "unresolved": self.unresolved(),
        }

    def is_of(self, record: Mapping[str, Any]) -> bool:
        """Whether it is the one that the record was made of, or decides the same in another process.

        One with a function of which that cannot be known (`digest` is None) is only ever itself.
        """
        own = self.record
        if own["whose"] != record["whose"]:
            return False
        is_same = own["digest"] is not None and own["digest"] == record["digest"]
        return is_same or own["here"] == record.get("here")

    def in_another_run(self, records: Sequence[Mapping[str, Any]]) -> "Guard":
        """The same in a task: what nobody could resolve where it was started is unresolved there."""
        names = {name for record in records if self.is_of(record) for name in record["unresolved"]}
        found = {(kind, name) for kind, name in _names(self.policy) if repr(name.pattern) in names}
        return replace(self, unchecked=found, elsewhere=True)

    def unresolved(self) -> list[str]:
        """The names that may be misspelt, for all that is known so far, and would let calls run then."""
        if not self.unchecked or not isinstance(self.policy, Rules):
            return []
        strict = set(self.policy.names(strict=True)) & self.unchecked
        return sorted({repr(name.pattern) for _, name in strict})


def compiled(
    whose: str,
    policy: Policy | None = None,
    interrupt_on: Mapping[str, Require] | None = None,
    owner: Any = None,
) -> tuple[Guard, ...]:
    """All that somebody has written about who may do what, as guards of a run.

    Args:
        whose: Such as "agent 'clerk'".
        policy: What `policy=` was given.
        interrupt_on: What `interrupt_on=` was given.
        owner: The agent, if it is one.
    """
    guards = []
    if policy is not None:
        if not callable(policy):
            raise UsageError(
                f"policy= of {whose} takes rules(…) or an async function; got {policy!r}."
            )
        if _makes_policies(policy):
            raise UsageError(
                f"policy= of {whose} takes a policy, which {policy.__name__} makes: "
                f"write policy={policy.__name__}(…)."
            )
        guards.append(_guard(policy, f"the policy of {whose}", owner))
    if interrupt_on:
        guards.append(_guard(interrupting(dict(interrupt_on)), f"interrupt_on of {whose}", owner))
    return tuple(guards)


def _makes_policies(policy: Any) -> bool:
    """Whether it is `careful`, `rules` or another function of ours, and not what that returns."""
    ours = inspect.isfunction(policy) and policy.__module__.startswith("toolwright.")
    return ours and "<locals>" not in policy.__qualname__


def _guard(policy: Policy, origin: str, owner: Any) -> Guard:
    return Guard(policy, origin, owner, _names(policy))


def guards_around(tools: Iterable[Tool]) -> tuple[Guard, ...]:
    """The policies around tools, and around those that tools call, for the check of their names."""
    found: dict[int, Guard] = {}
    for tool in tools:
        if not tool.confirm and not tool.inside:
            continue
        for wish in tool.confirm:
            if isinstance(wish, PolicyWish) and id(wish.policy) not in found:
                origin = f"the policy around tool {wish.tool.name!r}"
                names = _names(wish.policy)
                found[id(wish.policy)] = Guard(wish.policy, origin, unchecked=names, around=True)
        inner = [thing for thing in tool.inside if isinstance(thing, Tool)]
        found |= {id(guard.policy): guard for guard in guards_around(inner)} if inner else {}
    return tuple(guard for guard in found.values() if guard.unchecked)


def _names(policy: Policy) -> set[tuple[NameKind, Named]]:
    return set(policy.names()) if isinstance(policy, Rules) else set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Above:
    """What a run has from those around it; it can add to this and take nothing away."""

    guards: tuple[Guard, ...] = ()
    names: tuple[str, ...] = ()
    """The agents on the path, the root first."""
    hooks: tuple[Hooks, ...] = ()
    asked: str | None = None
    """What the person has asked for, where the messages to the run are not theirs."""
    agents: tuple[Any, ...] = ()
    """Those on the path that are known here."""
    cost: float = 0.0
    """What those around it had cost when it was started, where its own meter does not count them."""

    def with_agents(self, agents: Sequence[Any]) -> "Above":
        """The same, with these agents below; `UsageError` for another one of a name on the path."""
        for one, other in combinations((*self.agents, *agents), 2):
            if one.name == other.name and one is not other:
                raise UsageError(
                    f"There are two agents named {one.name!r} on the path "
                    f"{'/'.join((*self.names, *(agent.name for agent in agents)))!r}; rename one: "
                    "rules and approvals tell agents apart by their names."
                )
        return replace(
            self,
            agents=(*self.agents, *agents),
            guards=(*self.guards, *(guard for agent in agents for guard in agent.guards)),
            names=(*self.names, *(agent.name for agent in agents)),
            hooks=(*self.hooks, *(agent.hooks for agent in agents)),
        )

    def with_guards(self, guards: Sequence[Guard]) -> "Above":
        """The same, with these rules as well."""
        return replace(self, guards=(*self.guards, *guards))

    def of_another_run(self, records: Sequence[Mapping[str, Any]] = ()) -> "Above":
        """Only the rules, whose names that run has to check, and the path; it has left `records`."""
        guards = tuple(guard.in_another_run(records) for guard in self.guards)
        return replace(self, guards=guards, hooks=())


ABOVE_ALL = Above()
"""There is nobody around it."""


def path_to(entry: Any, current: Any) -> list[Any]:
    """The agents from `entry`, with which a conversation began, down to the one that has it now.

    A conversation that was handed to an agent outside of `entry` is still bound by `entry`.
    """
    upwards = list(_upwards(entry, current))
    return [*([] if upwards[-1] is entry else [entry]), *reversed(upwards)]


def _upwards(entry: Any, current: Any) -> Iterator[Any]:
    while True:
        yield current
        if current is entry or current.parent is None:
            return
        current = current.parent
