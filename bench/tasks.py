"""Durable tasks, beside nFactorial on Redis in the same run.

    python -m bench.tasks [--quick] [--alone]

nFactorial's processor time includes its Redis server's; ours has no server beside it. Its answers
are not timed behind a busy worker, nor its recovery: those take minutes there.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from tests._venvs import venv_python

from bench._tasks_worker import LEASE, make
from toolwright.backends import sqlite_address, sqlite_path
from toolwright.tasks import NewTask, Orchestrator

HISTORY = 100_000


@dataclass(slots=True)
class Sizes:
    """How much is done."""

    tasks: int = 2000
    answers: int = 50
    killed: int = 250
    parked: int = 10_000
    own: dict[str, Any] = field(default_factory=dict)


def main() -> None:
    """Measure both and print them side by side."""
    parser = argparse.ArgumentParser(prog="python -m bench.tasks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--alone", action="store_true", help="without nFactorial")
    options = parser.parse_args()
    sizes = Sizes(tasks=300, answers=15, killed=50, parked=1000) if options.quick else Sizes()
    ours = anyio.run(_measure, sizes)
    theirs = {} if options.alone else _nfactorial(sizes)
    _print(ours, theirs, sizes)


async def _measure(sizes: Sizes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for workers in (1, 10):
        async with _fresh(workers) as made, _working(made):
            if workers == 10:
                found |= await _throughput(made, sizes.tasks)
            found[f"resume_{workers}"] = await _resume(made, sizes.answers)
    async with _fresh(10) as made, _working(made):
        found["bytes_per_turn"] = await _bytes_per_turn(made)
    found["resume_busy"] = await _behind_a_busy_worker(sizes.answers)
    found["recovered"] = await _recover(sizes.killed)
    found |= await _parked(sizes.parked)
    return found


async def _throughput(made: Orchestrator, number: int) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    await made.enqueue_many([NewTask(agent="bench", prompt="one") for _ in range(number)])
    await _all(made, "COMPLETED", number)
    wall, used = time.perf_counter() - began, time.process_time() - cpu
    return {"per_second": number / wall, "cpu_ms": used / number * 1000}


async def _bytes_per_turn(made: Orchestrator) -> float:
    await made.wait(await made.enqueue("bench", "one"))
    before = _written()
    await made.wait(await made.enqueue("bench", "long " + "x" * HISTORY))
    return (_written() - before - 2 * HISTORY) / 10  # the message is kept in two places


def _written() -> int:
    [line] = [
        line for line in Path("/proc/self/io").read_text().splitlines() if line.startswith("wchar")
    ]
    return int(line.split()[1])


async def _resume(made: Orchestrator, number: int) -> list[float]:
    """Milliseconds from the answer to the model's next turn."""
    took = []
    for _ in range(number):
        task_id = await made.enqueue("bench", "ask")
        await _until(made, task_id, "PENDING_TOOL_RESULTS")
        began = time.time()
        await made.complete_deferred_tool(task_id=task_id, tool_call_id="c0", result="yes")
        task = await made.wait(task_id)
        took.append((float(task.text) - began) * 1000)
    return sorted(took)


async def _behind_a_busy_worker(number: int) -> list[float]:
    """With two processes, one of which a tool holds up."""
    async with _fresh(10) as made:
        with _process(made.url, 10):
            await _until(made, await made.enqueue("bench", "block"), "ACTIVE")
            await anyio.sleep(0.5)
            async with _working(made):
                return await _resume(made, min(number, 20))


async def _recover(number: int) -> float:
    """Seconds from `kill -9` of a worker until all of its tasks run again."""
    async with _fresh(number) as made:
        with _process(made.url, number) as process:
            await made.enqueue_many([NewTask(agent="bench", prompt="hang")] * number)
            await _all(made, "ACTIVE", number)
            with _process(made.url, number):
                await anyio.sleep(2)
                process.send_signal(signal.SIGKILL)
                process.wait()
                began = time.perf_counter()
                with anyio.fail_after(2 * LEASE):
                    while any(  # noqa: ASYNC110 - another process is looked at
                        task.attempts < 2 for task in await made.list(limit=number)
                    ):
                        await anyio.sleep(0.05)
                return time.perf_counter() - began


