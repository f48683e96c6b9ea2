"""A tool that fails tells the model; what it says depends on how it fails."""

from toolwright import Agent, ToolError, tool
from toolwright.testing import ScriptedModel, call


@tool
def refund(order: str) -> str:
    """Pay an order back."""
    if order == "paid-back":
        raise ToolError(f"Order {order!r} was paid back already; tell the customer when.")
    return f"{1 / 0}"


model = ScriptedModel([call("refund", order="paid-back"), call("refund", order="o1")], "Sorry.")
result = Agent(name="desk", model=model, tools=[refund]).run_sync("Refund both")
for answer in result.history[2].results:
    print(answer.status, answer.text)
