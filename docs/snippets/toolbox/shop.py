from toolwright import Agent, Result, Runner
from toolwright.sources import ToolboxToolset
from toolwright.testing import ScriptedModel, call


async def ask(server_url: str, customer: str) -> Result:
    shop = ToolboxToolset(
        server_url,  # http://127.0.0.1:5000
        tool_names=["orders_of"],
        bound_params={"customer": lambda: customer, "most": 10},
    )
    model = ScriptedModel(call("orders_of"), "You ordered two books.")
    async with Runner(Agent(name="shop", model=model, tools=[shop])) as runner:
        return await runner.run("What did I order?")
