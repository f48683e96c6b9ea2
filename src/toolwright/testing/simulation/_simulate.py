"""Run many seeds of a scenario; show the first that breaks, with as few faults as still break it."""

import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from toolwright.testing.simulation._faults import FaultKind
from toolwright.testing.simulation._seed import Outcome, Scenario, run_seed

__all__ = ["Simulated", "SimulationFailed", "report", "shrink", "simulate"]

_MOST_SECONDS = 15.0
"""How long, in real time, a failing seed is made smaller."""


@dataclass(slots=True)
class Simulated:
    """What many seeds came to, all of them well."""

    seeds: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    """How many of each kind there were."""
    steps: int = 0
    seconds: float = 0.0
    """Virtual ones."""

    def add(self, outcome: Outcome) -> None:
        """Count one more."""
        self.seeds += 1
        self.faults.update(fault.kind for fault in outcome.faults)
        self.steps += outcome.steps
        self.seconds += outcome.seconds


class SimulationFailed(AssertionError):
    """A seed broke something that must hold; the text says how, and how to see it again."""

    def __init__(self, scenario: Scenario, outcome: Outcome, without: Collection[str]) -> None:
        super().__init__(report(scenario, outcome, without))
        self.seed = outcome.seed
        self.problem = outcome.problem
        self.outcome = outcome
        self.without = tuple(without)


def simulate(
    scenario: Scenario,
    *,
    seeds: int | Iterable[int] = 300,
    kinds: Collection[FaultKind] | None = None,
    seconds: float | None = None,
) -> Simulated:
    """Run `scenario` once per seed; raises `SimulationFailed` at the first that breaks something.

    `seeds` is how many, or which. `kinds` are the kinds of fault to choose from, all unless given.
    `seconds` of real time end it early. The same seed always gives the same run.
    """
    found, began = Simulated(), time.monotonic()
    for seed in range(seeds) if isinstance(seeds, int) else seeds:
        outcome = run_seed(scenario, seed, kinds=kinds)
        if outcome.problem:
            raise SimulationFailed(scenario, *shrink(scenario, outcome, kinds))
        found.add(outcome)
        if seconds is not None and time.monotonic() - began >= seconds:
            break
    return found


def shrink(
    scenario: Scenario, outcome: Outcome, kinds: Collection[FaultKind] | None = None
) -> tuple[Outcome, list[str]]:
    """The seed with as few faults as still break it, and those that were left out one by one.

    The outcome is that of a run that broke: not every one breaks again, such as a leak.
    """
    without: list[str] = []
    ends, progress = time.monotonic() + _MOST_SECONDS, True
    while progress:
        progress = False
        for fault in reversed(outcome.faults):
            if time.monotonic() > ends:
                return outcome, without
            attempt = run_seed(scenario, outcome.seed, kinds=kinds, without=[*without, fault.name])
            if attempt.problem:
                without.append(fault.name)
                outcome, progress = attempt, True
                break
    return outcome, without


def report(scenario: Scenario, outcome: Outcome, without: Collection[str] = ()) -> str:
    """All that one needs to understand a seed: what broke, the line to run it again, the trace."""
    name = f"{_module(scenario)}:{getattr(scenario, '__qualname__', scenario)}"
    left_out = "".join(f" --without {fault}" for fault in without)
    lines = [
        f"Seed {outcome.seed} of {name}: {outcome.problem or 'all holds'}",
        f"again: python -m toolwright.testing.simulation {name} --seed {outcome.seed}{left_out}",
        "faults:",
        *(f"  {fault.at - 1000:10.4f} {fault}" for fault in outcome.faults),
        "trace:",
        *(f"  {at:10.4f} {process:12} {text}" for at, process, text in outcome.trace[-200:]),
    ]
    for session_id, events in outcome.events.items():
        lines += [f"stored in {session_id!r}:", *(f"  {event}" for event in events)]
    return "\n".join(lines)


def _module(scenario: Scenario) -> str:
    """What another process finds the scenario by: its module, or the file of a program."""
    if scenario.__module__ != "__main__":
        return scenario.__module__
    program = sys.modules["__main__"]
    if program.__spec__ is not None:
        return program.__spec__.name
    return os.path.relpath(getattr(program, "__file__", None) or "__main__.py")
