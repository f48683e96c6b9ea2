"""Two tools used one after the other: the weather, then what the person thinks of it."""

from typing import Any

from toolwright import Agent, FunctionTool, Runner
from toolwright.testing import ScriptedModel, call

REPORTS = {
    "london": "Cloudy in London, 18 degrees Celsius, with a chance of rain.",
    "paris": "Sunny in Paris, 25 degrees Celsius.",
}


def get_weather_report(city: str) -> dict[str, str]:
    """Get the current weather report for a city.

    Args:
        city: The city's English name.
    """
    if report := REPORTS.get(city.lower()):
        return {"status": "success", "report": report}
    return {"status": "error", "error_message": f"There is no weather report for {city!r}."}


def analyze_sentiment(text: str) -> dict[str, Any]:
    """Judge the sentiment of a text."""
    words = text.lower()
    if "good" in words or "sunny" in words:
        return {"sentiment": "positive", "confidence": 0.8}
    if "rain" in words or "bad" in words:
        return {"sentiment": "negative", "confidence": 0.7}
    return {"sentiment": "neutral", "confidence": 0.6}


def build(model: Any) -> Agent:
    """The agent, on any model."""
    return Agent(
        name="weather_sentiment_agent",
        model=model,
        instructions=(
            "Answer questions about the weather with get_weather_report. When its status is 'error', "
            "say so and ask for another city. When the person reacts to the weather, use "
            "analyze_sentiment and acknowledge how they feel."
        ),
        tools=[FunctionTool(get_weather_report), FunctionTool(analyze_sentiment)],
    )


def main() -> list[str]:
    """Two messages in one session, on a scripted model; the tools really run."""
    model = ScriptedModel(
        call("get_weather_report", city="London"),
        "London is cloudy, 18 °C, with a chance of rain.",
        call("analyze_sentiment", text="I don't like rain"),
        "I am sorry about the rain.",
    )
    runner = Runner(build(model), app_name="weather_sentiment_agent")
    replies = []
    for message in ("weather in london?", "I don't like rain"):
        result = runner.run_sync(message, user_id="user1234", session_id="1234")
        print(f"> {message}\n{result.text}")
        replies.append(result.text)
    return replies


if __name__ == "__main__":
    main()
