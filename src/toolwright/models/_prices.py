"""What a turn cost: by prices that the program set, else maintained ones, else our own list."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from toolwright.messages import Usage
from toolwright.models._list_prices import LIST_PRICES
from toolwright.models._price import Price, cost_of

__all__ = ["Price", "price_of", "priced", "set_price"]

_SUFFIX = re.compile(r"(-latest|-preview|-exp|-\d{3}|-\d{2}-\d{4}|-\d{4}-\d{2}-\d{2}|-\d{8})*")
"""What a release adds to a model's name without changing its price."""
_OWN: dict[str, Price] = {}


def set_price(name: str, price: Price) -> None:
    """Set what `provider:model` costs, its dated names included; replaces a known price."""
    _OWN[name] = price


def priced(name: str, usage: Usage, written_for_an_hour: int = 0) -> Usage:
    """The usage of one request with its cost, or as it is where no price is known."""
    price = price_of(name)
    return (
        usage if price is None else replace(usage, cost=cost_of(price, usage, written_for_an_hour))
    )


def price_of(name: str) -> Price | None:
    """What `provider:model` costs now, where that is known."""
    return _listed(name, _OWN) or _maintained()(name) or _listed(name, LIST_PRICES)


@cache
def _maintained() -> Callable[[str], Price | None]:
    """Loaded when a price is first asked for: the package is large, and most imports need none."""
    try:
        from toolwright.models._maintained_prices import maintained_price  # noqa: PLC0415  optional
    except ImportError:
        return lambda _name: None
    return maintained_price


def _listed(name: str, prices: Mapping[str, Price]) -> Price | None:
    if name in prices:
        return prices[name]
    matching = [
        known
        for known in prices
        if name.startswith(known) and _SUFFIX.fullmatch(name, len(known)) is not None
    ]
    return prices[max(matching, key=len)] if matching else None
