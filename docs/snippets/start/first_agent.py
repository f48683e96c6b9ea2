"""A first agent: one typed function, one question."""

from toolwright import Agent, tool
from toolwright.testing import ScriptedModel, call


@tool
def get_weather(city: str) -> str:
    """Get the current weather for a city.

    Args:
        city: The city's English name.
    """
    return f"Sunny in {city}, 25 °C."


model = ScriptedModel(call("get_weather", city="Ghent"), "It is sunny in Ghent.")
agent = Agent(name="weather", model=model, instructions="Be brief.", tools=[get_weather])

result = agent.run_sync("What is the weather in Ghent?")
print(result.text)
