import asyncio
import sys

from toolwright import Agent, Result, Runner
from toolwright.backends import HostSecret, ServerSandbox
from toolwright.sources import McpToolset, StdioServerParameters
from toolwright.testing import ScriptedModel, call

key = "the-real-key-stays-outside"  # in your program: from your settings
clock = McpToolset(
    StdioServerParameters(command=sys.executable, args=["-m", "mcp_server_time"]),
    sandbox=ServerSandbox(
        allow_hosts=["tiles.example.com"],
        secrets={"WEATHER_API_KEY": HostSecret(key, ["api.example.com"])},
    ),
)
model = ScriptedModel(call("get_current_time", timezone="Europe/Oslo"), "It is late.")
agent = Agent(name="helper", model=model, tools=[clock])


async def main() -> Result:
    async with Runner(agent) as runner:  # closes the toolset, which ends the server
        return await runner.run("What time is it in Oslo?")


result = asyncio.run(main())
