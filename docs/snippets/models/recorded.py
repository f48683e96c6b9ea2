from pathlib import Path

from toolwright import Agent, tool
from toolwright.testing import RecordedModel

RECORDING = Path(__file__).with_name("recorded.jsonl")


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}"


def test_the_agent_looks_at_the_weather() -> None:
    model = RecordedModel(RECORDING, "openai:gpt-5-mini")
    agent = Agent(name="weather", model=model, tools=[get_weather])

    assert "umbrella" in agent.run_sync("Do I need an umbrella in Oslo?").text
