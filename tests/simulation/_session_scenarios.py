"""Sessions that are run, killed, answered and resumed by several processes."""

from collections.abc import Callable, Sequence
from typing import Any

import anyio

from toolwright import (
    Agent,
    AgentTool,
    Approve,
    Limits,
    Reject,
    Runner,
    ToolContext,
    Workflow,
    deferred_tool,
    tool,
)
from toolwright.messages import Event, ModelReplied, Pending, RunEnded, ToolEnded
from toolwright.testing import call
from toolwright.testing.simulation import Simulation
from toolwright.tools import Tool

UNKNOWN = "outcome is unknown"
MakeRunner = Callable[[], Runner]


def paying(sim: Simulation) -> Tool:
    @tool
    async def pay(invoice: str) -> str:
        """Pay an invoice; must never happen twice."""
        await sim.effect("pay", invoice)
        return f"paid {invoice}"

    return pay


def making(sim: Simulation, agent: Agent | Workflow) -> MakeRunner:
    """How each process makes its own runner, with its own connection to the store."""
    return lambda: Runner(agent, store=sim.database())


async def finish(sim: Simulation, make: MakeRunner, *, impatient: bool = False) -> None:
    """Start the session's run, again whenever it dies or fails, until it is done."""

    async def main() -> str:
        runner = make()
        result = await runner.begin_or_resume("go", user_id="ada", session_id="s")
        await runner.close()
        return result.status

    status = ""
    while status != "done":
        status = await sim.run("app", main, impatient=impatient)
        await anyio.sleep(0.5)


async def stored(sim: Simulation, make: MakeRunner) -> list[Event]:
    """The session's events at the end, held against the ledger."""
    events = await make().events("s")
    sim.check_journal("s", events)
    sim.check(isinstance(events[-1], RunEnded), "the journal does not end with the run's end")
    return events


def results(events: Sequence[Event], name: str) -> list[str]:
    """What the model read of each call of a tool, in the order of the calls."""
    ended = [e for e in events if isinstance(e, ToolEnded) and e.result.name == name]
    return [e.result.text for e in sorted(ended, key=lambda e: (e.path, e.result.call_id))]


def check_payments(sim: Simulation, events: Sequence[Event], invoices: int) -> None:
    """Whoever reads 'paid' has paid; 'unknown' is only said when a process was lost with it."""
    texts = results(events, "pay")
    if not sim.happened("error", "cancel"):
        sim.check(len(texts) == invoices, f"{invoices} calls have {len(texts)} results")
    for text in texts:
        if text.startswith("paid "):
            paid = sim.ledger.count("pay", text.removeprefix("paid "))
            sim.check(paid == 1, f"the model reads {text!r}, which is not true")
        elif UNKNOWN in text:
            lost = sim.happened("kill", "pause", "cancel")
            sim.check(lost, "a finished payment is 'unknown' though no process was lost")


def answering(
    sim: Simulation, make: MakeRunner, value: Callable[[Pending], Any], session_id: str = "s"
) -> None:
    """Two other processes look for open questions and answer them, at the same time."""

    async def main() -> None:
        runner = make()
        while True:
            for pending in await runner.pending(session_id):
                await _answer(sim, runner, session_id, pending, value(pending))
            await anyio.sleep(sim.random.choice([0.01, 0.2, 2.0]))

    sim.start("answerer-1", main)
    sim.start("answerer-2", main)


async def _answer(
    sim: Simulation, runner: Runner, session_id: str, pending: Pending, value: Any
) -> None:
    said = await runner.answer(session_id, pending.call_id, value)
    sim.note(f"answers {pending.call_id} with {value!r}: {said}")
    sim.check(said in ("accepted", "duplicate", "finished"), f"an answer was {said}")
    if said == "accepted":
        sim.ledger.accept(session_id, pending.call_id, Reject() if value is False else value)


# -- effects ---------------------------------------------------------------------------------


async def parallel_payments(sim: Simulation) -> None:
    """One run pays invoices side by side; whoever started it starts it again."""
    model = sim.model(
        [call("pay", invoice=i) for i in "abc"], [call("pay", invoice=i) for i in "de"], "done"
    )
    make = making(sim, Agent(name="payer", model=model, tools=[paying(sim)]))

    await finish(sim, make, impatient=True)
    check_payments(sim, await stored(sim, make), 5)


