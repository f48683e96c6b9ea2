"""What a turn cost."""

import subprocess
import sys
from dataclasses import fields, replace
from datetime import datetime

import pytest

from toolwright.messages import Usage
from toolwright.models import OpenAIChatModel, Price, _prices, set_price
from toolwright.models._list_prices import LIST_PRICES
from toolwright.models._maintained_prices import maintained_price
from toolwright.models._prices import priced

USED = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
SHORT = Usage(input_tokens=10_000, output_tokens=1_000)


@pytest.fixture(params=["maintained", "listed"])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "listed":
        monkeypatch.setattr(_prices, "_maintained", lambda: lambda _name: None)
    return request.param


@pytest.fixture(autouse=True)
def own_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_prices, "_OWN", {})


@pytest.mark.parametrize(
    ("name", "cost"),
    [
        ("openai:gpt-5-mini", 2.25),
        ("openai:gpt-5-mini-2025-08-07", 2.25),
        ("anthropic:claude-sonnet-4-20250514", 18.0),
        ("google:gemini-2.5-flash-preview-09-2025", 2.8),
        ("google:gemini-3.6-flash", 4.5),
        ("google:gemini-3.7-flash", 4.5),
        ("google:gemini-3.8-flash", 4.5),
        ("google:gemini-4-argon", 12.0),
        ("openai:gpt-99", 0.0),
        ("ollama:gpt-5-mini", 0.0),
        ("nobody", 0.0),
        ("", 0.0),
    ],
)
def test_a_known_model_has_a_price_and_an_unknown_one_costs_nothing(
    name: str, cost: float, source: str
) -> None:
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


def test_a_price_that_was_set_comes_before_every_other_its_dated_names_included(
    source: str,
) -> None:
    set_price("openai:gpt-5", Price(input=7, output=0))
    assert priced("openai:gpt-5", USED).cost == pytest.approx(7)
    assert priced("openai:gpt-5-2025-08-07", USED).cost == pytest.approx(7)
    assert priced("openai:gpt-5-mini", USED).cost == pytest.approx(2.25)


def test_a_request_with_long_context_has_its_own_price_for_all_its_tokens(source: str) -> None:
    at = Usage(input_tokens=200_000, cached_tokens=100_000, output_tokens=1_000_000)
    over = replace(at, input_tokens=200_001)
    name = "anthropic:claude-sonnet-4-5"
    assert priced(name, at).cost == pytest.approx(0.3 + 0.03 + 15)
    assert priced(name, over).cost == pytest.approx(100_001 * 6 / 1e6 + 0.06 + 22.5)


def test_what_is_written_for_an_hour_costs_more_than_what_is_written_for_five_minutes(
    source: str,
) -> None:
    usage = Usage(input_tokens=100_000, cache_write_tokens=100_000)
    name = "anthropic:claude-haiku-4-5"
    assert priced(name, usage).cost == pytest.approx(0.125)
    assert priced(name, usage, written_for_an_hour=60_000).cost == pytest.approx(0.05 + 0.12)


def test_the_highest_tier_that_is_exceeded_counts() -> None:
    tiers = {200: Price(input=3e6, output=0), 100: Price(input=2e6, output=0)}
    set_price("own:tiers", Price(input=1e6, output=0, above=tiers))
    found = [priced("own:tiers", Usage(input_tokens=n)).cost for n in (100, 101, 200, 201)]
    assert found == [100, 202, 400, 603]


@pytest.mark.parametrize("name", LIST_PRICES)
def test_our_list_says_what_the_maintained_prices_say(name: str) -> None:
    ours = LIST_PRICES[name]
    theirs = maintained_price(name) or maintained_price(f"{name}-preview")
    assert theirs is not None
    assert _flat(ours) == _flat(theirs)


def _flat(price: Price) -> dict[str, object]:
    flat: dict[str, object] = {
        field.name: pytest.approx(getattr(price, field.name))
        for field in fields(Price)
        if field.name != "above" and getattr(price, field.name) is not None
    }
    return flat | {"above": {tokens: _flat(more) for tokens, more in price.above.items()}}


def test_prices_are_those_of_the_snapshot_that_the_program_has_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from genai_prices import data_snapshot

    empty = data_snapshot.DataSnapshot(providers=[], from_auto_update=True)
    monkeypatch.setattr(data_snapshot, "_custom_snapshot", empty)
    assert maintained_price("openai:gpt-5") is None
    assert priced("openai:gpt-5", SHORT).cost > 0


def test_a_price_with_a_date_begins_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolwright.models import _maintained_prices

    class Then(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime(2025, 6, 1, tzinfo=tz)  # type: ignore[arg-type]

    before_june = maintained_price("openai:o3")
    monkeypatch.setattr(_maintained_prices, "datetime", Then)
    then = maintained_price("openai:o3")
    assert before_june is not None
    assert then is not None
    assert then.input > before_june.input


@pytest.mark.parametrize(
    ("provider", "model", "has_price"),
    [
        ("openai-chat", "gpt-5-mini", True),
        ("groq", "llama-3.3-70b-versatile", True),
        ("ollama", "llama3.3", False),
        ("mine", "gpt-5-mini", False),
    ],
)
def test_servers_at_their_own_address_have_list_prices(
    provider: str, model: str, has_price: bool
) -> None:
    from toolwright.messages import ModelMessage

    message = ModelMessage(parts=(), usage=SHORT)
    asked = OpenAIChatModel(model, provider=provider, api_key="k" * 12)
    elsewhere = OpenAIChatModel(
        model, provider=provider, api_key="k" * 12, base_url="http://x.test"
    )
    assert (asked._priced(message).usage.cost > 0) is has_price
    assert elsewhere._priced(message).usage.cost == 0


_LAZY = """
import sys
import toolwright.models._prices as prices
import toolwright.models._openai.responses
assert "genai_prices" not in sys.modules
assert prices.priced("openai:gpt-5", prices.Usage(input_tokens=1)).cost > 0
assert "genai_prices" in sys.modules
"""


def test_the_maintained_prices_are_loaded_when_a_price_is_first_asked_for() -> None:
    subprocess.run([sys.executable, "-c", _LAZY], check=True, timeout=60)
