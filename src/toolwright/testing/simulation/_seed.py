"""Run one seed of a scenario to its end, and say what it came to."""

import asyncio
import contextlib
import gc
import hashlib
import inspect
import os
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import anyio

from toolwright.testing.simulation._faults import Fault, FaultKind
from toolwright.testing.simulation._journal import describe_event
from toolwright.testing.simulation._locks import watched_locks
from toolwright.testing.simulation._loop import Livelock
from toolwright.testing.simulation._process import GaveUp, ProcessDied
from toolwright.testing.simulation._seams import has_sql, seams
from toolwright.testing.simulation._simulation import Broken, Simulation

__all__ = ["Outcome", "Scenario", "run_seed"]

Scenario = Callable[[Simulation], Awaitable[None]]

QUIET_SECONDS = 600.0
"""How long a scenario may take, in virtual seconds, from the last fault to its end."""
_STOP_SECONDS = 120.0
_NEVER_BEGUN = inspect.CORO_CREATED


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a seed came to."""

    seed: int
    problem: str = ""
    """What did not hold; empty when all did."""
    faults: list[Fault] = field(default_factory=list)
    trace: list[tuple[float, str, str]] = field(default_factory=list)
    events: dict[str, list[str]] = field(default_factory=dict)
    """The stored events of each session that was checked, in words."""
    steps: int = 0
    seconds: float = 0.0
    """Virtual ones."""

    @property
    def digest(self) -> str:
        """Tells two runs apart that did not do the same."""
        return hashlib.sha256(repr((self.trace, self.steps, self.problem)).encode()).hexdigest()


def run_seed(
    scenario: Scenario,
    seed: int,
    *,
    kinds: Collection[FaultKind] | None = None,
    without: Collection[str] = (),
) -> Outcome:
    """Run it, with the faults that its seed gives but for those named in `without`."""
    sim = Simulation(seed, kinds=kinds, without=without)
    before = _open_files()
    problems: list[str] = []
    sim.loop.set_exception_handler(lambda _, context: problems.append(_unhandled(context)))
    collects = gc.isenabled()
    # What is collected when would depend on what ran before this seed.
    gc.disable()
    try:
        with (
            _stores(sim) as more,
            seams(sim.loop, seed, sim.slowness, more),
            watched_locks() as shared,
        ):
            try:
                played = sim.loop.run_until_complete(_play(sim, scenario))
            except Livelock as stuck:
                played = f"stuck: it goes round without waiting for anything, at {stuck}"
            # The worst first: the others may follow from it.
            found = [*shared, *sim.ledger.twice(), played, *problems]
            problem = next((p for p in found if p), "")
            trace = list(sim.trace)
            _bury(sim)
    finally:
        if collects:
            gc.enable()
    problem = problem or _leak(before)
    return Outcome(
        seed=seed,
        problem=problem,
        faults=sim.faults.happened,
        trace=trace,
        events={
            name: [describe_event(event) for event in events]
            for name, events in sim.journals.items()
        }
        if problem
        else {},
        steps=sim.loop.steps,
        seconds=sim.now,
    )


async def _play(sim: Simulation, scenario: Scenario) -> str:
    """The scenario, bounded in time, then the end of everything that it has started."""
    limit = sim.faults.ends_at - sim.loop.time() + QUIET_SECONDS
    problem = ""
    try:
        with anyio.fail_after(limit):
            await scenario(sim)
        sim.faults.stop()
        with anyio.fail_after(_STOP_SECONDS):
            await sim.stop()
    except TimeoutError:
        problem = f"stuck: not at its end after {sim.now:.0f} s without faults for the last part"
    except Broken as error:
        problem = str(error)
    except BaseException as error:  # noqa: BLE001 - told as what the seed came to
        problem = f"{type(error).__name__}: {error}"
        sim.note(problem)
    return problem


@contextlib.contextmanager
def _stores(sim: Simulation) -> Any:
    if not has_sql():
        yield list
        return
    from toolwright.testing.simulation import _sql_seams  # noqa: PLC0415  optional dependency

    with _sql_seams.sql_seams(sim) as more:
        yield more


def _unhandled(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return f"unhandled: {context.get('message')}: {type(error).__name__}: {error}"


def _open_files() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def _leak(before: int) -> str:
    left = _open_files() - before
    return f"{left} files were left open" if left > 0 else ""


def _bury(sim: Simulation) -> None:
    """Unwind what the dead, and those that never ended, have left; nothing of it counts."""
    loop = sim.loop
    loop.set_exception_handler(lambda _, context: None)
    for process in sim.processes:
        process.alive = False
        process.lane.held = False
        if process.lane.dead:
            process.lane.dead = False
            loop._lanes.append(process.lane)
    for _ in range(30):
        left = [task for task in asyncio.all_tasks(loop) if not task.done()]
        if not left:
            break
        for task in left:
            task.cancel()
        with contextlib.suppress(ProcessDied, GaveUp):
            loop.run_until_complete(_some_steps())
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[missing-attribute]
        coroutine = task.get_coro()
        if inspect.iscoroutine(coroutine) and inspect.getcoroutinestate(coroutine) == _NEVER_BEGUN:
            coroutine.close()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


async def _some_steps() -> None:
    for _ in range(40):
        await asyncio.sleep(0)
