"""What the simulator itself promises: one seed, one run; the dead do nothing; the paused wait."""

import asyncio
import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
import warnings
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import anyio.to_thread
import pytest
from tests.simulation.scenarios import SCENARIOS

from toolwright import Agent, Runner, UsageError
from toolwright.backends import MemoryStore
from toolwright.backends.sql import SqlStore
from toolwright.errors import StoreError
from toolwright.messages import Scope
from toolwright.testing import call, simulate
from toolwright.testing.simulation import (
    GaveUp,
    ProcessDied,
    Simulation,
    SimulationFailed,
    run_seed,
)
from toolwright.testing.simulation.__main__ import main
from toolwright.testing.simulation._loop import MOST_STEPS
from toolwright.tools import tool

ROOT = Path(__file__).parents[2]
SCOPE = Scope(app_name="app", user_id="ada", session_id="s")


def calmly(scenario: object, seed: int = 0) -> None:
    """Run a scenario in which only what it does itself goes wrong."""
    outcome = run_seed(scenario, seed, kinds=())  # type: ignore[bad-argument-type]
    assert outcome.problem == ""


# -- one seed, one run -----------------------------------------------------------------------


def test_the_same_seed_gives_the_same_run() -> None:
    scenario = SCENARIOS["tasks_on_workers"]
    assert run_seed(scenario, 5).digest == run_seed(scenario, 5).digest


def test_other_seeds_give_other_runs() -> None:
    digests = {run_seed(SCENARIOS["parallel_payments"], seed).digest for seed in range(5)}
    assert len(digests) == 5


@pytest.mark.parametrize("name", ["parallel_payments", "tasks_on_workers"])
def test_a_seed_gives_the_same_run_in_another_process(name: str) -> None:
    program = (
        "from tests.simulation.scenarios import SCENARIOS\n"
        "from toolwright.testing.simulation import run_seed\n"
        "import logging; logging.disable()\n"
        f"print([run_seed(SCENARIOS[{name!r}], seed).digest for seed in (3, 1, 2)])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hashes in ("1", "2")
    }
    assert len(found) == 1


# -- the clock and the threads ---------------------------------------------------------------


def test_waiting_takes_no_time() -> None:
    async def scenario(sim: Simulation) -> None:
        before, monotonic = time.time(), time.monotonic()
        await anyio.sleep(86_400)
        assert time.time() - before == pytest.approx(86_400, abs=1)
        assert time.monotonic() - monotonic == pytest.approx(86_400, abs=1)
        with pytest.raises(TimeoutError), anyio.fail_after(10):
            await anyio.Event().wait()

    began = time.perf_counter()
    outcome = run_seed(scenario, 0, kinds=())
    assert time.perf_counter() - began < 5
    # A day is longer than a scenario may take, which is noticed.
    assert "stuck" in outcome.problem


