import asyncio
import sys

from toolwright import Agent, Result, Runner
from toolwright.sources import McpToolset, StdioConnectionParams, StdioServerParameters
from toolwright.testing import ScriptedModel, call

clock = McpToolset(
    StdioConnectionParams(
        StdioServerParameters(command=sys.executable, args=["-m", "mcp_server_time"]),
        timeout=30,  # seconds until the server must be ready
    ),
    tool_filter=["get_current_time"],
    tool_name_prefix="clock",
)
model = ScriptedModel(call("clock_get_current_time", timezone="Europe/Oslo"), "It is late.")
agent = Agent(name="helper", model=model, tools=[clock])


async def main() -> Result:
    async with Runner(agent) as runner:  # closes the toolset, which stops the server
        return await runner.run("What time is it in Oslo?")


result = asyncio.run(main())
