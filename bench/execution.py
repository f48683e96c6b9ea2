"""What running commands and code costs: cold start, warm start, per call, memory.

Run: python bench/execution.py
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import anyio

from toolwright.backends import LocalExecutor, PortableSandbox
from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox
from toolwright.builtin.bash import BashToolPolicy

Row = tuple[str, float, float | None, float | None, float | None]


async def timed(action: Callable[[], Awaitable[object]], times: int) -> float:
    """Milliseconds, the median of several."""
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        await action()
        spent.append(time.perf_counter() - began)
    return median(spent) * 1000


async def measure(name: str, open_one: Callable[[Path], Awaitable[object]]) -> Row:
    began = time.perf_counter()
    executor = await open_one(Path(tempfile.mkdtemp()))
    async with executor:
        await executor.run("true")
        cold = (time.perf_counter() - began) * 1000
        command = await timed(lambda: executor.run("true"), 20)
        if not hasattr(executor, "run_code"):
            return name, cold, command, None, None
        began = time.perf_counter()
        await executor.run_code("x = 1")
        start = (time.perf_counter() - began) * 1000
        warm = await timed(lambda: executor.run_code("x + 1"), 200)
    return name, cold, command, start, warm


def bare_subprocess() -> float:
    spent = []
    for _ in range(20):
        began = time.perf_counter()
        subprocess.run(["bash", "-c", "true"], check=True)
        spent.append(time.perf_counter() - began)
    return median(spent) * 1000


def policy_cost() -> float:
    policy = BashToolPolicy(("git", "ls", "grep", "xargs", "cat"))
    command = "git log --oneline | grep -v 'a b' | xargs -n 1 cat && ls -la src/*.py"
    policy.check(command)
    began = time.perf_counter()
    for _ in range(1000):
        policy.check(command)
    return (time.perf_counter() - began) * 1000


async def main() -> None:
    rows = [
        await measure("LocalExecutor", LocalExecutor.open),
        await measure("bubblewrap", lambda w: OsSandbox.open(w, Bubblewrap())),
        await measure("Landlock", lambda w: OsSandbox.open(w, Landlock())),
        await measure("portable (bashkit, Monty)", PortableSandbox.open),
    ]
    print(
        "| executor | open + first command, ms | command, ms | Python start, ms | Python call, ms |"
    )
    print("|---|---|---|---|---|")
    for name, *numbers in rows:
        print(f"| {name} | " + " | ".join("–" if n is None else f"{n:.2f}" for n in numbers) + " |")
    print(
        f"\nsubprocess.run(['bash', '-c', 'true']), no limits, no sweep: {bare_subprocess():.2f} ms"
    )
    print(f"policy.check of four commands with arguments: {policy_cost():.0f} µs")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"memory of this program at most: {peak / (1024 if sys.platform == 'linux' else 2**20):.0f} MB"
    )


if __name__ == "__main__":
    anyio.run(main)
