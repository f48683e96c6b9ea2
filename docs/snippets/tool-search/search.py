from toolwright import Agent, searchable, tool
from toolwright.testing import ScriptedModel, call


@tool(tags=["billing"])
def refund_payment(payment_id: str) -> str:
    """Give a customer their money back."""
    return f"Payment {payment_id} was refunded."


@tool(tags=["billing"])
def list_invoices(customer: str) -> list[str]:
    """List a customer's invoices."""
    return [f"{customer}-001"]


@tool(tags=["shipping"])
def track_parcel(number: str) -> str:
    """Say where a parcel is."""
    return "In Oslo."


model = ScriptedModel(
    call("search_tools", query="refunding a payment"),
    call("refund_payment", payment_id="p-7"),
    "Your money is on its way.",
)
agent = Agent(
    name="support",
    model=model,
    tools=[searchable([refund_payment, list_invoices, track_parcel], limit=1)],
)
result = agent.run_sync("I want my money back for p-7")
