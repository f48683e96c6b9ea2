from pydantic_ai import RunContext, Tool

from toolwright import Agent
from toolwright.sources import from_pydantic_ai
from toolwright.testing import ScriptedModel, call


def stock(ctx: RunContext[str], item: str) -> int:
    """How many of an item are in a shop.

    Args:
        item: The item's name.
    """
    return len(item) + len(ctx.deps)


model = ScriptedModel(call("stock", item="tea"), "There are eight.")
agent = Agent(name="shop", model=model, tools=[from_pydantic_ai(Tool(stock))])
result = agent.run_sync("How much tea is there?", deps="north")
