"""An agent that works on tasks, and under which conditions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolwright.agent import ABOVE_ALL, Above, AgentNode, Runner, agents_inside
from toolwright.errors import UsageError
from toolwright.tasks._task import Task

__all__ = ["Registered", "above_child"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """An agent and how many of its tasks may run."""

    runner: Runner
    workers: int
    per_owner: int | None
    per_key: int
    rate: tuple[int, float] | None
    max_crashes: int | None
    """How often in a row a task may be lost with its worker, or not be stored; None: for ever."""
    retention: float | None
    """For how many seconds ended tasks are kept; None: until somebody prunes them."""
    version: str
    goes_on_from: Collection[str] | None
    """The versions whose tasks this one can go on with; None: all."""

    def __post_init__(self) -> None:
        if self.workers < 1 or self.per_key < 1:
            raise UsageError("workers and per_key must be at least 1.")
        if self.per_owner is not None and self.per_owner < 1:
            raise UsageError(f"per_owner must be at least 1, or None; got {self.per_owner!r}.")
        if self.max_crashes is not None and self.max_crashes < 1:
            raise UsageError(f"max_crashes must be at least 1, or None; got {self.max_crashes!r}.")
        if self.rate is not None and (self.rate[0] < 1 or self.rate[1] <= 0):
            raise UsageError(f"rate is (starts, seconds), both positive; got {self.rate!r}.")

    def refusal(self, task: Task) -> str | None:
        """Why this worker cannot go on with a task; None when it can."""
        if self.max_crashes is not None and task.crashes >= self.max_crashes:
            return (
                f"It was lost with its worker, or could not be stored, {task.crashes} times in a row. "
                f"The last time: {task.reason or 'its worker does not know.'} "
                "It is kept: retry it when the cause is gone."
            )
        return None


def above_child(
    names: Sequence[str],
    asked: str | None,
    agents: Mapping[str, Registered],
    unruled: Collection[str] = (),
    records: Sequence[Mapping[str, Any]] = (),
) -> Above:
    """All rules of the agents on the path to the call that started a child task.

    `UsageError` when one of them is not registered here, or when it cannot be said which of two is
    meant, or when their rules here are not those that the task was started under (`records`): without
    them it must not run. `asked` is what the person has asked for; the `unruled` among the names need
    not be known.
    """
    above, path = replace(ABOVE_ALL, asked=asked), list[AgentNode]()
    for name in names:
        task = agents.get(name)
        meant = {*_named(name, path), *([task.runner.agent] if task else [])}
        if len(meant) != 1 and name in unruled:
            above = replace(above, names=(*above.names, name))
            continue
        if len(meant) > 1:
            raise UsageError(
                f"The rules of agent {name!r} hold for this task, and there are {len(meant)} agents "
                "of that name on its path, inside an agent and registered; rename one."
            )
        if not meant:
            raise UsageError(
                f"The rules of agent {name!r} hold for this task, and no agent of that name is "
                "registered with this worker; register it as well."
            )
        if task is not None:
            # It may have been reached as a task of its own: then its runner's rules hold as well.
            above = above.with_guards(task.runner.guards)
        path += meant
        above = above.with_agents(path[-1:])
    _refuse_others(above, records)
    return above.of_another_run(records)


def _refuse_others(above: Above, records: Sequence[Mapping[str, Any]]) -> None:
    """`UsageError` when a rule that the task was started under is not among those known here.

    Those who have more rules here than there can only be stricter.
    """
    for rule in records:
        if any(guard.is_of(rule) for guard in above.guards):
            continue
        if rule["digest"] is None:
            raise UsageError(
                f"The task was started under {rule['whose']}, which has a function that holds something "
                "whose value cannot be compared: nobody can tell whether it is the same with this "
                "worker. Write the condition as text, or let the function hold plain values only (texts, "
                "numbers, collections of them) and reach others by a global name; then start the task "
                "anew."
            )
        raise UsageError(
            f"The task was started under {rule['whose']}, which is not the same with this worker: "
            "it has other rules there, or none. Register the agents with the rules that they had "
            "where the task was started, and retry it; or start it anew."
        )


def _named(name: str, path: Sequence[AgentNode]) -> list[AgentNode]:
    """The agents of that name to which those on the path can have handed something."""
    nearest = [agent for agent in path[-1].helpers() if agent.name == name] if path else []
    return nearest or [a for top in path for a in agents_inside(top) if a.name == name]
