import os

from toolwright import Agent, Runner, ToolContext, deferred_tool
from toolwright.serve import Links, create_app
from toolwright.testing import ScriptedModel, call

links = Links(os.environ.get("LINK_SECRET", "for this example only"), "http://127.0.0.1:8765")
outbox: list[str] = []


@deferred_tool(timeout=24 * 3600)
async def request_transfer(amount_cents: int, account: str, tool_context: ToolContext) -> None:
    """Move money, once the owner has agreed by mail."""
    yes = links.answer(tool_context, {"status": "approved"}, label="Approve the transfer")
    no = links.answer(tool_context, {"status": "rejected"}, label="Reject the transfer")
    outbox.append(f"{amount_cents / 100:.2f} to {account}?\nYes: {yes}\nNo: {no}")


model = ScriptedModel(call("request_transfer", amount_cents=5000, account="Ada"), "Sent.")
runner = Runner(Agent(name="bank", model=model, tools=[request_transfer]), app_name="bank")
app = create_app(runner, links=links)
