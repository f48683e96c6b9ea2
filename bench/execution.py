"""What running commands and code costs: cold start, warm start, per call, memory.

Run: python bench/execution.py
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import anyio

from toolwright.backends import LocalExecutor, PortableSandbox
from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox
from toolwright.builtin.bash import BashToolPolicy

Row = tuple[str, float, float | None, float | None, float | None, float | None]


def memory_below() -> float:
    """Resident megabytes of all processes that this one has started."""
    parents: dict[int, int] = {}
    resident: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            stat = (path / "stat").read_text().rsplit(")", 1)[1].split()
            resident[int(path.name)] = int((path / "statm").read_text().split()[1]) * 4096
            parents[int(path.name)] = int(stat[1])
        except OSError:
            continue

    def below(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid == os.getpid():
                return True
        return False

    return sum(size for pid, size in resident.items() if below(pid)) / 2**20


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
            return name, cold, command, None, None, None
        began = time.perf_counter()
        await executor.run_code("x = 1")
        start = (time.perf_counter() - began) * 1000
        warm = await timed(lambda: executor.run_code("x + 1"), 200)
        memory = memory_below()
    return name, cold, command, start, warm, memory


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
        "| executor | open + first command, ms | command, ms | Python start, ms | call, ms | MB |"
    )
    print("|---|---|---|---|---|---|")
    for name, *numbers in rows:
        print(f"| {name} | " + " | ".join("–" if n is None else f"{n:.2f}" for n in numbers) + " |")
    print(
        f"\nsubprocess.run(['bash', '-c', 'true']), no limits, no sweep: {bare_subprocess():.2f} ms"
    )
    print(f"policy.check of four commands with arguments: {policy_cost():.0f} µs")


if __name__ == "__main__":
    anyio.run(main)
