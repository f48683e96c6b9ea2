from toolwright import Agent, code_mode, tool
from toolwright.testing import ScriptedModel, call

STOCK = {"tea": 4, "coffee": 0, "cocoa": 12, "milk": 0}


@tool
async def list_products() -> list[str]:
    """All products."""
    return list(STOCK)


@tool
async def stock_of(product: str) -> int:
    """How many there are.

    Args:
        product: Its name.
    """
    return STOCK[product]


code = """
import asyncio
products = await list_products()
counts = await asyncio.gather(*[stock_of(product) for product in products])
[product for product, count in zip(products, counts) if count == 0]
"""
model = ScriptedModel(call("run_code", code=code), "Coffee and milk are sold out.")
agent = Agent(name="shop", model=model, tools=[code_mode([list_products, stock_of])])
result = agent.run_sync("What is sold out?")
