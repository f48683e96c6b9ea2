"""A tool with a schema by hand, a choice among two units, and progress while it works."""

from typing import Any

from toolwright import Agent, BaseTool, Result, ToolContext, ToolError
from toolwright.messages import ToolSpec
from toolwright.testing import ScriptedModel, call

MEASURED = {"Ghent": 25, "Oslo": 7}  # in degrees Celsius; in production: a weather service


class WeatherTool(BaseTool):
    """Fetches the current weather of a city."""

    effects = "read"

    def __init__(self, measured: dict[str, int]) -> None:
        super().__init__(name="get_weather", description="Get the current weather for a city.")
        self.measured = measured

    def _get_declaration(self) -> ToolSpec:
        properties = {
            "city": {"type": "string", "description": "The city's name, e.g. 'San Francisco'."},
            "units": {
                "type": "string",
                "enum": ["celsius", "fahrenheit"],
                "description": "Which degrees.",
            },
        }
        schema = {"type": "object", "properties": properties, "required": ["city"]}
        return ToolSpec(name=self.name, description=self.description, parameters=schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:
        city, units = args["city"], args.get("units", "celsius")
        tool_context.progress(f"Fetching the weather of {city} …")
        if city not in self.measured:
            raise ToolError(f"No station in {city!r}; there are: {', '.join(self.measured)}.")
        celsius = self.measured[city]
        degrees = f"{celsius} °C" if units == "celsius" else f"{celsius * 9 // 5 + 32} °F"
        return f"Weather in {city}: {degrees}"


def main() -> Result:
    """Four calls at once: two good ones, a wrong unit, a city without a station."""
    turn = [
        call("get_weather", city="Ghent"),
        call("get_weather", city="Oslo", units="fahrenheit"),
        call("get_weather", city="Oslo", units="kelvin"),
        call("get_weather", city="Atlantis"),
    ]
    agent = Agent(
        name="weather",
        model=ScriptedModel(turn, "Warm in Ghent, cool in Oslo."),
        tools=[WeatherTool(MEASURED)],
    )
    result = agent.run_sync("How warm is it?")
    print(result.text)
    return result


if __name__ == "__main__":
    main()
