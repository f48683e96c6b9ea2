"""Prices as `genai-prices` keeps them: with dates, cache prices and tiers for long context."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from genai_prices.data_snapshot import get_snapshot

from toolwright.models._price import Price

__all__ = ["maintained_price"]

_FIELDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
}


def maintained_price(name: str) -> Price | None:
    """What `provider:model` costs now; None where the package does not know it."""
    provider, _, model = name.partition(":")
    # Asked for each time: a program may have the package fetch newer prices while it runs.
    try:
        _, found = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    prices = vars(found.get_prices(datetime.now(UTC)))
    if prices.get("input_mtok") is None or prices.get("output_mtok") is None:
        return None  # a model that is not paid for by its tokens
    starts = {tier.start for price in prices.values() for tier in getattr(price, "tiers", ())}
    above = {start: Price(**_at(prices, start)) for start in sorted(starts)}
    return Price(**_at(prices, -1), above=above)


def _at(prices: Mapping[str, Any], start: int) -> dict[str, Any]:
    """The prices of a request with more than `start` tokens."""
    found = {name: _one(prices.get(key), start) for name, key in _FIELDS.items()}
    return {name: price for name, price in found.items() if price is not None}


def _one(price: Any, start: int) -> float | None:
    tiers = [tier for tier in getattr(price, "tiers", ()) if tier.start <= start]
    if tiers:
        return float(tiers[-1].price)
    base = getattr(price, "base", price)
    return None if base is None else float(base)
