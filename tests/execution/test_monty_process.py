"""Whatever code on Monty makes, it holds up and ends only a process of its own."""

import json
import os
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright import Agent, code_mode
from toolwright.backends import Finished, Limits, PortableSandbox
from toolwright.backends.sandboxes import _monty
from toolwright.messages import ToolResult
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

SHARED = "from typing import Any\nx: Any = (1,)\nfor i in range(60): x = (x, x)\n"
"""Small, and two to the power of sixty when somebody walks through it."""
FOR_EVER = {
    "key of a mapping": "{x: 1}",
    "key inside a list": "[[{'a': {x: 1}}]]",
    "element of a set": "{x}",
    "element of a frozenset": "frozenset([x])",
    "attribute": "class A:\n  def __init__(self): self.y = {x: 1}\nA()",
    "printed": "print(x)",
    "as text": "str(x)",
}
ARGUMENTS = {
    "positional": "await count({x: 1})",
    "by name": "await count(items=[{x}])",
    "one of many": "import asyncio\nawait asyncio.gather(count(1), count({x}))",
    "not awaited": "n = count({x: 1})\n1",
}
ROOM = 64 * 2**20


RAN_OUT = "MemoryError: the worker exceeded its memory limit and was terminated\n"


async def count(items: Any) -> int:
    """Count."""
    return len(items)


async def in_code_mode(
    code: str, *, timeout: float = 30.0, memory: int = ROOM, output: int = 100_000
) -> ToolResult:
    model = ScriptedModel(call("run_code", code=code), "Done.")
    limits = Limits(timeout=timeout, memory=memory, output=output)
    tools = [code_mode([count], limits=limits)]
    result = await Agent(name="a", model=model, tools=tools).run("go")
    return next(r for m in result.history if m.kind == "tool" for r in m.results)


async def test_code_mode_ends_in_time_whatever_is_made_and_handed_over() -> None:
    codes = {**FOR_EVER, **ARGUMENTS}
    given: dict[str, ToolResult] = {}

    async def run(name: str) -> None:
        given[name] = await in_code_mode(SHARED + codes[name], timeout=0.3)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for name in codes:
                group.start_soon(run, name)
    assert {name: result.status for name, result in given.items()} == dict.fromkeys(codes, "error")
    assert all("The code was ended: timeout." in result.text for result in given.values())
    assert (await in_code_mode("await count([1, 2])")).text == "2"
    assert len(_monty._idle._waiting) <= 4
    assert "pydantic_monty" not in sys.modules  # Its client is never in this process.


async def test_a_sandbox_ends_in_time_and_python_works_again(tmp_path: Path) -> None:
    done: dict[str, Finished] = {}

    async def run(name: str) -> None:
        async with PortableSandbox(tmp_path, limits=Limits(timeout=0.3, memory=ROOM)) as sandbox:
            done[name] = await sandbox.run_code(f"print('begun')\n{SHARED}{FOR_EVER[name]}")
            assert (await sandbox.run_code("1 + 1")).value == "2"

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for name in FOR_EVER:
                group.start_soon(run, name)
    assert {one.ended for one in done.values()} == {"timeout"}
    assert {done[name].stdout for name in FOR_EVER if "{x" in FOR_EVER[name]} == {"begun\n"}
    assert not any(one.ok or one.value for one in done.values())


async def test_others_go_on_meanwhile_and_a_cancelled_run_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = counted(monkeypatch)
    async with PortableSandbox(tmp_path) as stuck, PortableSandbox(tmp_path) as other:
        await stuck.run_code("1")
        async with anyio.create_task_group() as group:
            group.start_soon(stuck.run_code, SHARED + "{x: 1}")
            with anyio.fail_after(30):
                assert (await other.run_code("1 + 1")).value == "2"
            group.cancel_scope.cancel()
        assert [process._popen.poll() is None for process in started] == [False, True]
    assert [process._popen.poll() is None for process in started] == [False, False]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("10 ** 10 ** 8", "MemoryError"),
        ("'x' * 10 ** 10", "MemoryError"),
        ("raise ValueError('x' * 1_000_000)", "ValueError: xxx"),
        ("10 ** 5000", "a number of more than 14,280 bits"),
        ("'x' * 20_000_000", "more than 16,777,216 bytes"),
        ("await count('x' * 20_000_000)", "arguments of count() cannot be handed over: it has mor"),
        ("import asyncio\nawait asyncio.gather(*[count('x' * 2_000_000) for _ in range(9)])",
         "of count() cannot be handed over: it has more than 16,777,201 bytes, with the calls that w"),
        ("import asyncio\nawait asyncio.gather(*[count([[]] * 60_000) for _ in range(2)])",
         "The arguments of these calls cannot be handed over together: it has more than 200,000"),
        ("x = []\nfor _ in range(60): x = [x]\nawait count(x)",
         "The arguments of count() cannot be handed over: it is nested more than 64 levels"),
        ("absent(1)  # type: ignore", "NameError: name 'absent' is not defined"),
    ],
)  # fmt: skip
async def test_what_is_too_much_is_an_error_that_says_so(code: str, said: str) -> None:
    given = await in_code_mode(code, output=10_000)
    assert given.status == "error"
    assert said in given.text
    assert len(given.text) < 11_000


async def test_arguments_are_not_collected_for_ever() -> None:
    code = "import asyncio\nn = [count('x' * 10_000_000) for _ in range(9000)]\n1"
    assert "it has more than 16,777,201 bytes, with the calls" in (await in_code_mode(code)).text
    # What has been sent is not counted any more.
    code = "n = 0\nfor _ in range(8):\n    n += await count('x' * 2_500_000)\nn"
    assert (await in_code_mode(code, memory=4 * ROOM)).text == "20000000"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
