"""Questions about a database, through the prepared statements of an MCP Toolbox server.

Start the server with a `tools.yaml` that has the tools `find_books` and `orders_of`.
"""

import asyncio

from toolwright import Agent, Result, Runner, ToolboxToolset
from toolwright.testing import ScriptedModel, call


async def ask(server_url: str, current_user: str) -> Result:
    """The customer is bound to whoever asks: the model cannot look at others' orders."""
    shop = ToolboxToolset(
        server_url=server_url,
        bound_params={
            "customer": lambda: current_user,  # called anew for each query
            "most": 100,  # or a fixed value
        },
    )
    model = ScriptedModel(
        [call("find_books", word="Dune"), call("orders_of")],
        "Dune is from 1965, and you have ordered it.",
    )
    agent = Agent(
        name="db_agent",
        model=model,
        instructions="Answer questions about the shop with the tools you have.",
        tools=[shop],
    )
    async with Runner(agent) as runner:
        return await runner.run("When was Dune written, and did I order it?", user_id=current_user)


def main(server_url: str = "http://127.0.0.1:5000", current_user: str = "ada") -> Result:
    """Ask as one customer."""
    return asyncio.run(ask(server_url, current_user))


if __name__ == "__main__":
    print(main().text)