def test_work_for_a_thread_runs_without_one() -> None:
    async def scenario(sim: Simulation) -> None:
        here = threading.get_ident()
        assert await anyio.to_thread.run_sync(threading.get_ident) == here
        with pytest.raises(ZeroDivisionError):
            await anyio.to_thread.run_sync(lambda: 1 // 0)

    calmly(scenario)


def test_a_limiter_holds_for_work_that_runs_in_place() -> None:
    async def scenario(sim: Simulation) -> None:
        limiter = anyio.CapacityLimiter(1)
        busy = []

        async def work() -> None:
            await anyio.to_thread.run_sync(
                lambda: busy.append(limiter.borrowed_tokens), limiter=limiter
            )

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(work)
        assert busy == [1] * 5

    calmly(scenario)


def test_real_sockets_are_refused() -> None:
    async def scenario(sim: Simulation) -> None:
        with pytest.raises(UsageError, match="no input or output"):
            sim.loop.add_reader(0, print)

    calmly(scenario)


# -- processes -------------------------------------------------------------------------------


def test_a_killed_process_does_nothing_any_more_not_even_clean_up() -> None:
    seen: list[str] = []

    async def scenario(sim: Simulation) -> None:
        process = sim.process("app")

        async def work() -> None:
            try:
                await anyio.sleep(10)
            finally:
                seen.append("cleaned up" if process.alive else "buried")
                sim.ledger.record("clean", "up")

        sim.loop.call_later(1, process.kill)
        with pytest.raises(ProcessDied):
            await process.run(work)
        assert sim.now < 2
        await anyio.sleep(20)
        assert seen == []
        with pytest.raises(ProcessDied):
            await process.run(work)

    calmly(scenario)
    assert seen == ["buried"]


def test_what_a_dead_process_asked_of_a_store_and_did_not_get_is_not_done() -> None:
    async def scenario(sim: Simulation) -> None:
        process, store = sim.process("app"), SqlStore(sim.database())
        process.lane.after_steps(3, process.kill)
        with pytest.raises(ProcessDied):
            await process.run(lambda: store.open(SCOPE))
        await anyio.sleep(5)
        assert await SqlStore(sim.database()).find("app", "s") is None

    calmly(scenario)


def test_a_paused_process_waits_while_the_time_of_others_goes_on() -> None:
    async def scenario(sim: Simulation) -> None:
        process, ticks = sim.process("app"), []

        async def tick() -> None:
            for _ in range(5):
                await anyio.sleep(1)
                ticks.append(round(sim.now))

        sim.loop.call_later(2.5, lambda: process.pause(100))
        await process.run(tick)
        assert ticks == [1, 2, 102, 103, 104] or ticks == [1, 2, 103, 104, 105]

    calmly(scenario)


def test_an_impatient_caller_gives_up_when_the_seed_says_so() -> None:
    found = []

    async def scenario(sim: Simulation) -> None:
        async def work() -> None:
            for _ in range(50):
                await anyio.sleep(0.01)

        try:
            await sim.process("app").run(work, impatient=True)
        except GaveUp:
            found.append(sim.seed)

    simulate(scenario, seeds=60, kinds=["cancel"])
    assert 5 < len(found) < 55


def test_a_process_that_dies_is_started_again_and_its_name_counts_up() -> None:
    names = []

    async def scenario(sim: Simulation) -> None:
        async def work() -> int:
            names.append(sim.processes[-1].name)
            if len(names) == 1:
                sim.processes[-1].kill()
            await anyio.sleep(1)
            return 7

        assert await sim.run("app", work) == 7

    calmly(scenario)
    assert names == ["app", "app#2"]


# -- faults ----------------------------------------------------------------------------------


def test_a_commit_fails_before_or_after_it_took_effect() -> None:
    found: set[tuple[str, bool]] = set()

    async def scenario(sim: Simulation) -> None:
        store = SqlStore(sim.database())
        await store.find("app", "s")
        try:
            await sim.process("app").run(lambda: store.open(SCOPE))
        except StoreError:
            row = await SqlStore(sim.database()).find("app", "s")
            found.add((sim.faults.happened[-1].kind, row is not None))

    for seed in range(150):
        run_seed(scenario, seed, kinds=["fail_before", "fail_after"])
    assert found == {("fail_before", False), ("fail_after", True)}


def test_a_store_is_away_for_a_while_and_comes_back() -> None:
    lengths = []

    async def scenario(sim: Simulation) -> None:
        store, process = SqlStore(sim.database()), sim.process("app")
        failed = []
        for _ in range(60):
            try:
                await process.run(lambda: store.find("app", "s"))
            except StoreError:
                failed.append(sim.now)
            await anyio.sleep(0.5)
        sim.faults.stop()
        await anyio.sleep(20)
        await process.run(lambda: store.find("app", "s"))
        if len(failed) > 1:
            lengths.append(failed[-1] - failed[0])

    simulate(scenario, seeds=60, kinds=["outage"])
    assert max(lengths) > 1


def test_faults_come_to_an_end_and_leave_time_to_recover() -> None:
    async def scenario(sim: Simulation) -> None:
        while not sim.faults.over:
            await sim.process("app").run(lambda: anyio.sleep(1))
        count = len(sim.faults.happened)
        for _ in range(20):
            await sim.process("app").run(lambda: anyio.sleep(0.1))
        assert len(sim.faults.happened) == count

    outcome = run_seed(scenario, 3, kinds=["late"])
    assert outcome.problem == ""


def test_a_store_of_ones_own_gets_the_same_faults_through_a_handle() -> None:
    found: set[tuple[str, bool]] = set()

    async def scenario(sim: Simulation) -> None:
        store = MemoryStore()
        try:
            await sim.process("app").run(lambda: sim.handle(store).open(SCOPE))
        except StoreError:
            row = await store.find("app", "s")
            found.add((sim.faults.happened[-1].kind, row is not None))

    for seed in range(150):
        run_seed(scenario, seed, kinds=["fail_before", "fail_after", "outage"])
    assert {("fail_before", False), ("fail_after", True)} <= found


def test_each_seed_has_only_some_kinds_of_fault() -> None:
    kinds = [frozenset(Simulation(seed).faults.rates) for seed in range(30)]
    assert len(set(kinds)) > 20
    assert all(len(some) < 10 for some in kinds)


# -- what is noticed -------------------------------------------------------------------------


async def double_payment(sim: Simulation) -> None:
    """A program that pays again whenever it is not sure, as many do."""

    async def main() -> None:
        paid = False
        while not paid:
            with contextlib.suppress(ConnectionError):
                await sim.effect("pay", "a")
                paid = True
        await anyio.sleep(0.01)
        with contextlib.suppress(ConnectionError):
            await sim.effect("log", "a", repeatable=True)

    await sim.run("app", main)


def test_an_effect_that_happens_twice_is_found_and_shown_with_few_faults() -> None:
    with pytest.raises(SimulationFailed) as failure:
        simulate(double_payment, seeds=300)
    text = str(failure.value)
    assert "pay('a') happened 2 times" in text
    assert f"test_simulator:double_payment --seed {failure.value.seed}" in text
    assert "pay('a') takes place" in text
    assert all(f"{fault}" in text for fault in failure.value.outcome.faults)


def test_a_failing_seed_is_shown_without_the_faults_that_it_does_not_need() -> None:
    shrunk = 0
    for seed in range(300):
        if shrunk:
            break
        if not run_seed(double_payment, seed).problem:
            continue
        with pytest.raises(SimulationFailed) as failure:
            simulate(double_payment, seeds=[seed])
        shrunk += bool(failure.value.without)
        for needed in failure.value.outcome.faults:
            without = [*failure.value.without, needed.name]
            assert run_seed(double_payment, seed, without=without).problem == ""
    assert shrunk


def test_a_scenario_that_waits_for_ever_is_stuck() -> None:
    async def scenario(sim: Simulation) -> None:
        await anyio.Event().wait()

    assert "stuck" in run_seed(scenario, 0).problem


def test_a_service_that_does_not_end_is_stuck() -> None:
    async def scenario(sim: Simulation) -> None:
        async def main() -> None:
            with anyio.CancelScope(shield=True):
                await anyio.sleep_forever()

        sim.start("worker", main)
        await anyio.sleep(1)

    assert "stuck" in run_seed(scenario, 0, kinds=()).problem


def test_a_service_that_raises_something_unexpected_fails_the_seed() -> None:
    async def scenario(sim: Simulation) -> None:
        async def main() -> None:
            raise TypeError("'NoneType' object is not iterable")

        sim.start("worker", main)
        await anyio.sleep(1)

    assert "NoneType" in run_seed(scenario, 0, kinds=()).problem


def test_a_file_that_is_left_open_fails_the_seed(tmp_path: Path) -> None:
    held = []

    async def scenario(sim: Simulation) -> None:
        held.append((tmp_path / "file").open("w"))

    assert "1 files were left open" in run_seed(scenario, 0).problem
    held[0].close()


def test_a_leak_that_does_not_happen_again_is_still_what_is_reported(tmp_path: Path) -> None:
    held = []

    async def scenario(sim: Simulation) -> None:
        if not held:
            held.append((tmp_path / "file").open("w"))
        await sim.run("app", lambda: anyio.sleep(1))

    with pytest.raises(SimulationFailed, match="1 files were left open") as failure:
        simulate(scenario, seeds=1)
    held[0].close()
    assert failure.value.problem == "1 files were left open"


@pytest.mark.parametrize("inside", [False, True])
def test_a_process_that_goes_round_for_ever_is_stuck_and_the_line_is_named(inside: bool) -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110 - what must be found
            await asyncio.sleep(0)

    async def scenario(sim: Simulation) -> None:
        await (sim.run("app", spin) if inside else spin())

    outcome = run_seed(scenario, 0, kinds=())
    assert outcome.problem.startswith("stuck: it goes round without waiting for anything, at ")
    first = spin.__code__.co_firstlineno
    assert f"{__file__}:{first + 2} in " in outcome.problem
    assert outcome.trace == []
    calmly(calm_sleep)


def test_much_work_between_two_waits_is_not_taken_for_being_stuck() -> None:
    async def scenario(sim: Simulation) -> None:
        for _ in range(3):
            for _ in range(MOST_STEPS // 2):
                await asyncio.sleep(0)
            await anyio.sleep(0.001)

    calmly(scenario)


def test_a_real_thread_fails_the_seed() -> None:
    async def scenario(sim: Simulation) -> None:
        threading.Thread(target=print, name="mine").start()

    assert "The thread 'mine' cannot be started" in run_seed(scenario, 0).problem


def test_an_accepted_answer_that_a_call_did_not_get_is_found() -> None:
    async def scenario(sim: Simulation) -> None:
        @tool
        async def pay() -> str:
            """Pay."""
            return "paid"

        agent = Agent(name="payer", model=sim.model([call("pay")], "done"), tools=[pay])
        runner = Runner(agent, store=sim.database())
        await runner.run("go", session_id="s")
        sim.ledger.accept("s", "pay-0-0", "yes")
        sim.check_journal("s", await runner.events("s"))

    assert (
        run_seed(scenario, 0, kinds=()).problem == "The accepted answer 'yes' to 'pay-0-0' was lost"
    )


def test_nothing_of_the_simulation_is_left_when_it_is_over() -> None:
    before = time.time, time.monotonic
    with pytest.raises(SimulationFailed):
        simulate(double_payment, seeds=300)
    assert (time.time, time.monotonic) == before
    assert time.time() < 1_800_000_000 or time.time() > 1_900_000_000


def test_a_server_in_another_thread_goes_on_by_the_real_clock() -> None:
    ticks: list[float] = []
    begun, over = threading.Event(), threading.Event()

    async def tick() -> None:
        while not over.is_set():
            await asyncio.sleep(0.001)
            ticks.append(time.monotonic())
            begun.set()

    async def scenario(sim: Simulation) -> None:
        seen.append(len(ticks))
        begun.clear()
        begun.wait(20)

    seen: list[int] = []
    thread = threading.Thread(target=lambda: asyncio.run(tick()))
    thread.start()
    assert begun.wait(20), "or what it opens would be taken for a leak"
    try:
        simulate(scenario, seeds=3)
    finally:
        over.set()
        thread.join(20)
    assert not thread.is_alive()
    assert len(set(seen)) == 3, "its timers fired while each seed ran"
    assert max(ticks) - min(ticks) < 100


async def calm_sleep(sim: Simulation) -> None:
    await sim.run("app", lambda: anyio.sleep(1))


# -- the command -----------------------------------------------------------------------------


def test_a_seed_can_be_shown_from_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SimulationFailed) as failure:
        simulate(double_payment, seeds=300)
    name = f"{__name__}:double_payment"
    assert main([name, "--seed", str(failure.value.seed)]) == 1
    assert "pay('a') happened 2 times" in capsys.readouterr().out
    assert main([name, "--seeds", "300"]) == 1
    assert "again: python -m toolwright.testing.simulation" in capsys.readouterr().out


@pytest.mark.parametrize("by_module", [False, True])
def test_the_line_for_a_scenario_of_a_program_runs(
    by_module: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "own_values.py").write_text("ONE = 1\n")
    (tmp_path / "own_program.py").write_text(
        "import own_values\n"
        "async def wrong(sim):\n"
        "    sim.check(own_values.ONE == 2, 'one is not two')\n"
    )
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)] if by_module else [*sys.path])
    program = ModuleType("__main__")
    program.__file__ = str(tmp_path / "own_program.py")
    program.__spec__ = ModuleSpec("own_program", None) if by_module else None

    async def wrong(sim: Simulation) -> None:
        sim.check(False, "one is not two")

    wrong.__module__, wrong.__qualname__ = "__main__", "wrong"
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "__main__", program)
        with pytest.raises(SimulationFailed) as failure:
            simulate(wrong, seeds=1)
    [line] = [line for line in str(failure.value).splitlines() if line.startswith("again: ")]
    command = line.removeprefix("again: python -m toolwright.testing.simulation ").split()
    name = "own_program" if by_module else f"{tmp_path.name}/own_program.py"
    assert command == [f"{name}:wrong", "--seed", "0"]
    assert main(command) == 1
    assert "one is not two" in capsys.readouterr().out
    for module in ("own_program", "own_values"):
        del sys.modules[module]


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match=r"There is no file 'nowhere\.py'"):
        main(["nowhere.py:wrong"])


