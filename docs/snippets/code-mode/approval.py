import anyio

from toolwright import Agent, Approve, FunctionTool, Runner, code_mode
from toolwright.testing import ScriptedModel, call

RAN: list[str] = []


async def find_invoices(customer: str) -> list[int]:
    """The numbers of a customer's open invoices."""
    RAN.append(f"find {customer}")
    return [17, 18]


async def pay(invoice: int) -> str:
    """Pay an invoice."""
    RAN.append(f"pay {invoice}")
    return f"paid {invoice}"


code = """
paid = []
for invoice in await find_invoices("ada"):
    paid.append(await pay(invoice))
paid
"""
tools = code_mode([find_invoices, FunctionTool(pay, require_confirmation=True)])
model = ScriptedModel(call("run_code", code=code), "Both are paid.")
runner = Runner(Agent(name="clerk", model=model, tools=[tools]), app_name="billing")


async def main() -> str:
    result = await runner.run("Pay what Ada owes", user_id="ada", session_id="s1")
    while result.status == "paused":  # each payment is asked about, in the middle of the loop
        await runner.answer("s1", result.pending[0].call_id, Approve())
        result = await runner.resume("s1")
    return result.text


text = anyio.run(main)