async def _parked(number: int) -> dict[str, float]:
    """What parked tasks cost a worker and the database, and how long it takes to resume all."""
    async with _fresh(10) as made:
        with _process(made.url, 10) as process:
            await _until(made, await made.enqueue("bench", "one"), "COMPLETED")
            empty = _resident(process.pid)
            await made.enqueue_many([NewTask(agent="bench", prompt="ask")] * number)
            await _all(made, "PENDING_TOOL_RESULTS", number)
            resident = _resident(process.pid)
            size = os.stat(sqlite_path(made.url)).st_size
            began = time.perf_counter()
            for task_id, pending in await made.pending():
                await made.complete_deferred_tool(
                    task_id=task_id, tool_call_id=pending.call_id, result=1
                )
            await _all(made, "COMPLETED", number + 1)
            return {
                "parked": number, "parked_mb": resident, "parked_more_mb": resident - empty,
                "parked_kb_each": size / number / 1000,
                "parked_resumed_s": time.perf_counter() - began,
            }  # fmt: skip


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@asynccontextmanager
async def _fresh(workers: int) -> AsyncIterator[Orchestrator]:
    with tempfile.TemporaryDirectory() as directory:
        made = make(sqlite_address(Path(directory) / "tasks.db"), workers)
        try:
            yield made
        finally:
            await made.close()


@asynccontextmanager
async def _working(made: Orchestrator) -> AsyncIterator[None]:
    worker = made.worker()
    async with anyio.create_task_group() as group:
        group.start_soon(worker.run)
        yield
        worker.drain()


class _process:  # noqa: N801 - reads as a function
    """A worker in a process of its own."""

    def __init__(self, url: str, workers: int) -> None:
        command = [sys.executable, "-m", "bench._tasks_worker", url, str(workers)]
        self.process = subprocess.Popen(command)

    def __enter__(self) -> subprocess.Popen[bytes]:
        return self.process

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()


async def _until(made: Orchestrator, task_id: str, status: str) -> None:
    while (await made.status(task_id)).status != status:
        await made.changed(0.5)


async def _all(made: Orchestrator, status: str, number: int) -> None:
    while (await made.queue.counts()).get(("bench", status), 0) < number:  # noqa: ASYNC110
        await anyio.sleep(0.05)


def _nfactorial(sizes: Sizes) -> dict[str, Any]:
    script = Path(__file__).with_name("_tasks_nfactorial.py")
    words = [str(sizes.tasks), str(sizes.answers), str(HISTORY)]
    try:
        done = subprocess.run(
            [str(venv_python("bench-nfactorial")), str(script), *words],
            capture_output=True, text=True, timeout=900, check=True,
        )  # fmt: skip
    except (subprocess.SubprocessError, OSError) as error:
        print(f"nFactorial could not be measured: {error}", file=sys.stderr)
        return {}
    [line] = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    return json.loads(line.removeprefix("RESULT "))


def _print(ours: dict[str, Any], theirs: dict[str, Any], sizes: Sizes) -> None:
    rows = [
        ("one-turn tasks per second, 10 workers", "per_second", ".0f"),
        ("… processor time each, ms", "cpu_ms", ".2f"),
        ("answer to next turn, 1 worker, p50 / p95 ms", "resume_1", ""),
        ("… 10 workers", "resume_10", ""),
        ("… while another process is held up for 10 s", "resume_busy", ""),
        ("bytes written per tool turn at 100 KB history", "bytes_per_turn", ".0f"),
        (f"kill -9 with {sizes.killed} tasks: all run again, s", "recovered", ".1f"),
        (f"worker with {sizes.parked} parked tasks, MB", "parked_mb", ".0f"),
        ("… more than an empty one, MB", "parked_more_mb", ".1f"),
        ("… database per parked task, KB", "parked_kb_each", ".1f"),
        ("… all answered and done, s", "parked_resumed_s", ".1f"),
    ]
    print(f"{'':52}{'toolwright':>16}{'nFactorial':>16}")
    for said, key, shape in rows:
        print(f"{said:52}{_cell(ours, key, shape):>16}{_cell(theirs, key, shape):>16}")


def _cell(found: dict[str, Any], key: str, shape: str) -> str:
    value = found.get(key)
    if value is None:
        return "–"
    return _spread(value) if isinstance(value, list) else format(value, shape)


def _spread(times: Sequence[float]) -> str:
    high = times[min(len(times) - 1, int(len(times) * 0.95))]
    return f"{statistics.median(times):.1f} / {high:.1f}"


if __name__ == "__main__":
    main()
