from toolwright import Agent, Result, Runner
from toolwright.sources import McpToolset, StdioConnectionParams
from toolwright.testing import ScriptedModel, call


async def book(server: StdioConnectionParams) -> Result:
    model = ScriptedModel(call("book_table", restaurant="Maaemo"), "Your table is booked.")
    agent = Agent(name="butler", model=model, tools=[McpToolset(server)])
    async with Runner(agent) as runner:
        result = await runner.run("A table at Maaemo, please", session_id="s1")
        for pending in result.pending:  # the server asks: how many of you?
            print(pending.hint, pending.schema)
            await runner.answer("s1", pending.call_id, {"guests": 4})
        return await runner.resume("s1")
