"""What a turn cost."""

import pytest

from toolwright.messages import Usage
from toolwright.models import Price, set_price
from toolwright.models._prices import priced

USED = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("openai:gpt-5-mini", 2.25),
        ("openai:gpt-5-mini-2025-08-07", 2.25),
        ("anthropic:claude-sonnet-4-20250514", 18.0),
        ("google:gemini-2.5-flash-preview-09-2025", 2.8),
        ("openai:gpt-5-image", 0.0),
        ("openai:gpt-99", 0.0),
        ("ollama:gpt-5-mini", 0.0),
    ],
)
def test_a_known_model_has_a_price_and_an_unknown_one_costs_nothing(name: str, cost: float) -> None:
    assert priced(name, USED).cost == pytest.approx(cost)


def test_a_price_can_be_set_for_cached_and_written_tokens_too() -> None:
    set_price("own:model", Price(input=1, output=2, cached=0.1, cache_write=3))
    usage = Usage(
        input_tokens=1_000_000,
        cached_tokens=500_000,
        cache_write_tokens=100_000,
        output_tokens=500_000,
    )
    assert priced("own:model", usage).cost == pytest.approx(0.4 + 0.05 + 0.3 + 1.0)
