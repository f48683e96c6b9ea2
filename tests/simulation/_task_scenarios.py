"""Durable tasks on several workers that die, sleep past their lease, and come back."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import anyio
from sqlalchemy import Connection, select

from toolwright import Agent, LongRunningFunctionTool, deferred_tool, tool
from toolwright.agent import START, BaseAgent, Workflow
from toolwright.messages import Event, Scope, Steered, ToolEnded
from toolwright.tasks import NewTask, Orchestrator, Task
from toolwright.tasks._schema import TASKS
from toolwright.testing import call
from toolwright.testing.simulation import Simulation
from toolwright.testing.simulation._process import current_process
from toolwright.tools import Tool

LEASE = 20.0
Make = Callable[[], Orchestrator]
_WITHOUT_HOLDING: WeakKeyDictionary[Simulation, list[str]] = WeakKeyDictionary()


def making(
    sim: Simulation, *agents: Agent | Callable[[Orchestrator], BaseAgent], workers: int = 3
) -> Make:
    """How each process makes its own orchestrator."""

    def make() -> Orchestrator:
        made = Orchestrator(sim.database("tasks"), lease=LEASE)
        for agent in agents:
            known = agent if isinstance(agent, Agent) else agent(made)
            made.register(known, workers=workers)
        _watch(sim, made)
        return made

    return make


def _watch(sim: Simulation, made: Orchestrator) -> None:
    """Whoever adds to a task's journal holds the task, by the same transaction's own account."""
    on_append = made.store.on_append

    def witnessed(
        connection: Connection, scope: Scope, events: Sequence[Event], *, waits: bool
    ) -> None:
        held = select(TASKS.c.worker).where(TASKS.c.id == scope.session_id)
        holder = connection.execute(held).scalar()
        mine = made.store.holders.get(scope.session_id)
        on_append(connection, scope, events, waits=waits)
        if holder != mine:
            # Not raised here: a run would take it for a store's error.
            said = f"{mine} has written to a task that {holder} holds"
            _WITHOUT_HOLDING.setdefault(sim, []).append(said)

    made.store.on_append = witnessed


def working(sim: Simulation, make: Make, number: int = 2) -> None:
    """Start so many workers."""

    async def main() -> None:
        orchestrator = make()
        try:
            await orchestrator.worker().run()
        finally:
            with anyio.CancelScope(shield=True):
                await orchestrator.close()

    for n in range(1, number + 1):
        sim.start(f"worker-{n}", main)


async def ask(sim: Simulation, make: Make, what: Callable[[Orchestrator], Awaitable[Any]]) -> Any:
    """Do something from a process of its own, again until the database has answered."""

    async def main() -> Any:
        orchestrator = make()
        try:
            return await what(orchestrator)
        finally:
            with anyio.CancelScope(shield=True):
                await orchestrator.close()

    return await sim.run("client", main)


async def finish_all(sim: Simulation, make: Make, keys: Sequence[str], agent: str) -> list[Task]:
    """Enqueue a task per key and wait for all of them; their journals, held against the ledger."""

    async def what(orchestrator: Orchestrator) -> list[Task]:
        new = [NewTask(agent=agent, prompt=k, idempotency_key=k, retries=9) for k in keys]
        return [await orchestrator.wait(i) for i in await orchestrator.enqueue_many(new)]

    tasks = await ask(sim, make, what)
    await check_tasks(sim, make(), tasks)
    return tasks


async def check_tasks(sim: Simulation, outside: Orchestrator, tasks: Sequence[Task]) -> None:
    """Hold the journals of tasks against the ledger."""
    sim.check(sim not in _WITHOUT_HOLDING, "; ".join(_WITHOUT_HOLDING.get(sim, [])))
    for task in tasks:
        sim.check_journal(task.id, await outside.stored_events(task.id))


def tools_of(sim: Simulation) -> list[Tool]:
    @tool
    async def pay(invoice: str) -> str:
        """Pay an invoice; must never happen twice."""
        await sim.effect("pay", invoice)
        return f"paid {invoice}"

    @tool(idempotent=True)
    async def note(text: str) -> str:
        """Write something down; may happen twice."""
        await sim.effect("note", text, repeatable=True)
        return f"noted {text}"

    return [pay, note]


async def tasks_on_workers(sim: Simulation) -> None:
    """Tasks that pay, on two workers; each is worked on until it ends, nothing is paid twice."""
    model = sim.model(
        [call("pay", invoice="{prompt}-1"), call("note", text="{prompt}")],
        [call("pay", invoice="{prompt}-2")],
        "done",
    )
    make = making(sim, Agent(name="payer", model=model, tools=tools_of(sim)))
    working(sim, make)
    for task in await finish_all(sim, make, ["a", "b", "c"], "payer"):
        sim.check(task.status == "COMPLETED", f"the task is {task.status}: {task.reason}")
        noted = sim.ledger.count("note")
        sim.check(noted >= 1, "a task is completed whose repeatable call never happened")


async def stopped_worker(sim: Simulation) -> None:
    """A worker is stopped in the middle of a call, for longer than its lease, and goes on.

    Another process has taken it for dead meanwhile, and takes up its tasks at once or much later.
    """
    stalls = ["a"] if sim.random.random() < 0.7 else []
    later = sim.random.choice([0.0, 30.0, 100.0])

    @tool
    async def pay(invoice: str) -> str:
        """Pay an invoice, in a process that may be stopped before or after it."""
        await sim.effect("pay", invoice)
        process = current_process()
        if invoice in stalls and process is not None:
            stalls.remove(invoice)
            process.lane.after_steps(1, partial(process.pause, 3 * LEASE))
            await anyio.sleep(0.01)
        return f"paid {invoice}"

    model = sim.model([call("pay", invoice="{prompt}")], "done")
    make = making(sim, Agent(name="payer", model=model, tools=[pay]))
    working(sim, make, number=1)

    async def undertaker() -> None:
        worker = make().worker()
        with anyio.move_on_after(later):
            while True:
                await worker._roll.cross_out_dead()
                await anyio.sleep(LEASE / 6)
        await worker.run()

    sim.start("undertaker", undertaker)
    for task in await finish_all(sim, make, ["a", "b"], "payer"):
        sim.check(task.status == "COMPLETED", f"the task is {task.status}: {task.reason}")


async def child_tasks(sim: Simulation) -> None:
    """A task starts two others and waits for both."""
    model = sim.model([call("pay", invoice="{prompt}")], "{prompt} is paid")
    payer = Agent(name="payer", model=model, tools=tools_of(sim))

    def boss(orchestrator: Orchestrator) -> Agent:
        children = orchestrator.child_tasks("payer", name="delegate")
        model = sim.model([call("delegate", prompts=["x", "y"])], "done")
        return Agent(name="boss", model=model, tools=[children])

    make = making(sim, payer, boss)
    working(sim, make)
    [task] = await finish_all(sim, make, ["all"], "boss")
    sim.check(task.status == "COMPLETED", f"the task is {task.status}: {task.reason}")
    outside = make()
    events = await outside.stored_events(task.id)
    [told] = [e.result.text for e in events if isinstance(e, ToolEnded)]
    children = [t for t in await outside.list() if t.agent == "payer"]
    sim.check(len(children) == 2, f"two children were wanted, {len(children)} were made")
    sim.check(all(t.id in told for t in children), f"the parent does not know them: {told!r}")


async def cancelled_parent(sim: Simulation) -> None:
    """A task is cancelled as it starts others: none of them is left, whoever dies meanwhile."""

    @deferred_tool(idempotent=True)
    async def wait() -> None:
        """Wait for an answer that never comes."""

    leaf = Agent(name="leaf", model=sim.model([call("wait")], "done"), tools=[wait])

    def delegating(name: str, to: str, prompts: list[str]) -> Callable[[Orchestrator], Agent]:
        def make(orchestrator: Orchestrator) -> Agent:
            tools = [orchestrator.child_tasks(to, name="delegate")]
            model = sim.model([call("delegate", prompts=prompts)], "done")
            return Agent(name=name, model=model, tools=tools)

        return make

    make = making(
        sim, leaf, delegating("middle", "leaf", ["x", "y"]), delegating("top", "middle", ["z"])
    )
    working(sim, make)
    new = [NewTask(agent="top", prompt="go", idempotency_key="go", retries=9)]
    [top] = await ask(sim, make, lambda o: o.enqueue_many(new))
    await anyio.sleep(sim.random.choice([0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 1.0]))
    was_open = await ask(sim, make, lambda o: o.cancel(top))

    async def wait_for_all(orchestrator: Orchestrator) -> list[Task]:
        await orchestrator.wait(top)
        return [await orchestrator.wait(task.id) for task in await orchestrator.list()]

    # Waited for: one that is left running would never end.
    ends = {task.id: task for task in await ask(sim, make, wait_for_all)}
    if was_open:
        sim.check(ends[top].status == "CANCELLED", f"an accepted cancel, but {ends[top].status}")


async def deferred_death(sim: Simulation) -> None:
    """A process may die before a deferred call's function has returned: the call is repeated."""

    @deferred_tool(idempotent=True)
    async def send(to: str) -> None:
        """Send a mail whose answer is the result."""
        await sim.effect("send", to, repeatable=True)

    model = sim.model([call("send", to="{prompt}")], "ok")
    make = making(sim, Agent(name="clerk", model=model, tools=[send]))
    working(sim, make)

    sim.start("mailbox", partial(_mailbox, sim, make))
    for task in await finish_all(sim, make, ["ada", "bob"], "clerk"):
        sim.check(task.status == "COMPLETED", f"the task is {task.status}: {task.reason}")


