"""What tokens of one model cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolwright._sealed import sealed
from toolwright.messages import Usage

__all__ = ["Price", "cost_of"]

_MILLION = 1_000_000


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
    cache_write_1h: float | None = None
    """For input written to a cache that lasts an hour; if unset, the same as `cache_write`."""
    above: Mapping[int, "Price"] = field(default_factory=dict)
    """For a whole request with more input tokens than the key, as many models price long context."""


def cost_of(price: Price, usage: Usage, written_for_an_hour: int = 0) -> float:
    """What one request cost; of the tokens written to the cache, some were `written_for_an_hour`."""
    over = [tokens for tokens in price.above if usage.input_tokens > tokens]
    price = price.above[max(over)] if over else price
    cached = price.input if price.cached is None else price.cached
    written = price.input if price.cache_write is None else price.cache_write
    hour = written if price.cache_write_1h is None else price.cache_write_1h
    fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
    return (
        fresh * price.input
        + usage.cached_tokens * cached
        + (usage.cache_write_tokens - written_for_an_hour) * written
        + written_for_an_hour * hour
        + usage.output_tokens * price.output
    ) / _MILLION
