"""The examples of the foundation run and do what they say."""

import pytest
from examples.premium_feature import Customer

from examples import calculator, premium_feature, user_preference, weather_sentiment


@pytest.mark.row("001-04", "001-11", "001-12", "001-16", "001-18", "001-19")
def test_the_weather_agent_uses_both_tools_in_one_session() -> None:
    assert weather_sentiment.main() == [
        "London is cloudy, 18 °C, with a chance of rain.",
        "I am sorry about the rain.",
    ]


def test_the_weather_tool_says_when_it_knows_nothing() -> None:
    assert weather_sentiment.get_weather_report("Atlantis")["status"] == "error"


@pytest.mark.row("003-N1b", "003-N7a")
@pytest.mark.parametrize(
    ("tier", "status", "text"),
    [("premium", "ok", "Premium result for 'tea'"), ("free", "error", "not available now")],
)
def test_the_premium_tool_runs_for_premium_users_only(tier: str, status: str, text: str) -> None:
    result = premium_feature.ask(Customer("Ada", tier))  # type: ignore[arg-type]
    [answer] = result.history[2].results  # type: ignore[union-attr]
    assert answer.status == status
    assert text in answer.text


@pytest.mark.row("001-27")
@pytest.mark.anyio
async def test_preferences_set_in_parallel_are_both_kept_for_the_user() -> None:
    assert await user_preference.main() == {
        "user:preferences": {"theme": "dark", "unit": "celsius"}
    }


def test_the_calculator_survives_a_division_by_zero() -> None:
    result = calculator.main()
    assert [r.status for r in result.history[2].results] == ["ok", "ok", "error"]  # type: ignore[union-attr]
