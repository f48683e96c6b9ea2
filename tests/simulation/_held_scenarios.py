"""Processes that want the same session at the same time, and of which one holds it."""

import itertools
from collections import Counter
from functools import partial
from typing import Any

import anyio
from tests.simulation._session_scenarios import check_payments, stored

from toolwright import Agent, Runner, ToolContext, tool
from toolwright.agent import RETRY_SECONDS
from toolwright.backends.sql import BEATS_PER_LEASE, LOOKS_PER_LEASE, Roll, SqlStore
from toolwright.backends.sql._holds import LEASE_SECONDS
from toolwright.errors import ModelError, SessionHeld, StoreConflict, StoreError
from toolwright.messages import MessageQueued, RunStarted, ToolStarted
from toolwright.testing import call
from toolwright.testing.simulation import Simulation
from toolwright.testing.simulation._process import current_process

LONG = 70.0
"""Longer than it takes to know that a process is gone."""
_SHORT = 0.72 * LEASE_SECONDS
"""With the quarter of a lease in which a process need not beat, shorter than a lease."""


async def held_session(sim: Simulation) -> None:
    """Two processes run one session, paused past their leases and killed; one of them may wait.

    Whoever is refused has done nothing, nobody is refused for the sake of a process that is known to
    be gone, and each effect was begun by the run that has stored its start.
    """
    begun: list[tuple[str, str]] = []
    wrong: list[str] = []
    model = sim.model([call("pay", invoice=i) for i in "ab"], [call("pay", invoice="c")], "done")
    retry = sim.random.choice([0.1, RETRY_SECONDS])
    slow = sim.random.choice(["", "", "b", "c"])

    def agent(mine: list[str]) -> Agent:
        @tool
        async def pay(invoice: str, tool_context: ToolContext) -> str:
            """Pay an invoice, which may take long."""
            mine.append(invoice)
            begun.append((tool_context.run_id, tool_context.function_call_id))
            await sim.effect("pay", invoice)
            await anyio.sleep(LONG if invoice == slow else 0.0)
            return f"paid {invoice}"

        return Agent(name="payer", model=model, tools=[pay])

    async def finish(name: str, wait: float) -> None:
        async def main() -> str:
            mine: list[str] = []
            gone = {n for n, process in enumerate(sim.processes, 1) if not process.alive}
            runner = Runner(
                agent(mine), store=sim.database(), wait_if_held=wait, retry_writes=retry
            )
            try:
                result = await runner.begin_or_resume("go", user_id="ada", session_id="s")
            except SessionHeld as error:
                if "nothing was run here" in str(error):
                    wrong.extend(f"refused, but has begun to pay {invoice}" for invoice in mine)
                    if sim.on_one_machine and int(error.holder.split()[1]) in gone:
                        wrong.append(f"refused because of {error.holder}, which is gone")
                return "held"
            return result.status

        status = ""
        while status != "done":
            status = await sim.run(name, main, impatient=True)
            await anyio.sleep(sim.random.choice([0.5, 5.0, 20.0]))

    async with anyio.create_task_group() as group:
        group.start_soon(finish, "eager", 0.0)
        group.start_soon(finish, "patient", sim.random.choice([0.0, 5.0, 40.0]))
    sim.check(not wrong, "; ".join(wrong))
    events = await stored(sim, lambda: Runner(agent([]), store=sim.database()))
    if retry == RETRY_SECONDS or not sim.happened("outage", "fail_before", "fail_after"):
        check_payments(sim, events, 3)
    started = {(e.run_id, e.call.call_id) for e in events if isinstance(e, ToolStarted)}
    sim.check(started.issuperset(begun), f"{set(begun) - started} began without a stored start")
    held = await Runner(agent([]), store=sim.database()).holder("s")
    sim.check(held is None, f"the session is still held by {held}")


