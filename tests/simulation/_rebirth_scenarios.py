"""Sessions that are deleted while others answer, follow and run them, and begun anew under their id."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from typing import Any
from unittest.mock import patch

import anyio
from tests.simulation._session_scenarios import UNKNOWN, MakeRunner, making, results, stored
from tests.simulation._task_scenarios import ask, working
from tests.simulation._task_scenarios import making as making_tasks

from toolwright import Agent, Approve, LongRunningFunctionTool, Reject, Runner, tool
from toolwright.errors import SessionHeld, UsageError
from toolwright.messages import Event, Pending, RunStarted
from toolwright.serve.live import LiveRuns
from toolwright.serve.live._notices import Notices
from toolwright.tasks import NewTask, Orchestrator
from toolwright.tasks._task import APP
from toolwright.testing import call
from toolwright.testing.simulation import Simulation

_LAST = "4"
_APPROVED = ("2", _LAST)
_SOON = (0.0, 0.001, 0.002, 0.003, 0.005, 0.01)


async def begun_anew(sim: Simulation) -> None:
    """A session asks about a payment, is deleted and begun anew, which asks about another under the same
    id; people answer what they were shown, and somebody follows it.

    What was rejected is never paid, and whoever follows has the last session, from its first event.
    """

    @tool(require_confirmation=True)
    async def pay(invoice: str) -> str:
        """Pay an invoice once somebody has agreed."""
        await sim.effect("pay", invoice)
        return f"paid {invoice}"

    model = sim.model([call("pay", invoice="{prompt}")], "done")
    make = making(sim, Agent(name="payer", model=model, tools=[pay]))
    shown: list[tuple[int, str]] = []
    over: list[bool] = []
    sim.start("person-1", partial(_person, sim, make, over))
    sim.start("person-2", partial(_person, sim, make, over))
    sim.start("follower", partial(_follow, make, shown))

    async def session(invoice: str, until: Sequence[str]) -> None:
        async def main() -> str:
            runner = make()
            result = await runner.begin_or_resume(invoice, user_id="ada", session_id="s")
            await runner.close()
            return result.status

        status = ""
        while status not in until:
            await anyio.sleep(0.5 if status else 0.0)
            status = await sim.run("app", main)

    for invoice in "123":
        await session(invoice, ("paused", "done"))
        await anyio.sleep(sim.random.choice([0.0, 0.003, 0.01, 1.0]))
        is_deleted = False
        while not is_deleted:
            is_deleted = await sim.run("cleaner", partial(_delete, make()))
    await session(_LAST, ("done",))
    over.append(True)
    events = await stored(sim, make)
    for invoice in "13":
        sim.check(not sim.ledger.count("pay", invoice), f"{invoice} was paid, though rejected")
    [text] = results(events, "pay")
    lost = UNKNOWN in text and sim.happened("kill", "pause")
    failed = sim.happened("error") and "simulated" in text
    sim.check(text == f"paid {_LAST}" or lost or failed, f"the last payment reads {text!r}")
    for _ in range(150):
        if shown == [(event.seq, _asked(event)) for event in events]:
            return
        await anyio.sleep(1.0)
    sim.check(False, f"whoever follows has {shown}, not the last session")


async def _person(sim: Simulation, make: MakeRunner, over: Sequence[bool]) -> None:
    """Looks at a question for a while, and answers it; checking that may take long."""
    runner = make()
    take = runner.store.answer

    async def take_late(*given: Any, **more: Any) -> Any:
        await anyio.sleep(sim.random.choice([0.0, 0.0, 0.6]))
        return await take(*given, **more)

    patch.object(runner.store, "answer", take_late).start()
    while not over:
        for pending in await runner.pending("s"):
            await anyio.sleep(sim.random.choice([0.0, 0.003, 1.0]))
            value = _decision(pending)
            try:
                said = await runner.answer("s", pending.call_id, value, key=pending.key)
            except SessionHeld:
                continue
            sim.note(f"answers {pending.arguments} with {value!r}: {said}")
            if said == "accepted" and pending.arguments["invoice"] == _LAST:
                sim.ledger.accept("s", pending.call_id, value)
        await anyio.sleep(sim.random.choice([0.003, 0.01, 0.2]))


def _decision(pending: Pending) -> Any:
    return Approve() if pending.arguments["invoice"] in _APPROVED else Reject()


async def _delete(runner: Runner) -> bool:
    try:
        await runner.delete("s")
    except SessionHeld:
        return False
    except UsageError:  # It is gone: an earlier try was not acknowledged.
        return True
    return True


async def _follow(make: MakeRunner, shown: list[tuple[int, str]]) -> None:
    """A server's follower: what it has is in `shown`, by number, with what each run was asked."""
    runner = make()
    runs = LiveRuns(runner, Notices())
    # Not `runs.open()`: a task group of a process that was killed could not be unwound.
    looking = asyncio.create_task(runs._look_elsewhere())
    try:
        row = await runner.store.find(runner.app_name, "s")
        while row is None:
            await anyio.sleep(0.1)
            row = await runner.store.find(runner.app_name, "s")
        shown.clear()
        async with aclosing(runs.follow(row, 0)) as batches:
            async for batch in batches:
                if batch is None:
                    shown.clear()
                shown += [(one.at, _asked(one.event)) for one in batch or ()]
    finally:
        looking.cancel()


def _asked(event: Event) -> str:
    message = event.message if isinstance(event, RunStarted) else None
    return "" if message is None else message.text


async def pruned_while_answered(sim: Simulation) -> None:
    """Tasks that are done are forgotten as late results come: each that was accepted is read."""
    accepted: set[str] = set()
    read: set[str] = set()

    async def send(to: str) -> dict[str, str]:
        """Send a mail that is answered later."""
        return {"status": "pending"}

    @tool(idempotent=True)
    async def note(of: str) -> str:
        """Note that there was an answer."""
        read.add(of)
        return "noted"

    model = sim.model([call("send", to="{prompt}")], "sent", [call("note", of="{prompt}")], "done")
    tools = [LongRunningFunctionTool(send, idempotent=True), note]
    make = making_tasks(sim, Agent(name="clerk", model=model, tools=tools))
    working(sim, make, 1)
    outside = make()

    async def answer(task_id: str, call_id: str, key: str) -> None:
        await anyio.sleep(sim.random.choice(_SOON))
        said = await ask(sim, make, partial(_result, task_id=task_id, call_id=call_id))
        sim.note(f"answers {key}: {said}")
        if said == "accepted":
            accepted.add(key)

    async def prune() -> None:
        await anyio.sleep(sim.random.choice(_SOON))
        await ask(sim, make, lambda orchestrator: orchestrator.prune(0))

    for key in ("a", "b"):
        new = [NewTask(agent="clerk", prompt=key, idempotency_key=key, retries=9)]
        [task_id] = await ask(sim, make, partial(Orchestrator.enqueue_many, tasks=new))
        await outside.wait(task_id)
        [(_, pending)] = await outside.pending(task_id)
        async with anyio.create_task_group() as group:
            group.start_soon(answer, task_id, pending.call_id, key)
            group.start_soon(prune)
    while await outside.list() or await outside.store.sessions(APP):
        await ask(sim, make, lambda orchestrator: orchestrator.prune(0))
        await anyio.sleep(1.0)
    lost = accepted - read
    sim.check(not lost, f"accepted, and read by nobody: {sorted(lost)}")


async def _result(orchestrator: Orchestrator, task_id: str, call_id: str) -> str:
    try:
        return await orchestrator.answer(task_id=task_id, tool_call_id=call_id, result="Thank you.")
    except SessionHeld:
        return "held"
