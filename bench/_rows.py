"""The pieces of work that are measured, by name; each runs by itself in a fresh process."""

import asyncio
import importlib
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from bench import _functions
from bench._build import build, megabytes, most_megabytes
from bench._functions import distinct, helpers
from bench._measure import Run, check, play, repeat
from bench._script import FINAL, Cursor, Script, calls

__all__ = ["QUICK", "ROWS", "Numbers", "Size"]

Numbers = dict[str, float]
"""What was measured, by the label it has in the table; the label names the unit."""


@dataclass(frozen=True, slots=True)
class Size:
    """How thorough a measurement is."""

    repeats: int = 5
    most: int = 1000
    """The largest number of turns, tools, functions and runs."""


QUICK = Size(repeats=1, most=200)


async def import_and_build(peer: str, size: Size) -> Numbers:
    """Import the framework and make an agent with three tools."""
    return build(peer)


async def turns_200(peer: str, size: Size) -> Numbers:
    """200 turns with one call each."""
    return {"200 turns, async tool: CPU µs per turn": await _turns(peer, size, 200) * 1e6}


async def turns_200_sync(peer: str, size: Size) -> Numbers:
    """The same with a function that is not async, which must not block the others."""
    seconds = await _turns(peer, size, 200, sync=True)
    return {"200 turns, sync tool: CPU µs per turn": seconds * 1e6}


async def turns_200_rules(peer: str, size: Size) -> Numbers:
    """200 turns under rules that allow each call; only for those that have rules."""
    if not hasattr(module := _peer(peer), "build_with_rules"):
        return {}
    seconds = await _turns(peer, size, 200, build=module.build_with_rules)
    return {"200 turns under rules, async tool: CPU µs per turn": seconds * 1e6}


async def turns_1000(peer: str, size: Size) -> Numbers:
    """A long conversation, and what its first and its last turns cost."""
    early: list[float] = []
    late: list[float] = []

    def note(cursor: Cursor) -> None:
        spans = [after - before for before, after in pairwise(cursor.asked_at)]
        early.append(median(spans[5:15]))
        late.append(median(spans[-10:]))

    seconds = await _turns(peer, size, size.most, note=note)
    n = f"{size.most:,}"
    return {
        f"{n} turns: CPU µs per turn": seconds * 1e6,
        f"{n} turns: µs at turn 10": median(early) * 1e6,
        f"{n} turns: µs at turn {n}": median(late) * 1e6,
        f"{n} turns: most MB": most_megabytes(),
    }


async def parallel(peer: str, size: Size) -> Numbers:
    """One turn with 100 calls."""
    return {"100 parallel calls, async: CPU µs per call": await _parallel(peer, size) * 1e6}


async def parallel_sync(peer: str, size: Size) -> Numbers:
    """The same with a function that is not async."""
    seconds = await _parallel(peer, size, sync=True)
    return {"100 parallel calls, sync: CPU µs per call": seconds * 1e6}


async def many_tools(peer: str, size: Size) -> Numbers:
    """One call and the final reply, with ever more tools to choose from."""
    module = _peer(peer)
    return {
        f"a run of two turns, {count:,} tools: CPU µs": await _one_run(module, size, count) * 1e6
        for count in (10, 100, size.most)
    }


async def schemas(peer: str, size: Size) -> Numbers:
    """The JSON Schemas of many functions."""
    module = _peer(peer)
    if not hasattr(module, "schemas"):
        return {}
    sync = _sync_only(module)
    module.schemas(distinct(3, sync=sync))

    async def once() -> float:
        functions = distinct(size.most, sync=sync)
        began = time.process_time()
        made = module.schemas(functions)
        seconds = time.process_time() - began
        if len(made) != len(functions) or not all(made):
            raise RuntimeError("some functions have no schema")
        return seconds

    seconds = await repeat(once, min(3, size.repeats))
    return {f"schemas of {size.most:,} functions: CPU ms": seconds * 1e3}


