"""Processes that want the same session at the same time, and of which one holds it."""

import anyio
from tests.simulation._session_scenarios import check_payments, stored

from toolwright import Agent, Runner, ToolContext, tool
from toolwright.agent import RETRY_SECONDS
from toolwright.errors import SessionHeld
from toolwright.messages import ToolStarted
from toolwright.testing import call
from toolwright.testing.simulation import Simulation

LONG = 70.0
"""Longer than a lease and the close look after it."""


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
