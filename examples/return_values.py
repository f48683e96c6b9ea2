"""What functions may return: text, or text for the model with data for the user interface."""

from datetime import datetime
from typing import Any

from toolwright import Agent, Result, tool
from toolwright.testing import ScriptedModel, call

USERS = {"u1": {"name": "Ada", "email": "ada@example.org", "visits": [3, 5, 8]}}


def get_time() -> str:
    """Say what time it is."""
    return datetime.now().strftime("%Y-%m-%d %H:%M:%S")


def fetch_user(user_id: str) -> tuple[str, dict[str, Any]]:
    """Fetch a user's data by their id."""
    user = USERS[user_id]
    return f"User: {user['name']} ({user['email']})", user


@tool(name="weather_lookup", description="Get detailed weather information for any city.")
def get_weather(location: str) -> str:
    return f"Weather in {location}: sunny, 22 °C"


def main() -> Result:
    """All three, and an unknown user: the exception is told to the model."""
    turn = [
        call("get_time"),
        call("fetch_user", user_id="u1"),
        call("weather_lookup", location="Ghent"),
        call("fetch_user", user_id="u2"),
    ]
    model = ScriptedModel(turn, "There is no user u2.")
    result = Agent(
        name="desk",
        description="Front desk",
        model=model,
        instructions="You answer questions about people and the weather.",
        tools=[get_time, fetch_user, get_weather],
    ).run_sync("Who are u1 and u2?")
    print(result.text)
    return result


if __name__ == "__main__":
    main()
