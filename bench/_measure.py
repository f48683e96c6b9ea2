"""Time runs of an agent, and check that they did the work."""

import gc
import time
from collections.abc import Awaitable, Callable
from statistics import median

from bench import _functions
from bench._script import FINAL, Cursor, Script

__all__ = ["Run", "check", "play", "repeat"]

Run = Callable[[], Awaitable[str]]
ENOUGH_SECONDS = 20.0
"""Slow frameworks are repeated less often."""


async def repeat(work: Callable[[], Awaitable[float]], times: int) -> float:
    """The median of several goes at `work`, which gives the seconds that it took.

    All in one event loop and one task, as in a server: some frameworks keep their threads as long.
    """
    began = time.perf_counter()
    taken: list[float] = []
    while len(taken) < times and (not taken or time.perf_counter() - began < ENOUGH_SECONDS):
        gc.collect()
        taken.append(await work())
    return median(taken)


async def play(run: Run, script: Script) -> tuple[float, Cursor]:
    """The seconds of one run, and when it asked for each turn; it must have done all the work."""
    cursor, before = script.begin(), _functions.calls_made
    began = time.process_time()
    text = await run()
    seconds = time.process_time() - began
    check(text, _functions.calls_made - before, sum(map(len, script.turns)))
    return seconds, cursor


def check(text: str, made: int, wanted: int) -> None:
    """Nobody is fast by leaving something out."""
    if text != FINAL or made != wanted:
        raise RuntimeError(f"wanted {FINAL!r} after {wanted} calls, got {text!r} after {made}")