async def payments_by_sub_agents(sim: Simulation) -> None:
    """Three agents inside one run pay two invoices each, all side by side."""
    pay = paying(sim)
    inner = [
        Agent(
            name=f"payer_{name}",
            model=sim.model([call("pay", invoice=name + i) for i in "12"], f"{name} is paid"),
            tools=[pay],
        )
        for name in "abc"
    ]
    model = sim.model([call(agent.name, request="pay") for agent in inner], "done")
    make = making(sim, Agent(name="boss", model=model, tools=[AgentTool(a) for a in inner]))

    await finish(sim, make, impatient=True)
    check_payments(sim, await stored(sim, make), 6)


async def rival_runs(sim: Simulation) -> None:
    """Two processes run the same session at once: what one has begun the other does not repeat."""
    model = sim.model([call("pay", invoice=i) for i in "ab"], "done")
    make = making(sim, Agent(name="payer", model=model, tools=[paying(sim)]))

    async with anyio.create_task_group() as group:
        group.start_soon(finish, sim, make)
        group.start_soon(finish, sim, make)
    texts = results(await stored(sim, make), "pay")
    sim.check(len(texts) == 2, f"two calls have {len(texts)} results")


async def state_writes(sim: Simulation) -> None:
    """Parallel calls count in the session's state: the count is what the results say."""

    @tool
    async def count(step: int, tool_context: ToolContext) -> str:
        """Count up."""
        await sim.effect("count", str(step))
        tool_context.state.change("total", lambda total: total + step, 0)
        tool_context.state[f"user:step-{step}"] = step
        return f"counted {step}"

    model = sim.model([call("count", step=n) for n in (1, 2, 4)], [call("count", step=8)], "ok")
    make = making(sim, Agent(name="counter", model=model, tools=[count]))

    await finish(sim, make, impatient=True)
    texts = results(await stored(sim, make), "count")
    counted = [int(text.split()[1]) for text in texts if text.startswith("counted ")]
    state = await make().state("s")
    sim.check(state.get("total", 0) == sum(counted), f"{counted} make {state.get('total')}")
    kept = sorted(value for key, value in state.items() if key.startswith("user:step-"))
    sim.check(kept == sorted(counted), f"{counted} were counted, {kept} are in the state")


async def shared_counts(sim: Simulation) -> None:
    """Three sessions count in what they share: the count is what all their results say."""

    @tool
    async def count(step: int, tool_context: ToolContext) -> str:
        """Count up."""
        await sim.effect("count", str(step))
        tool_context.state.change("app:total", lambda total: total + step, 0)
        return f"counted {step}"

    names = ("one", "two", "three")

    async def until_done(name: str, step: int) -> None:
        model = sim.model([call("count", step=step)], [call("count", step=10 * step)], "ok")
        make = making(sim, Agent(name="counter", model=model, tools=[count]))

        async def main() -> str:
            runner = make()
            result = await runner.begin_or_resume("go", user_id="ada", session_id=name)
            await runner.close()
            return result.status

        status = ""
        while status != "done":
            status = await sim.run(name, main)
            await anyio.sleep(0.5)

    async with anyio.create_task_group() as group:
        for step, name in enumerate(names, 1):
            group.start_soon(until_done, name, step)
    outside = making(sim, Agent(name="counter", model=sim.model(), tools=[count]))()
    texts = [text for name in names for text in results(await outside.events(name), "count")]
    counted = sum(int(text.split()[1]) for text in texts if text.startswith("counted "))
    total = (await outside.state("one")).get("app:total", 0)
    sim.check(total == counted, f"results say {counted}, the state {total}")


async def workflow_nodes(sim: Simulation) -> None:
    """Three steps, the second of which waits for a person; no step that has ended runs again."""

    async def order(node_input: str) -> dict[str, Any]:
        """Order something."""
        await sim.effect("order", "chair")
        return {"item": "chair", "price": 7}

    @deferred_tool()
    async def sign(item: str, price: int) -> None:
        """Have it signed."""
        await sim.effect("ask for a signature", item)

    async def ship(said: str) -> str:
        """Ship it."""
        await sim.effect("ship", said)
        return f"shipped {said}"

    flow = Workflow(
        name="flow",
        nodes={"order": order, "sign": sign, "ship": ship},
        edges=[("start", "order"), ("order", "sign"), ("sign", "ship")],
    )
    make = making(sim, flow)

    answering(sim, make, lambda pending: f"signed {pending.arguments['item']}")
    status = ""

    async def main() -> str:
        runner = make()
        result = await runner.begin_or_resume("go", user_id="ada", session_id="s")
        await runner.close()
        return result.status if result.status != "stopped" else f"stopped: {result.reason}"

    while status != "done" and not status.startswith("stopped"):
        status = await sim.run("app", main)
        await anyio.sleep(0.5)
    if status.startswith("stopped"):
        # The answer may have been accepted while the step was failing; it is found by going on.
        status = await sim.run("app", main)
    events = await stored(sim, make)
    shipped = sim.ledger.count("ship", "signed chair")
    sim.check(status != "done" or shipped == 1, f"done, but shipped {shipped} times")
    sim.check(shipped == sim.ledger.count("ship"), "something else was shipped")
    if not sim.happened("kill", "pause", "error", "cancel"):
        ended = results(events, "ship")
        sim.check(ended == ["shipped signed chair"], f"nothing was lost, but {status}: {ended}")