def test_seeds_that_hold_are_counted_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"{__name__}:calm_sleep", "--seconds", "0.2"]) == 0
    assert "All holds." in capsys.readouterr().out


def test_an_unknown_scenario_is_named() -> None:
    with pytest.raises(UsageError, match="There is no scenario"):
        main(["tests.simulation.scenarios:nothing"])


# -- objects belong to a process ---------------------------------------------------------------


@pytest.mark.parametrize("make", [asyncio.Lock, anyio.Lock])
def test_a_lock_that_outlives_its_process_is_named_as_shared(make: Any) -> None:
    async def scenario(sim: Simulation) -> None:
        lock = make()

        async def hold() -> None:
            async with lock:
                await anyio.sleep_forever()

        async def wait() -> None:
            with contextlib.suppress(UsageError):  # as an agent does with what a tool raises
                await lock.acquire()

        first = sim.process("app")
        async with anyio.create_task_group() as group:

            async def run() -> None:
                with pytest.raises(ProcessDied):
                    await first.run(hold)

            group.start_soon(run)
            await anyio.sleep(1)
            first.kill()
        await sim.process("app").run(wait)

    problem = run_seed(scenario, 0, kinds=()).problem
    assert "'app#2' waits for a lock that 'app' had when it was killed" in problem
    assert "inside the function that the process runs" in problem


