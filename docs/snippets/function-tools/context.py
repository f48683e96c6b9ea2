"""What a function sees besides its arguments; the model neither sees nor sets it."""

from dataclasses import dataclass

from toolwright import Agent, ToolContext, tool
from toolwright.testing import ScriptedModel, call


@dataclass
class Shop:
    prices: dict[str, int]


@tool
async def add_to_cart(sku: str, tool_context: ToolContext) -> str:
    """Put a product into the cart."""
    shop: Shop = tool_context.deps  # what was given to run(deps=…)
    cart = tool_context.state.get("cart", [])
    tool_context.state["cart"] = [*cart, sku]  # kept with the session
    tool_context.progress(f"looking up {sku}")
    return f"{sku} costs {shop.prices[sku]}."


model = ScriptedModel(call("add_to_cart", sku="tea"), "In your cart.")
agent = Agent(name="shop", model=model, tools=[add_to_cart], deps_type=Shop)
result = agent.run_sync("Tea, please", deps=Shop({"tea": 4}))
print(result.state)
