"""What a turn cost, from a small table of list prices that a program can add to."""

import re
from dataclasses import dataclass, replace

from toolwright._sealed import sealed
from toolwright.messages import Usage

__all__ = ["Price", "priced", "set_price"]

_MILLION = 1_000_000
_SUFFIX = re.compile(r"(-latest|-preview|-exp|-\d{3}|-\d{2}-\d{4}|-\d{4}-\d{2}-\d{2}|-\d{8})*")
"""What a release adds to a model's name without changing its price."""


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """For input read from the provider's cache; if unset, the same as `input`."""
    cache_write: float | None = None
    """For input written to the provider's cache; if unset, the same as `input`."""


def _price(
    input: float,  # noqa: A002 - the name of the field
    output: float,
    cached: float | None = None,
    cache_write: float | None = None,
) -> Price:
    return Price(input=input, output=output, cached=cached, cache_write=cache_write)


# List prices for short prompts. A dated or preview name costs what the name without its suffix does.
_PRICES: dict[str, Price] = {
    "openai:gpt-4.1": _price(2, 8, 0.5),
    "openai:gpt-4.1-mini": _price(0.4, 1.6, 0.1),
    "openai:gpt-4.1-nano": _price(0.1, 0.4, 0.025),
    "openai:gpt-4o": _price(2.5, 10, 1.25),
    "openai:gpt-4o-mini": _price(0.15, 0.6, 0.075),
    "openai:gpt-5": _price(1.25, 10, 0.125),
    "openai:gpt-5-mini": _price(0.25, 2, 0.025),
    "openai:gpt-5-nano": _price(0.05, 0.4, 0.005),
    "openai:gpt-5-pro": _price(15, 120),
    "openai:gpt-5.2": _price(1.75, 14, 0.175),
    "openai:gpt-5.3": _price(1.75, 14, 0.175),
    "openai:gpt-5.4": _price(2.5, 15, 0.25),
    "openai:gpt-5.4-mini": _price(0.75, 4.5, 0.075),
    "openai:gpt-5.4-nano": _price(0.2, 1.25, 0.02),
    "openai:gpt-5.5": _price(5, 30, 0.5),
    "openai:gpt-5.6-luna": _price(0.2, 1.2, 0.02, 0.25),
    "openai:gpt-5.6-sol": _price(4, 20, 0.4, 5),
    "openai:gpt-5.6-terra": _price(2, 12, 0.2, 2.5),
    "openai:gpt-6-astra": _price(10, 50, 1, 12.5),
    "openai:gpt-6-luna": _price(0.1, 0.5, 0.01, 0.125),
    "openai:gpt-6-sol": _price(2, 10, 0.2, 2.5),
    "openai:gpt-6.1-sol": _price(2, 10, 0.1, 2.5),
    "openai:gpt-6.1-terra": _price(1, 5, 0.05, 1.25),
    "openai:o3": _price(2, 8, 0.5),
    "openai:o3-mini": _price(1.1, 4.4, 0.55),
    "openai:o3-pro": _price(20, 80),
    "openai:o4-mini": _price(1.1, 4.4, 0.275),
    "anthropic:claude-3-5-haiku": _price(0.8, 4, 0.08, 1),
    "anthropic:claude-3-7-sonnet": _price(3, 15, 0.3, 3.75),
    "anthropic:claude-fable-5": _price(10, 50, 1, 12.5),
    "anthropic:claude-fable-5-1": _price(10, 50, 0.25, 12.5),
    "anthropic:claude-haiku-4-5": _price(1, 5, 0.1, 1.25),
    "anthropic:claude-haiku-5-5": _price(0.1, 0.5, 0.01, 0.125),
    "anthropic:claude-opus-4": _price(15, 75, 1.5, 18.75),
    "anthropic:claude-opus-4-0": _price(15, 75, 1.5, 18.75),
    "anthropic:claude-opus-4-1": _price(15, 75, 1.5, 18.75),
    "anthropic:claude-opus-4-5": _price(5, 25, 0.5, 6.25),
    "anthropic:claude-opus-4-6": _price(5, 25, 0.5, 6.25),
    "anthropic:claude-opus-4-7": _price(5, 25, 0.5, 6.25),
    "anthropic:claude-opus-4-8": _price(5, 25, 0.5, 6.25),
    "anthropic:claude-opus-5": _price(5, 25, 0.5, 6.25),
    "anthropic:claude-opus-5-5": _price(4, 20, 0.2, 5),
    "anthropic:claude-sonnet-4": _price(3, 15, 0.3, 3.75),
    "anthropic:claude-sonnet-4-0": _price(3, 15, 0.3, 3.75),
    "anthropic:claude-sonnet-4-5": _price(3, 15, 0.3, 3.75),
    "anthropic:claude-sonnet-4-6": _price(3, 15, 0.3, 3.75),
    "anthropic:claude-sonnet-5": _price(2, 10, 0.2, 2.5),
    "anthropic:claude-sonnet-5-5": _price(2, 10, 0.1, 2.5),
    "google:gemini-2.0-flash": _price(0.1, 0.4, 0.025),
    "google:gemini-2.5-flash": _price(0.3, 2.5, 0.03),
    "google:gemini-2.5-flash-lite": _price(0.1, 0.4, 0.01),
    "google:gemini-2.5-pro": _price(1.25, 10, 0.125),
    "google:gemini-3-flash": _price(0.5, 3, 0.05),
    "google:gemini-3-pro": _price(2, 12, 0.2),
    "google:gemini-3.1-flash-lite": _price(0.25, 1.5, 0.025),
    "google:gemini-3.1-pro": _price(2, 12, 0.2),
    "google:gemini-3.5-flash": _price(1.5, 9, 0.15),
    "google:gemini-3.5-flash-lite": _price(0.3, 2.5, 0.03),
    "google:gemini-3.6-flash": _price(1.5, 7.5, 0.15),
    "google:gemini-3.7-flash": _price(1.5, 7.5, 0.15),
    "google:gemini-3.8-flash": _price(1.5, 7.5, 0.15),
    "google:gemini-4-argon": _price(4, 20, 0.2),
}


def set_price(name: str, price: Price) -> None:
    """Set what `provider:model` costs, its dated names included; replaces a known price."""
    _PRICES[name] = price


def priced(name: str, usage: Usage) -> Usage:
    """`usage` with its cost, or as it is where no price is known."""
    price = _PRICES.get(name) or _price_without_suffix(name)
    return usage if price is None else replace(usage, cost=_cost(price, usage))


def _price_without_suffix(name: str) -> Price | None:
    matching = [
        known
        for known in _PRICES
        if name.startswith(known) and _SUFFIX.fullmatch(name, len(known)) is not None
    ]
    return _PRICES[max(matching, key=len)] if matching else None


def _cost(price: Price, usage: Usage) -> float:
    cached = price.input if price.cached is None else price.cached
    written = price.input if price.cache_write is None else price.cache_write
    fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
    return (
        fresh * price.input
        + usage.cached_tokens * cached
        + usage.cache_write_tokens * written
        + usage.output_tokens * price.output
    ) / _MILLION