async def concurrent_runs(peer: str, size: Size) -> Numbers:
    """Many runs of three turns at the same time, on one agent."""
    module, script = _peer(peer), calls(2)
    run = module.build(helpers(sync=_sync_only(module)), script)

    async def one() -> str:
        script.begin()
        return await run()

    async def once() -> float:
        before, began = _functions.calls_made, time.process_time()
        said = await asyncio.gather(*(one() for _ in range(size.most)))
        seconds = time.process_time() - began
        check(*set(said), _functions.calls_made - before, size.most * 2)
        return seconds

    await one()
    seconds = await repeat(once, min(3, size.repeats))
    n = f"{size.most:,}"
    return {
        f"{n} concurrent runs of three turns: CPU ms": seconds * 1e3,
        f"{n} concurrent runs of three turns: most MB": most_megabytes(),
    }


async def sub_agents(peer: str, size: Size) -> Numbers:
    """One turn that calls an agent 100 times; each makes a call of its own."""
    module, count = _peer(peer), 100
    if _sync_only(module):
        return {}
    inner, outer = calls(1), calls(1, each=count, name="helper", arguments={"request": "go"})
    most_threads = 0

    async def add(a: int, b: int) -> str:
        """Add two numbers."""
        nonlocal most_threads
        most_threads = max(most_threads, threading.active_count())
        _functions.calls_made += 1
        return str(a + b)

    run = _with_sub_agent(module, add, inner, outer)
    before = megabytes()

    async def once() -> float:
        made, began = _functions.calls_made, time.process_time()
        outer.begin()
        said = await run()
        seconds = time.process_time() - began
        check(said, _functions.calls_made - made, count)
        return seconds

    seconds = await repeat(once, size.repeats)
    return {
        "100 sub-agents side by side: CPU µs per agent": seconds / count * 1e6,
        "100 sub-agents side by side: threads": most_threads,
        "100 sub-agents side by side: MB more": most_megabytes() - before,
    }


Row = Callable[[str, Size], Coroutine[Any, Any, Numbers]]
ROWS: dict[str, Row] = {
    "build": import_and_build,
    "turns-200": turns_200,
    "turns-200-sync": turns_200_sync,
    "turns-200-rules": turns_200_rules,
    "turns-1000": turns_1000,
    "parallel": parallel,
    "parallel-sync": parallel_sync,
    "many-tools": many_tools,
    "schemas": schemas,
    "concurrent": concurrent_runs,
    "sub-agents": sub_agents,
}


def _peer(name: str) -> Any:
    return importlib.import_module(f"bench.peers.{name}")


def _sync_only(module: Any) -> bool:
    return getattr(module, "SYNC_ONLY", False)


async def _warm(module: Any) -> None:
    """Whatever a framework does once, it has done after this."""
    script = calls(3)
    await play(module.build(helpers(sync=_sync_only(module)), script), script)


async def _turns(
    peer: str,
    size: Size,
    turns: int,
    *,
    sync: bool = False,
    note: Callable[[Cursor], None] | None = None,
    build: Callable[..., Run] | None = None,
) -> float:
    module, script = _peer(peer), calls(turns)
    run = (build or module.build)(helpers(sync=sync or _sync_only(module)), script)

    async def once() -> float:
        seconds, cursor = await play(run, script)
        if note is not None:
            note(cursor)
        return seconds

    await _warm(module)
    return await repeat(once, size.repeats) / turns


async def _parallel(peer: str, size: Size, *, sync: bool = False) -> float:
    module, count = _peer(peer), 100
    script = calls(1, each=count)
    run = module.build(helpers(sync=sync or _sync_only(module)), script)

    async def once() -> float:
        return (await play(run, script))[0]

    await once()
    return await repeat(once, size.repeats * 3) / count


async def _one_run(module: Any, size: Size, tools: int) -> float:
    script, sync = calls(1), _sync_only(module)
    functions = [_functions.add(sync=sync), *distinct(tools - 1, sync=sync)]
    run = module.build(functions, script)

    async def once() -> float:
        return (await play(run, script))[0]

    await once()
    return await repeat(once, size.repeats * 20)


def _with_sub_agent(module: Any, add: Any, inner: Script, outer: Script) -> Run:
    """The framework's own way if its file has one; otherwise a tool that runs an agent."""
    if hasattr(module, "build_with_sub_agent"):
        return module.build_with_sub_agent([add], inner, outer)
    run_inner = module.build([add], inner)

    async def helper(request: str) -> str:
        """Ask another agent.

        Args:
            request: What it should do.
        """
        inner.begin()
        said = await run_inner()
        if said != FINAL:
            raise RuntimeError(f"the sub-agent said {said!r}")
        return said

    return module.build([helper], outer)
