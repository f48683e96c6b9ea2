from toolwright import Agent, google_search, tool


@tool
def add_to_calendar(title: str, day: str) -> str:
    """Put an event into the calendar."""
    return f"{title} is in the calendar on {day}."


agent = Agent(
    name="planner",
    model="google:gemini-2.5-flash",
    tools=[google_search, add_to_calendar],
)


def main() -> str:
    return agent.run_sync("When is the next solar eclipse in Spain? Put it in my calendar.").text


if __name__ == "__main__":
    print(main())
