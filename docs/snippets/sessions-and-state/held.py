import asyncio

from toolwright import Agent, Runner, tool
from toolwright.errors import SessionHeld
from toolwright.testing import ScriptedModel, call

STORE = "sqlite:///payments.db"


async def main() -> list[str]:
    paying, may_end = asyncio.Event(), asyncio.Event()

    @tool
    async def pay(amount: int) -> str:
        """Pay an amount."""
        paying.set()
        await may_end.wait()
        return f"paid {amount}"

    model = ScriptedModel(call("pay", amount=7), "Paid.", "You have paid 7.")
    agent = Agent(name="payer", model=model, tools=[pay])
    shown: list[str] = []
    # The other runner may as well be in another process.
    async with Runner(agent, store=STORE) as one, Runner(agent, store=STORE) as other:
        first = asyncio.create_task(one.run("Pay 7", session_id="s1"))
        await paying.wait()
        try:
            await other.run("And now?", session_id="s1")
        except SessionHeld as error:
            shown.append(f"held by {error.holder}")

        other.wait_if_held = 30.0
        second = asyncio.create_task(other.run("What have I paid?", session_id="s1"))
        may_end.set()
        shown.extend([(await first).text, (await second).text])
    return shown


shown = asyncio.run(main())
print(shown)
