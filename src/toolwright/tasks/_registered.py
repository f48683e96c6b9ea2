"""An agent that works on tasks, and under which conditions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from toolwright.agent import ABOVE_ALL, Above, Runner, agents_inside
from toolwright.errors import UsageError
from toolwright.tasks._task import Task

__all__ = ["Registered", "above_child"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """An agent and how many of its tasks may run."""

    runner: Runner
    workers: int
    per_owner: int | None
    rate: tuple[int, float] | None
    version: str
    goes_on_from: Collection[str] | None
    """The versions whose tasks this one can go on with; None: all."""

    def __post_init__(self) -> None:
        if self.workers < 1 or (self.per_owner is not None and self.per_owner < 1):
            raise UsageError("workers and per_owner must be at least 1.")
        if self.rate is not None and (self.rate[0] < 1 or self.rate[1] <= 0):
            raise UsageError(f"rate is (starts, seconds), both positive; got {self.rate!r}.")

    def refusal(self, task: Task) -> str | None:
        """Why this version of the code cannot go on with a task; None when it can."""
        if task.attempts == 0 or self.goes_on_from is None or task.version == self.version:
            return None
        if task.version in self.goes_on_from:
            return None
        return (
            f"The task ran under version {task.version!r} of agent {task.agent!r}; version "
            f"{self.version!r} goes on from {', '.join(map(repr, self.goes_on_from)) or 'no other'}"
            ". It is kept: retry it on a worker that can."
        )


def above_child(names: Sequence[str], agents: Mapping[str, Registered]) -> Above:
    """The rules of the agents on the path to the call that started a child task.

    `UsageError` when one of them is not registered here: without its rules the task must not run.
    """
    above, known = ABOVE_ALL, {}
    for name in names:
        if name in known:
            above = above.with_agents([known[name]])
        elif name in agents:
            runner = agents[name].runner
            above = above.with_guards(runner.guards).with_agents([runner.agent])
            known = {agent.name: agent for agent in agents_inside(runner.agent)}
        else:
            raise UsageError(
                f"The rules of agent {name!r} hold for this task, and no agent of that name is "
                "registered with this worker; register it as well."
            )
    return above.of_another_run()