def test_a_lock_of_a_living_process_can_be_waited_for() -> None:
    async def scenario(sim: Simulation) -> None:
        lock = anyio.Lock()

        async def hold() -> None:
            async with lock:
                await anyio.sleep(1)

        async with anyio.create_task_group() as group:
            for name in ("one", "two"):
                group.start_soon(sim.process(name).run, hold)

    calmly(scenario)


def test_an_effect_fails_before_it_took_place_or_after() -> None:
    found: set[int] = set()

    async def scenario(sim: Simulation) -> None:
        try:
            await sim.process("app").run(lambda: sim.effect("pay", "a"))
        except ConnectionError:
            found.add(sim.ledger.count("pay"))

    for seed in range(60):
        assert run_seed(scenario, seed, kinds=["error"]).problem == ""
    assert found == {0, 1}


def test_a_process_that_dies_before_its_first_step_leaves_no_warning() -> None:
    async def scenario(sim: Simulation) -> None:
        process = sim.process("app")
        async with anyio.create_task_group() as group:

            async def run() -> None:
                with pytest.raises(ProcessDied):
                    await process.run(lambda: anyio.sleep(1))

            group.start_soon(run)
            await asyncio.sleep(0)
            process.kill()

    # Which of them moves first is drawn.
    gc.collect()  # What other tests have left is none of its business.
    for seed in range(10):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            calmly(scenario, seed)
            gc.collect()
        assert [str(warning.message) for warning in caught] == []
