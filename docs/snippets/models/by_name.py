from toolwright import Agent, tool


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}"


agent = Agent(name="weather", model="openai:gpt-5-mini", tools=[get_weather])


def main() -> str:
    return agent.run_sync("Do I need an umbrella in Oslo?").text


if __name__ == "__main__":
    print(main())
