"""Simulate for a long time with seeds that nobody has seen: `python -m tests.simulation.soak SECONDS`."""

import itertools
import logging
import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait

from tests.simulation.scenarios import SCENARIOS

from toolwright.testing.simulation import SimulationFailed, simulate

SLICE = 20
"""How many seeds one piece of work has."""


def run_slice(name: str, first: int) -> tuple[str, int, str]:
    """The scenario, how many of its seeds held, and the report of the one that did not."""
    logging.getLogger("toolwright").setLevel(logging.CRITICAL)
    try:
        return name, simulate(SCENARIOS[name], seeds=range(first, first + SLICE)).seeds, ""
    except SimulationFailed as failure:
        return name, failure.seed - first, str(failure)


def soak(seconds: float) -> int:
    """0 when all seeds held."""
    ends = time.monotonic() + seconds
    first = random.SystemRandom().randrange(2**40)
    work = zip(itertools.cycle(SCENARIOS), itertools.count(first, SLICE), strict=False)
    held: Counter[str] = Counter()
    failures: dict[str, str] = {}
    workers = os.cpu_count() or 1
    with ProcessPoolExecutor(workers) as pool:
        running: set[Future[tuple[str, int, str]]] = set()
        while running or time.monotonic() < ends:
            while len(running) < workers and time.monotonic() < ends:
                running.add(pool.submit(run_slice, *next(work)))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for name, seeds, report in (future.result() for future in done):
                held[name] += seeds
                if report and failures.setdefault(name, report) is report:
                    print(report, flush=True)
    print(f"{sum(held.values())} seeds held: {dict(held)}")
    print(f"failed: {', '.join(failures) or 'none'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(soak(float(sys.argv[1])))