async def workflow_tasks(sim: Simulation) -> None:
    """The steps of a workflow fail and are tried again, until all are done."""

    @tool(idempotent=True)
    async def write(text: str) -> str:
        """Write a letter."""
        await sim.effect("write", text, repeatable=True)
        return f"letter to {text}"

    @deferred_tool(idempotent=True)
    async def send(to: str) -> None:
        """Send it; the answer is the result."""
        await sim.effect("send", to, repeatable=True)

    def read(text: str) -> str:
        """Read the answer."""
        return f"read: {text}"

    flow = Workflow(
        name="flow",
        nodes={"write": write, "send": send, "read": read},
        edges=[(START, "write"), ("write", "send"), ("send", "read")],
    )
    make = making(sim, lambda _: flow.copy())
    working(sim, make, number=1)
    sim.start("mailbox", partial(_mailbox, sim, make))
    for task in await finish_all(sim, make, ["ada", "bob"], "flow"):
        sim.check(task.status == "COMPLETED", f"the task is {task.status}: {task.reason}")
        sim.check(
            task.text in [f"read: letter to {to} says yes" for to in ("ada", "bob")],
            f"the last step was given something else: {task.text!r}",
        )


async def restarted_workers(sim: Simulation) -> None:
    """Workers are stopped, as a service manager does it, while tasks pay and jobs are going on; the
    results of the jobs come whenever they like. What is known is read, and nothing else."""

    @tool
    async def pay(invoice: str) -> str:
        """Pay an invoice; must never happen twice."""
        await sim.effect("pay", invoice)
        return f"paid {invoice}"

    async def send(to: str) -> dict[str, str]:
        """Send a mail; the answer comes some time."""
        await sim.effect("send", to, repeatable=True)
        return {"status": "sent"}

    mails = [call("send", to=f"{{prompt}}-{n}") for n in (1, 2)]
    model = sim.model([call("pay", invoice="{prompt}"), *mails], *["done"] * 9)
    tools = [pay, LongRunningFunctionTool(send, idempotent=True)]
    make = making(sim, Agent(name="clerk", model=model, tools=tools))
    working(sim, make)
    sim.start("mailbox", partial(_mailbox, sim, make, (0.003, 0.005, 0.01, 0.02)))
    sim.start("manager", partial(_restart, sim))
    tasks = await finish_all(sim, make, ["a", "b"], "clerk")
    outside = make()
    await _all_is_read(sim, outside, tasks)
    for task in tasks:
        for event in await outside.stored_events(task.id):
            if isinstance(event, ToolEnded) and event.result.name == "pay":
                _check_payment(sim, event.result.text)
        for value, count in (await _times_read(sim, outside, task)).items():
            sim.check(count == 1, f"{value!r} was accepted, and read {count} times")


