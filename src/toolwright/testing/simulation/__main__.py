"""Run a scenario from a terminal: one seed with its trace, some seeds, or as many as fit in a time."""

import argparse
import itertools
import logging
import random
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from toolwright.errors import UsageError
from toolwright.testing.simulation._seed import run_seed
from toolwright.testing.simulation._simulate import SimulationFailed, report, simulate


def main(arguments: list[str] | None = None) -> int:
    """0 when all holds, 1 when a seed broke something."""
    logging.getLogger("toolwright").setLevel(logging.CRITICAL)
    given = _parser().parse_args(arguments)
    scenario = _find(given.scenario)
    if given.seed is not None:
        outcome = run_seed(scenario, given.seed, without=given.without)
        _say(report(scenario, outcome, given.without))
        return 1 if outcome.problem else 0
    seeds: Any = range(given.seeds)
    if given.seconds is not None:
        seeds = itertools.count(random.SystemRandom().randrange(2**32))
    try:
        found = simulate(scenario, seeds=seeds, seconds=given.seconds)
    except SimulationFailed as failure:
        _say(str(failure))
        return 1
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.faults.most_common())
    _say(f"{given.scenario}: {found.seeds} seeds, {found.steps} steps, {found.seconds:.0f} virtual")
    _say(f"seconds; faults: {kinds}. All holds.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m toolwright.testing.simulation")
    parser.add_argument("scenario", help="module:function, or file.py:function")
    parser.add_argument("--seed", type=int, help="run this seed and show its trace")
    parser.add_argument("--without", action="append", default=[], help="a fault to leave out")
    parser.add_argument("--seeds", type=int, default=300, help="how many seeds")
    parser.add_argument("--seconds", type=float, help="random seeds for so long")
    return parser


def _find(address: str) -> Any:
    module, _, name = address.rpartition(":")
    found = getattr(_load(module), name, None) if module and name else None
    if found is None:
        raise UsageError(
            f"There is no scenario {address!r}; name it as module:function or file.py:function."
        )
    return found


def _load(module: str) -> ModuleType:
    """A module by its name, or a file as if it were imported from its own folder."""
    path = Path(module)
    if path.suffix != ".py":
        return import_module(module)
    if not path.is_file():
        raise UsageError(f"There is no file {module!r} with a scenario.")
    sys.path.insert(0, str(path.resolve().parent))
    return import_module(path.stem)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
