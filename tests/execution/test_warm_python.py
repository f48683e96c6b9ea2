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


FORK = """
import os
ours, theirs = os.pipe()
child = os.fork()
who = "child" if child == 0 else "parent"
"""


async def test_a_forked_process_ends_with_its_code_and_answers_nothing(tmp_path: Path) -> None:
    async with await open_sandbox(tmp_path) as sandbox:
        with anyio.fail_after(20):
            await sandbox.run_code(f"{FORK}if child == 0: raise SystemExit(7)")
            ended = await sandbox.run_code("os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])")
            assert (ended.value, ended.stderr) == ("7", "")
            assert (await sandbox.run_code("who")).value == "'parent'"


async def test_a_forked_process_cannot_call_functions_outside(tmp_path: Path) -> None:
    async def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"value": "outside"} for _ in calls]

    code = f"""{FORK}
try:
    said = await ask()
except RuntimeError as error:
    said = str(error)
if child == 0:
    os.write(theirs, said.encode())
    os._exit(0)
said, os.read(ours, 100).decode()
"""
    async with await open_sandbox(tmp_path) as sandbox:
        with anyio.fail_after(20):
            done = await sandbox.run_calling(code, ["ask"], answer)
    assert done.value == '["outside", "ask can be called in the first process only"]', done.stderr


ENDINGS = {
    "exit()": (0, ""), "sys.exit(None)": (0, ""), "sys.exit(False)": (0, ""), "sys.exit(True)": (1, ""),
    "sys.exit(3)": (3, ""), "sys.exit(-1)": (255, ""), "sys.exit(2**70)": (0, ""),
    "sys.exit(socket.AF_INET)": (2, ""), "sys.exit('disk not found')": (1, "disk not found\n"),
    "sys.exit(type('', (), {'__str__': None})())": (1, ""), "sys.stdout = None; 1": (0, ""),
}  # fmt: skip


async def test_code_may_exit_as_python_does_and_variables_stay(tmp_path: Path) -> None:
    async with await open_sandbox(tmp_path) as sandbox:
        await sandbox.run_code("import socket, sys; kept = 'still here'")
        for code, expected in ENDINGS.items():
            done = await sandbox.run_code(code)
            assert (done.exit_code, done.stderr, done.ended) == (*expected, "exited"), code
            assert (await sandbox.run_code("kept")).value == "'still here'", code


AS_MAIN = """
import doctest, multiprocessing, pickle, sys, typing, unittest
class Wrong(unittest.TestCase):
    def test_sum(self): self.assertEqual(1 + 1, 3)
def double(number: "Number"):
    '''
    >>> double(2)
    5
    '''
    return 2 * number
Number = int
"""
FINDS = {
    "unittest.main(exit=False).result": "<unittest.runner.TextTestResult run=1 errors=0 failures=1>",
    "doctest.testmod()": "TestResults(failed=1, attempted=1)",
    "pickle.loads(pickle.dumps(double))(2)": "4",
    "typing.get_type_hints(double)": "{'number': <class 'int'>}",
    "with multiprocessing.get_context('fork').Pool(1) as pool: found = pool.map(double, [1, 2])\nfound": "[2, 4]",
    "[name for name in globals() if not name.startswith('__')]": "['doctest', 'multiprocessing', "
    "'pickle', 'sys', 'typing', 'unittest', 'Wrong', 'double', 'Number', 'pool', 'found']",
}  # fmt: skip


async def test_code_is_the_main_module_in_which_python_looks_for_tests_and_names(
    tmp_path: Path,
) -> None:
    async with await open_sandbox(tmp_path) as sandbox:
        assert (await sandbox.run_code(AS_MAIN)).ok
        with anyio.fail_after(20):
            found = {code: (await sandbox.run_code(code)).value for code in FINDS}
        ended = await sandbox.run_code("unittest.main()")
    assert found == FINDS
    assert (ended.exit_code, "Ran 1 test" in ended.stderr) == (1, True)


async def test_a_value_is_no_longer_than_an_output_may_be(tmp_path: Path) -> None:
    async with await open_sandbox(tmp_path, limits=Limits(output=100)) as sandbox:
        done = await sandbox.run_code("'x' * 3000")
        short = await sandbox.run_code("'x' * 30")
    assert (len(done.value or "") < 200, done.truncated) == (True, True)
    assert (short.value, short.truncated) == (repr("x" * 30), False)


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
