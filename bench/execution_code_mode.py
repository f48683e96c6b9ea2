"""A task of 100 calls, by ordinary calls and in code mode: model turns, tokens, time.

The model is scripted, so its own time is not counted; tokens are characters divided by four.
Run: python bench/execution_code_mode.py
"""

import asyncio
import json
import time

from toolwright import Agent, code_mode
from toolwright.messages import encode_message
from toolwright.testing import ScriptedModel, call

COUNT = 100


async def get_order(number: int) -> dict[str, object]:
    """One order with its lines.

    Args:
        number: The order's number.
    """
    lines = [{"sku": f"sku-{number}-{n}", "quantity": n, "cents": 100 * n} for n in range(5)]
    return {"number": number, "customer": f"customer {number % 7}", "lines": lines}


CODE = f"""
import asyncio
orders = await asyncio.gather(*[get_order(n) for n in range({COUNT})])
totals = {{}}
for order in orders:
    cents = sum(line["quantity"] * line["cents"] for line in order["lines"])
    totals[order["customer"]] = totals.get(order["customer"], 0) + cents
totals
"""


def read_by_the_model(model: ScriptedModel) -> int:
    """Tokens the model had to read over all turns: tools and history, each time anew."""
    total = 0
    for request in model.requests:
        tools = sum(len(t.description) + len(json.dumps(t.parameters)) for t in request.tools)
        total += tools + sum(len(encode_message(message)) for message in request.history)
    return total // 4


async def measure(name: str, agent: Agent, model: ScriptedModel) -> None:
    began = time.perf_counter()
    await agent.run("Sum what each customer ordered.")
    spent = (time.perf_counter() - began) * 1000
    turns = len(model.requests)
    print(f"| {name} | {turns} | {read_by_the_model(model):,} | {spent:.0f} |")


async def main() -> None:
    print(
        f"| {COUNT} calls | model turns | tokens read | framework and tools, ms |\n|---|---|---|---|"
    )
    one_by_one = ScriptedModel(*(call("get_order", number=n) for n in range(COUNT)), "Done.")
    await measure("one by one", Agent(name="a", model=one_by_one, tools=[get_order]), one_by_one)
    at_once = ScriptedModel([call("get_order", number=n) for n in range(COUNT)], "Done.")
    await measure("in parallel", Agent(name="a", model=at_once, tools=[get_order]), at_once)
    coded = ScriptedModel(call("run_code", code=CODE), "Done.")
    await measure("code mode", Agent(name="a", model=coded, tools=[code_mode([get_order])]), coded)


if __name__ == "__main__":
    asyncio.run(main())