# -- answers ---------------------------------------------------------------------------------


async def approvals_elsewhere(sim: Simulation) -> None:
    """Two payments wait for a yes and one for a no, said by other processes."""

    @tool(require_confirmation=True)
    async def pay(invoice: str) -> str:
        """Pay an invoice once somebody has agreed."""
        await sim.effect("pay", invoice)
        return f"paid {invoice}"

    model = sim.model([call("pay", invoice=i) for i in "abc"], "done")
    make = making(sim, Agent(name="payer", model=model, tools=[pay]))

    answering(sim, make, lambda pending: pending.arguments["invoice"] != "c" and Approve())
    await finish(sim, make)
    events = await stored(sim, make)
    check_payments(sim, events, 3)
    sim.check(sim.ledger.count("pay", "c") == 0, "c was paid though it was rejected")
    texts = results(events, "pay")
    lost = UNKNOWN in texts[-1] and sim.happened("kill", "pause")
    sim.check("rejected" in texts[-1] or lost, f"c reads {texts[-1]!r}")


async def two_questions(sim: Simulation) -> None:
    """A tool asks for a yes and then for a text; each answer is for its own question."""

    @tool(require_confirmation=True)
    async def book(city: str, tool_context: ToolContext) -> None:
        """Book a room."""
        tool_context.request_input(hint=f"Which room in {city}?")

    model = sim.model([call("book", city=city) for city in ("Rome", "Oslo")], "done")
    make = making(sim, Agent(name="clerk", model=model, tools=[book]))

    def value(pending: Pending) -> Any:
        asks = pending.kind == "confirmation"
        return Approve() if asks else f"room in {pending.arguments['city']}"

    answering(sim, make, value)
    await finish(sim, make)
    texts = results(await stored(sim, make), "book")
    wanted = ["room in Rome", "room in Oslo"]
    got = [text for text in texts if UNKNOWN not in text]
    sim.check(all(text in wanted for text in got), f"somebody else's answer: {texts}")
    sim.check(len(set(got)) == len(got) and len(texts) == 2, f"answers were mixed up: {texts}")


async def deferred_answers(sim: Simulation) -> None:
    """Answers to deferred calls come early, twice, late, and from several processes."""

    @deferred_tool()
    async def order(item: str) -> None:
        """Order something."""
        await sim.effect("order", item)

    model = sim.model([call("order", item=i) for i in "ab"], [call("order", item="c")], "done")
    make = making(sim, Agent(name="buyer", model=model, tools=[order]))

    answering(sim, make, lambda pending: f"{pending.arguments.get('item')} has come")
    await finish(sim, make)
    texts = results(await stored(sim, make), "order")
    sim.check(len(texts) == 3, f"three calls have {len(texts)} results")
    for item, text in zip("abc", texts, strict=True):
        told = text == f"{item} has come" or UNKNOWN in text
        sim.check(told or "simulated" in text, f"the call for {item!r} reads {text!r}")


async def budget_over_resumes(sim: Simulation) -> None:
    """A limit on turns holds over all the runs that a session takes."""
    most = 4

    @deferred_tool(idempotent=True)
    async def ask(n: int) -> None:
        """Ask something."""

    model = sim.model(*[[call("ask", n=n)] for n in range(8)], "done", cost=0.25)
    make = making(sim, Agent(name="asker", model=model, tools=[ask], limits=Limits(turns=most)))

    answering(sim, make, lambda pending: f"answer {pending.arguments['n']}")

    async def main() -> str:
        result = await make().begin_or_resume("go", user_id="ada", session_id="s")
        return f"{result.status} {result.reason}"

    ended = ""
    while "limit" not in ended and not ended.startswith("done"):
        ended = await sim.run("app", main)
        await anyio.sleep(0.5)
    events = await make().events("s")
    sim.check_journal("s", events)
    turns = sum(isinstance(event, ModelReplied) for event in events)
    sim.check(turns <= most, f"a budget of {most} turns, but the model has spoken {turns} times")
