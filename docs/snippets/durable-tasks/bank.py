from toolwright import Agent, ToolContext, deferred_tool
from toolwright.tasks import Orchestrator
from toolwright.testing import ScriptedModel, call

mails: list[str] = []


@deferred_tool(timeout=3600)
async def request_fund_transfer(
    amount_cents: int, destination_account: str, ctx: ToolContext
) -> None:
    """Ask the owner to approve a transfer of money."""
    mails.append(f"/approve?task_id={ctx.task_id}&tool_call_id={ctx.pending_id}")


model = ScriptedModel(  # or "openai:gpt-5-mini"
    call("request_fund_transfer", amount_cents=5000, destination_account="ada"), "Paid."
)
orchestrator = Orchestrator("sqlite:///tasks.db")  # or "postgresql://…"
orchestrator.register(Agent(name="bank", model=model, tools=[request_fund_transfer]), workers=10)
