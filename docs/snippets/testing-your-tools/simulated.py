"""A transfer of money is simulated: whatever fails, and whenever, it happens once."""

from toolwright import Agent, Runner, tool
from toolwright.testing import Simulation, call, simulate


async def transfers(sim: Simulation) -> None:
    @tool
    async def transfer(to: str, amount: int) -> str:
        """Send money."""
        await sim.effect("transfer", f"{amount} to {to}")
        return f"sent {amount} to {to}"

    def bank() -> Runner:
        model = sim.model([call("transfer", to="ada", amount=5)], "It is done.")
        agent = Agent(name="bank", model=model, tools=[transfer])
        return Runner(agent, store=sim.database())

    async def main() -> str:
        result = await bank().begin_or_resume("Pay Ada", user_id="bob", session_id="s1")
        return result.status

    status = ""
    while status != "done":
        status = await sim.run("app", main)

    sim.check_journal("s1", await bank().events("s1"))
    sim.check(sim.ledger.count("transfer") <= 1, "money was sent twice")


def test_a_transfer_happens_once() -> None:
    simulate(transfers, seeds=100)
