"""The warm interpreter and the descriptor it talks through."""

import contextlib
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolwright.backends import Limits
from toolwright.backends.executors._process import Process
from toolwright.backends.sandboxes import Bubblewrap, Landlock, OsSandbox, Walls, open_sandbox
from toolwright.backends.sandboxes._warm_python import WarmPython
from toolwright.errors import StoreError

pytestmark = pytest.mark.anyio


async def test_the_descriptor_is_none_of_those_that_walls_use_themselves() -> None:
    given: list[int] = []

    def start(descriptor: int, limits: Limits) -> Process:
        given.append(descriptor)
        raise StoreError("not today")

    with pytest.raises(StoreError, match="not today"):
        await WarmPython(start).run("1", Limits())
    assert given[0] >= 10


BUSY = """
import subprocess, sys, threading
count = 0
def go_on():
    global count
    while True:
        count += 1
threading.Thread(target=go_on, daemon=True).start()
idle = subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"], start_new_session=True)
"""


@pytest.mark.parametrize("walls", [Bubblewrap(), Landlock()], ids=["bubblewrap", "landlock"])
async def test_between_calls_threads_and_processes_of_code_stand_still(
    tmp_path: Path, walls: Walls
) -> None:
    async with await open_sandbox(tmp_path, walls=walls, limits=Limits(grace=60)) as sandbox:
        with anyio.fail_after(20):
            assert (await sandbox.run_code(BUSY)).ok
            while states(sandbox) != {"T"}:
                await anyio.lowlevel.checkpoint()
            again = await sandbox.run_code(
                "before = count\nwhile count == before: pass\nidle.poll() is None"
            )
            assert (again.value, again.stderr) == ("True", "")
            while states(sandbox) != {"T"}:
                await anyio.lowlevel.checkpoint()
            await sandbox.close()  # Within its grace: what stands still hears that it is to end.


async def test_code_stands_still_while_its_calls_are_answered(tmp_path: Path) -> None:
    started: list[Process] = []

    async def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        while states_of(started[0]) != {"T"}:
            await anyio.lowlevel.checkpoint()
        return [{"value": 7} for _ in calls]

    async with await open_sandbox(tmp_path) as sandbox:

        def start(descriptor: int, limits: Limits) -> Process:
            started.append(sandbox._start_python(descriptor, limits))
            return started[0]

        python = WarmPython(start, pauses=True)
        with anyio.fail_after(20):
            done = await python.run(f"{BUSY}\nawait ask() + 1", Limits(), ["ask"], answer)
        await python.close()
    assert done.value == "8"


def states(sandbox: OsSandbox) -> set[str]:
    process = sandbox._python._process
    assert process is not None
    return states_of(process)


def states_of(process: Process) -> set[str]:
    """The states of all threads of all processes that the launcher watches."""
    mark, found = f"TOOLWRIGHT_COMMAND={process._mark}".encode(), set()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(place.name) != process._popen.pid and mark in (place / "environ").read_bytes():
                found |= {
                    stat.read_text().rsplit(")", 1)[1].split()[0]
                    for stat in place.glob("task/*/stat")
                }
    return found
