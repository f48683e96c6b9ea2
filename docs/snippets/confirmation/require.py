import asyncio

from toolwright import Agent, Approve, FunctionTool, Result, Runner
from toolwright.testing import ScriptedModel, call


def transfer(cents: int, to: str) -> str:
    """Transfer money to an account."""
    return f"{cents} cents went to {to}."


tool = FunctionTool(transfer, require_confirmation=lambda cents: cents > 10_000)
calls = [call("transfer", cents=500, to="Bob"), call("transfer", cents=50_000, to="Eve")]
model = ScriptedModel(calls, "Both transfers are done.")  # or: "openai:gpt-5-mini"
agent = Agent(name="bank", model=model, tools=[tool])


async def main() -> Result:
    runner = Runner(agent)
    result = await runner.run("Pay Bob and Eve", session_id="s1")
    for pending in result.pending:  # only the large one; Bob has his money
        print(pending.hint, pending.arguments)
        await runner.answer("s1", pending.call_id, Approve(arguments={"cents": 5_000, "to": "Eve"}))
    return await runner.resume("s1")


result = asyncio.run(main())