async def test_the_kernel_holds_the_memory_of_both_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = counted(monkeypatch)
    async with PortableSandbox(tmp_path, limits=Limits(memory=ROOM, file_size=1000)) as sandbox:
        written = await sandbox.run_code("open('/workspace/a', 'w').write('x' * 5000)")
        assert "OSError" in written.stderr
        client = children(started[0]._popen.pid)
        for pid in [*client, *children(client[0])]:
            assert address_space(pid) == str(2 * ROOM + 256 * 2**20)


async def test_each_piece_of_code_has_its_own_time(tmp_path: Path) -> None:
    async with PortableSandbox(tmp_path) as sandbox:
        await sandbox.run_code("1")
        done = await sandbox.run_code("while True: pass", limits=Limits(timeout=0.05))
    assert (done.ended, "TimeoutError" in done.stderr) == ("timeout", True)


def address_space(pid: int) -> str:
    limits = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line for line in limits if line.startswith("Max address space")).split()[-2]


def children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
async def test_a_process_without_memory_is_an_error_without_places_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_monty, "_OWN_MEMORY", (190 - 1024) * 2**20)
    async with PortableSandbox(tmp_path, limits=Limits(memory=512 * 2**20)) as sandbox:
        for code in ("[[] for _ in range(500_000)]", "x = 'x' * 150_000_000\nx + x"):
            done = await sandbox.run_code(code)
            assert (done.ok, done.stderr) == (False, RAN_OUT)
            assert (await sandbox.run_code("1 + 1")).value == "2"


@pytest.mark.parametrize(
    ("value", "data"),
    [
        ("b'abc\\xff'", "YWJj/w=="),
        ("{'a': [b'\\xff', {b'\\xff'}]}", {"a": ["/w==", ["/w=="]]}),
        ("(1, [2, (3,)])", [1, [2, [3]]]),
        ("{1: 2, None: 3, (4, 5): 6}", {"1": 2, "None": 3, "4,5": 6}),
        ("float('nan')", "NaN"),
        ("'é\\n'", "é\n"),
        (f"{'[' * 60}{']' * 60}", json.loads("[" * 60 + "]" * 60)),
        ("10 ** 4000 * 0 + 10 ** 30", 10**30),
        ("...", "Ellipsis"),
    ],
)
async def test_what_has_no_json_form_is_written_in_the_same_way_everywhere(
    value: str, data: Any
) -> None:
    seen: list[Any] = []

    async def show(item: Any) -> None:
        """Show."""
        seen.append(item)

    model = ScriptedModel(call("run_code", code=f"await show({value})\n{value}"), "Done.")
    result = await Agent(name="a", model=model, tools=[code_mode([show])]).run("go")
    given = next(r for m in result.history if m.kind == "tool" for r in m.results)
    assert (given.data, seen) == (data, [data])


async def test_text_that_only_looks_like_json_is_given_to_the_code_as_text() -> None:
    async def deep() -> Any:
        """Deep."""
        return "[" * 100_000

    model = ScriptedModel(call("run_code", code="len(await deep())"), "Done.")
    result = await Agent(name="a", model=model, tools=[code_mode([deep])]).run("go")
    assert next(r for m in result.history if m.kind == "tool" for r in m.results).text == "100000"


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The processes that are started from now on; none waits from before."""
    started: list[Any] = []
    make = _monty.Process
    monkeypatch.setattr(_monty, "Process", lambda spec: started.append(make(spec)) or started[-1])
    monkeypatch.setattr(_monty, "_idle", _monty._Idle())
    return started


async def test_a_process_serves_one_piece_of_code_after_another_and_each_starts_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = counted(monkeypatch)
    assert (await in_code_mode("kept = 1\nkept")).text == "1"
    again = await in_code_mode("kept  # type: ignore")
    assert "NameError" in again.text
    assert len(started) == 1
    await in_code_mode("1", output=5000)  # These limits hold from the start of a process.
    assert len(started) == 2
    for _, _, python in _monty._idle._waiting:
        await python.end()


async def test_one_that_nobody_asks_ends_itself_and_the_next_code_has_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_monty, "_IDLE_SECONDS", 0.01)
    started = counted(monkeypatch)
    await in_code_mode("1")
    monkeypatch.setattr(_monty, "_SURELY_IDLE", 0.0)
    with anyio.fail_after(30):
        wait = started[0]._popen.wait
        assert await anyio.to_thread.run_sync(wait, abandon_on_cancel=True) == 0
    assert (await in_code_mode("1 + 1")).text == "2"
    assert (len(started), _monty._idle._waiting) == (2, [])


async def test_one_that_was_ended_while_it_waited_costs_nobody_their_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = counted(monkeypatch)
    await in_code_mode("1")
    launcher = started[0]._popen
    children = anyio.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
    [worker, *_] = (await children.read_text()).split()
    os.kill(int(worker), signal.SIGKILL)
    launcher.wait()
    assert (await in_code_mode("1 + 1")).text == "2"
    assert len(started) == 2


async def test_no_more_than_four_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    started = counted(monkeypatch)
    for output in range(5000, 5006):
        await in_code_mode("1", output=output)
    assert [process._popen.poll() is None for process in started] == [False, False] + [True] * 4
    for _, _, python in _monty._idle._waiting:
        await python.end()


async def test_a_forked_program_does_not_talk_to_the_processes_of_the_first() -> None:
    await in_code_mode("1")
    assert _monty._idle._waiting
    assert waiting_in_a_fork() == 0
    assert (await in_code_mode("1 + 1")).text == "2"


def waiting_in_a_fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        forked = os.fork()
    if forked == 0:
        os._exit(len(_monty._idle._waiting))
    return os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])
