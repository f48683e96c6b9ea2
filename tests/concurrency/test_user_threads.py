"""Plain functions have threads of their own: bounded, never in the way of I/O, exit or each other."""

import asyncio
import contextvars
import gc
import itertools
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from toolwright import Agent, Runner, ToolContext, UsageError, tool
from toolwright.agent import Result
from toolwright.concurrency import (
    await_from_thread,
    call_user,
    in_io_thread,
    in_user_thread,
    set_thread_limit,
)
from toolwright.messages import TextPart, ToolEnded
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio


@pytest.fixture
def limit() -> Iterator[Callable[[int], None]]:
    yield set_thread_limit
    set_thread_limit(40)


def texts(result: Result) -> list[str]:
    return [event.result.text for event in result.events if isinstance(event, ToolEnded)]


async def test_sixty_blocking_tools_that_save_artifacts_finish(
    tmp_path: Path, limit: Callable[[int], None]
) -> None:
    # Fewer than the calls that a turn has going at once: there is none left for the artifacts.
    limit(20)
    arrivals, all_busy = itertools.count(1), threading.Event()

    @tool
    def save(tool_context: ToolContext) -> str:
        """Save a note."""
        if next(arrivals) == 20:
            all_busy.set()
        assert all_busy.wait(10), "not as many at once as there are threads"
        version = tool_context.wait(tool_context.save_artifact("note", TextPart("hi")))
        return f"version {version}"

    model = ScriptedModel([call("save") for _ in range(60)], "Done.")
    runner = Runner(
        Agent(name="t", model=model, tools=[save]), artifacts=f"file://{tmp_path / 'artifacts'}"
    )
    with anyio.fail_after(30):
        result = await runner.run("go")
    assert len([text for text in texts(result) if text.startswith("version ")]) == 60


async def test_functions_that_wait_for_other_plain_functions_do_not_starve_them(
    limit: Callable[[int], None],
) -> None:
    limit(2)

    def outer() -> int:
        return await_from_thread(in_user_thread(lambda: 1))

    found: list[int] = []

    async def one() -> None:
        found.append(await in_user_thread(outer))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(one)
    assert found == [1] * 20


async def test_no_more_functions_run_at_once_than_the_limit(limit: Callable[[int], None]) -> None:
    limit(3)
    lock, most, now = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            for _ in range(12):
                group.start_soon(in_user_thread, work)
    assert most == 3


async def test_an_abandoned_function_does_not_take_a_place_from_others(
    limit: Callable[[int], None],
) -> None:
    limit(1)
    release, started = threading.Event(), threading.Event()

    def stuck() -> None:
        started.set()
        release.wait(30)

    fates: list[bool] = []
    async with anyio.create_task_group() as group:
        group.start_soon(in_user_thread, stuck, fates.append)
        await in_io_thread(started.wait, 10)
        group.cancel_scope.cancel()
    with anyio.fail_after(10):
        assert await in_user_thread(lambda: "ran") == "ran"
    release.set()
    assert fates == [True]


async def test_a_function_that_was_given_up_before_it_had_a_thread_never_runs(
    limit: Callable[[int], None],
) -> None:
    limit(1)
    release, started, ran = threading.Event(), threading.Event(), []

    def first() -> None:
        started.set()
        release.wait(30)

    fates: list[bool] = []
    async with anyio.create_task_group() as group:
        group.start_soon(in_user_thread, first)
        await in_io_thread(started.wait, 10)
        with anyio.move_on_after(0.01):
            await in_user_thread(lambda: ran.append("second"), fates.append)
        release.set()
        assert await in_user_thread(lambda: "third") == "third"
    assert fates == [False]
    assert ran == []


async def test_the_model_is_told_that_a_plain_function_that_timed_out_is_still_running() -> None:
    release, wrote = threading.Event(), threading.Event()

    @tool(timeout=0.05)
    def slow() -> str:
        """Take long."""
        release.wait(30)
        wrote.set()
        return "late"

    result = await Agent(name="t", model=ScriptedModel(call("slow"), "."), tools=[slow]).run("go")
    assert texts(result) == [
        "'slow' did not finish within 0.05 s. It cannot be stopped: it is still running and may yet "
        "take effect. Check before you call it again."
    ]
    assert not wrote.is_set()
    release.set()
    assert await in_io_thread(wrote.wait, 10)