async def silent_holder(sim: Simulation) -> None:
    """A process is stopped for less than its lease, while a worker and a rival look at it.

    It loses nothing by that: the session is its own until it was silent for a lease.
    """
    lost: list[str] = []
    stops = [sim.random.choice([0.4, 0.9, 1.0]) * _SHORT for _ in range(2)]
    model = sim.model([call("pay", invoice="a")], [call("pay", invoice="b")], "done")

    @tool
    async def pay(invoice: str) -> str:
        """Pay an invoice, in a process that is stopped after it."""
        await sim.effect("pay", invoice)
        process = current_process()
        if stops and process is not None and process.name.startswith("holder"):
            seconds = stops.pop()
            await anyio.sleep(sim.random.uniform(0.0, LEASE_SECONDS / BEATS_PER_LEASE))
            process.lane.after_steps(1, partial(process.pause, seconds))
            await anyio.sleep(0.01)
        return f"paid {invoice}"

    def make() -> Runner:
        agent = Agent(name="payer", model=model, tools=[pay])
        return Runner(agent, store=sim.database())

    async def hold() -> str:
        try:
            return (await make().begin_or_resume("go", user_id="ada", session_id="s")).status
        except StoreConflict as error:
            if "nothing was run here" not in str(error):
                lost.append(str(error))
            return "held"

    async def look() -> None:
        roll = Roll(SqlStore(sim.database()).database)
        while True:
            await roll.cross_out_dead()
            await anyio.sleep(LEASE_SECONDS / LOOKS_PER_LEASE)

    async def until_done(name: str) -> None:
        status = ""
        while status != "done":
            status = await sim.run(name, hold)
            await anyio.sleep(2.0)

    sim.start("worker", look)
    async with anyio.create_task_group() as group:
        group.start_soon(until_done, "holder")
        await anyio.sleep(0.05)
        group.start_soon(until_done, "rival")
    silenced = sim.happened("kill", "pause", "outage", "slow", "fail_before", "fail_after")
    sim.check(silenced or not lost, f"lost within its lease: {lost}")
    await stored(sim, make)


async def busy_holder(sim: Simulation) -> None:
    """A process that lives on with a long run has another one that ends while its store is away.

    The session of the one that has ended is free for others, as soon as the store answers again.
    """
    over = anyio.Event()
    away = sim.random.choice([0.0, 0.0, 0.5, 5.0])
    model = sim.model([call("pay", invoice="{prompt}")], "done")

    @tool
    async def pay(invoice: str) -> str:
        """Pay an invoice; the long one takes until the end."""
        if invoice == "long":
            await over.wait()
            return "late"
        await sim.effect("pay", invoice)
        process = current_process()
        if process is not None and process.name.startswith("busy"):
            process.away_until = sim.loop.time() + away
        return f"paid {invoice}"

    def make(retry: float = RETRY_SECONDS) -> Runner:
        agent = Agent(name="payer", model=model, tools=[pay])
        return Runner(agent, store=sim.database(), retry_writes=retry)

    async def busy() -> None:
        runner = make(0.1)

        async def run(session_id: str) -> None:
            try:
                await runner.begin_or_resume(session_id, user_id="ada", session_id=session_id)
            except (StoreError, ModelError) as error:
                sim.note(f"{session_id} ended: {error}")

        async with anyio.create_task_group() as group:
            group.start_soon(run, "long")
            group.start_soon(run, "s")

    async def other() -> str:
        try:
            return (await make().begin_or_resume("s", user_id="ada", session_id="s")).status
        except SessionHeld:
            return "held"

    sim.start("busy", busy)
    await anyio.sleep(1.0)
    status = ""
    while status != "done":
        status = await sim.run("other", other)
        await anyio.sleep(5.0)
    over.set()
    await stored(sim, make)


async def told_once(sim: Simulation) -> None:
    """Two processes say things in one session, also when one loses it in the middle of a run.

    What was said is in the session once at most, and if its run has ended, once.
    """
    numbers = itertools.count()
    heard: list[str] = []
    turns: list[Any] = []
    for n in range(20):
        turns += [[call("work", n=n)], "done"]
    stalls = sim.random.choice([[], [0], [1], [0, 2]])

    @tool(idempotent=True)
    async def work(n: int) -> str:
        """Work, in a process that is stopped for longer than its lease now and then."""
        process = current_process()
        if n in stalls and process is not None:
            stalls.remove(n)
            process.lane.after_steps(1, partial(process.pause, LONG))
        await anyio.sleep(sim.random.choice([0.0, 1.0]))
        return "worked"

    def make() -> Runner:
        agent = Agent(name="worker", model=sim.model(*turns), tools=[work])
        return Runner(agent, store=sim.database(), wait_if_held=600.0)

    def talking(name: str) -> Any:
        async def main() -> None:
            runner = make()
            for _ in range(2):
                text = f"{name} {next(numbers)}"
                if (await runner.run(text, user_id="ada", session_id="s")).status == "done":
                    heard.append(text)

        return main

    async with anyio.create_task_group() as group:
        for name in ("ada", "bob"):
            group.start_soon(sim.run, name, talking(name))
    events = await make().events("s")
    asked = [e for e in events if isinstance(e, RunStarted | MessageQueued) and e.message]
    said = Counter(e.message.text for e in asked if e.message is not None)
    for text, count in said.items():
        sim.check(count == 1, f"{text!r} was said once and is in the session {count} times")
    sim.check(said.keys() >= set(heard), f"{set(heard) - said.keys()} was answered and is lost")