async def _all_is_read(sim: Simulation, outside: Orchestrator, tasks: Sequence[Task]) -> None:
    """Wait until all mails are answered and all answers read, and for a lease after that: what is
    read twice is so by whoever takes up the task of another. What is never read ends it too."""
    for _ in range(100):
        await anyio.sleep(2.0)
        counts = [await _times_read(sim, outside, task) for task in tasks]
        if not await outside.pending() and all(all(count.values()) for count in counts):
            break
    await anyio.sleep(1.5 * LEASE)


async def _times_read(sim: Simulation, outside: Orchestrator, task: Task) -> dict[str, int]:
    """How often the task's model was given each answer that was accepted."""
    events = await outside.stored_events(task.id)
    told = [e.message.text for e in events if isinstance(e, Steered)]
    values = [a.value for a in sim.ledger.accepted if a.session_id == task.id]
    return {value: sum(text.endswith(value) for text in told) for value in values}


def _check_payment(sim: Simulation, text: str) -> None:
    known = text.startswith("paid ") or "outcome is unknown" in text or "simulated" in text
    sim.check(known, f"the model reads of a payment: {text!r}")


async def _restart(sim: Simulation) -> None:
    """Stop a worker now and then; it is started again."""
    for _ in range(4):
        await anyio.sleep(sim.random.choice([0.002, 0.005, 0.02, 1.0]))
        workers = [p for p in sim.processes if p.alive and p.name.startswith("worker")]
        if workers:
            sim.random.choice(workers).stop()
    await anyio.sleep_forever()