async def test_the_model_is_told_when_a_plain_function_got_no_thread_in_time(
    limit: Callable[[int], None],
) -> None:
    limit(1)
    release, started = threading.Event(), threading.Event()

    def hog() -> None:
        started.set()
        release.wait(30)

    @tool(timeout=0.05)
    def quick() -> str:
        """Be quick."""
        return "done"

    model = ScriptedModel(call("quick"), ".")
    async with anyio.create_task_group() as group:
        group.start_soon(in_user_thread, hog)
        await in_io_thread(started.wait, 10)
        result = await Agent(name="t", model=model, tools=[quick]).run("go")
        release.set()
    assert texts(result) == [
        "'quick' did not finish within 0.05 s because other calls kept all threads busy; it was not run."
    ]


async def test_what_a_function_waits_for_is_cancelled_with_its_call() -> None:
    waiting, cancelled = anyio.Event(), anyio.Event()

    async def forever() -> None:
        waiting.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(in_user_thread, lambda: await_from_thread(forever()))
            await waiting.wait()
            group.cancel_scope.cancel()
        await cancelled.wait()


async def test_a_function_sees_the_context_variables_of_its_caller_and_cannot_change_them() -> None:
    who = contextvars.ContextVar("who", default="nobody")
    who.set("ada")

    def look() -> str:
        seen = who.get()
        who.set("eve")
        return seen

    assert await in_user_thread(look) == "ada"
    assert who.get() == "ada"


async def test_what_a_function_raises_reaches_the_caller() -> None:
    def broken() -> None:
        raise KeyError("x")

    def stop() -> None:
        raise StopIteration

    with pytest.raises(KeyError):
        await in_user_thread(broken)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_user_thread(stop)


async def test_waiting_in_async_code_says_to_await_instead() -> None:
    with pytest.raises(UsageError, match="await"):
        await_from_thread(anyio.lowlevel.checkpoint())


async def test_user_functions_are_awaited_or_run_in_a_thread_by_what_they_are() -> None:
    here = threading.get_ident()

    async def coroutine(x: int) -> tuple[int, bool]:
        return x, threading.get_ident() == here

    def plain(x: int) -> tuple[int, bool]:
        return x, threading.get_ident() == here

    assert await call_user(coroutine, 1) == (1, True)
    assert await call_user(plain, x=2) == (2, False)
    assert await call_user(lambda x: coroutine(x), 3) == (3, True)


async def test_io_of_the_framework_does_not_wait_for_threads_that_the_application_uses() -> None:
    release = threading.Event()
    started = threading.Semaphore(0)

    def hog() -> None:
        started.release()
        release.wait(30)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(anyio.to_thread.run_sync, hog)
            for _ in range(40):
                assert await in_io_thread(started.acquire, True, 10)
            assert await in_io_thread(lambda: "read") == "read"
            release.set()


def test_many_event_loops_share_the_threads() -> None:
    async def main() -> list[int]:
        return list(await asyncio.gather(*(in_user_thread(lambda n=n: n) for n in range(50))))

    for _ in range(3):
        assert asyncio.run(main()) == list(range(50))


def test_an_event_loop_that_is_over_is_let_go_of() -> None:
    async def main() -> "weakref.ref[asyncio.AbstractEventLoop]":
        await in_user_thread(lambda: None)
        return weakref.ref(asyncio.get_running_loop())

    gone = asyncio.run(main())
    asyncio.run(main())  # the thread that served the first one has another job by now
    gc.collect()
    assert gone() is None


def test_a_blocked_function_does_not_hold_up_the_exit_of_the_interpreter(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import time\n"
        "from toolwright import Agent, tool\n"
        "from toolwright.testing import ScriptedModel, call\n"
        "@tool(timeout=0.1)\n"
        "def stuck() -> str:\n"
        "    'Never end.'\n"
        "    time.sleep(600)\n"
        "Agent(name='t', model=ScriptedModel(call('stuck'), '.'), tools=[stuck]).run_sync('go')\n"
        "print('over')\n"
    )
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.returncode) == ("over\n", 0)


def test_the_child_of_a_fork_has_threads_of_its_own(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import asyncio, os\n"
        "from toolwright.concurrency import in_user_thread\n"
        "asyncio.run(in_user_thread(lambda: None))\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(asyncio.run(in_user_thread(lambda: 7)))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "7\n"


async def test_a_predicate_may_block_without_holding_up_the_event_loop() -> None:
    asked, release = threading.Event(), threading.Event()

    def needed(amount: int) -> bool:
        asked.set()
        return release.wait(10) and amount > 1000

    @tool(require_confirmation=needed)
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    model = ScriptedModel(call("pay", amount=5), ".")
    results: list[Result] = []

    async def run() -> None:
        results.append(await Agent(name="t", model=model, tools=[pay]).run("go"))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            assert await in_io_thread(asked.wait, 5)
            release.set()
    assert texts(results[0]) == ["paid 5"]
