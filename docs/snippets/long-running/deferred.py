import asyncio

from toolwright import Agent, Result, Runner, ToolContext, deferred_tool
from toolwright.testing import ScriptedModel, call

orders: list[dict[str, str]] = []


@deferred_tool(timeout=24 * 60 * 60)
async def order_part(name: str, tool_context: ToolContext) -> None:
    """Order a spare part; the answer is its delivery date."""
    orders.append(
        {
            "part": name,
            "session": tool_context.session.id,
            "call": tool_context.pending_id,
        }
    )


async def delivered(runner: Runner, order: dict[str, str], date: str) -> Result:
    """The supplier's webhook calls this."""
    await runner.answer(order["session"], order["call"], {"delivery": date})
    return await runner.resume(order["session"])


async def main() -> Result:
    model = ScriptedModel(call("order_part", name="propeller"), "It comes on Monday.")
    runner = Runner(Agent(name="mechanic", model=model, tools=[order_part]))
    paused = await runner.run("We need a propeller")
    assert paused.status == "paused"
    return await delivered(runner, orders[0], "Monday")


result = asyncio.run(main())
