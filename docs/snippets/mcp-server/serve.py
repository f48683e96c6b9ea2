import anyio
from pydantic import BaseModel

from toolwright import FunctionTool, tool
from toolwright.serve.mcp import McpServer


class Weather(BaseModel):
    city: str
    degrees: float


@tool(effects="read")
def weather(city: str) -> Weather:
    """The weather in a city."""
    return Weather(city=city, degrees=21.5)


def wipe(disk: str) -> str:
    """Wipe a disk."""
    return f"{disk} is empty."


server = McpServer([weather, FunctionTool(wipe, require_confirmation=True)], name="demo")

if __name__ == "__main__":
    anyio.run(server.run_stdio)