async def _mailbox(sim: Simulation, make: Make, apart: Sequence[float] = ()) -> None:
    """Answers only mails that were really sent, at once or one after the other."""
    orchestrator = make()
    while True:
        for task_id, pending in await orchestrator.pending():
            to = pending.arguments.get("to", "")
            if sim.ledger.count("send", to):
                said = await orchestrator.answer(
                    task_id=task_id, tool_call_id=pending.call_id, result=f"{to} says yes"
                )
                sim.note(f"{to} answers: {said}")
                if said == "accepted":
                    sim.ledger.accept(task_id, pending.call_id, f"{to} says yes")
                if apart:
                    await anyio.sleep(sim.random.choice(apart))
        await anyio.sleep(2.0)


async def cancelled_while_answered(sim: Simulation) -> None:
    """A task that waits for two mails is cancelled as they are answered, and tried again: its model
    reads every answer that was accepted."""

    @deferred_tool(idempotent=True)
    async def send(to: str) -> None:
        """Send a mail whose answer is the result."""
        await sim.effect("send", to, repeatable=True)

    model = sim.model([call("send", to="ada"), call("send", to="bob")], "ok")
    make = making(sim, Agent(name="clerk", model=model, tools=[send]))
    working(sim, make, number=1)
    sim.start("mailbox", partial(_mailbox, sim, make))
    new = [NewTask(agent="clerk", prompt="go", idempotency_key="go", retries=9)]
    [task_id] = await ask(sim, make, lambda o: o.enqueue_many(new))
    await anyio.sleep(sim.random.choice([0.003, 1.999, 2.0, 2.001, 2.003, 2.005]))

    async def cancel_and_retry(orchestrator: Orchestrator) -> Task:
        await orchestrator.cancel(task_id)
        if (await orchestrator.wait(task_id)).status == "CANCELLED":
            await orchestrator.retry(task_id)
        return await orchestrator.wait(task_id)

    task = await ask(sim, make, cancel_and_retry)
    outside = make()
    while task.status == "CANCELLED":
        # Whoever asked died after the cancel, and its heir cancelled once more.
        task = await ask(sim, make, partial(_try_again, task_id=task_id))
    await check_tasks(sim, outside, [task])
    sim.check(task.status == "COMPLETED", f"the task is {task.status}: {task.reason}")
    events = await outside.stored_events(task_id)
    read = [e.result.text for e in events if isinstance(e, ToolEnded)]
    read += [e.message.text.partition("\n")[2] for e in events if isinstance(e, Steered)]
    for accepted in sim.ledger.accepted:
        told = read.count(accepted.value)
        sim.check(told == 1, f"{accepted.value!r} was accepted, and read {told} times: {read}")


async def _try_again(orchestrator: Orchestrator, task_id: str) -> Task:
    await orchestrator.retry(task_id)
    return await orchestrator.wait(task_id)


async def steering_and_cancel(sim: Simulation) -> None:
    """A task is steered and another is cancelled while workers die."""
    model = sim.model(*[[call("pay", invoice=f"{{prompt}}-{n}")] for n in range(3)], "done")
    make = making(sim, Agent(name="payer", model=model, tools=tools_of(sim)))
    working(sim, make)
    new = [
        NewTask(agent="payer", prompt=key, idempotency_key=key, retries=9)
        for key in ("steered", "cancelled")
    ]
    steered, cancelled = await ask(sim, make, lambda o: o.enqueue_many(new))
    await anyio.sleep(sim.random.choice([0.0, 0.003, 0.01, 1.0]))
    taken = await _once(sim, make, lambda o: o.steer(steered, "be quick"))

    async def cancel_and_wait(orchestrator: Orchestrator) -> tuple[bool, list[Task]]:
        was_open = await orchestrator.cancel(cancelled)
        return was_open, [await orchestrator.wait(task_id) for task_id in (steered, cancelled)]

    was_open, ends = await ask(sim, make, cancel_and_wait)
    outside = make()
    await check_tasks(sim, outside, ends)
    sim.check(ends[0].status == "COMPLETED", f"the steered task is {ends[0].status}")
    if was_open:
        sim.check(ends[1].status == "CANCELLED", f"an accepted cancel, but {ends[1].status}")
    events = await outside.stored_events(steered)
    heard = sum(isinstance(e, Steered) and e.message.text == "be quick" for e in events)
    if taken is not None:
        sim.check(heard == taken, f"the message was taken {taken:d} times and heard {heard} times")


async def _once(
    sim: Simulation, make: Make, what: Callable[[Orchestrator], Awaitable[bool]]
) -> bool | None:
    """What came of one attempt; None when that is not known."""
    process = sim.process("steerer")
    try:
        return await process.run(lambda: what(make()))
    except Exception as error:
        sim.note(f"the steerer does not know: {error}")
        return None
