"""JSON in which no object has a key twice: readers differ in which of the two they take."""

from collections import Counter
from typing import Any

__all__ = ["RepeatedKeys", "each_once"]


class RepeatedKeys(ValueError):
    """A JSON object has a key twice."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"fields given more than once in one object: {names}")
        self.names = names


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` for `json.loads`; raises `RepeatedKeys`."""
    if len(found := dict(pairs)) < len(pairs):
        counted = Counter(name for name, _ in pairs)
        raise RepeatedKeys(sorted(name for name, count in counted.items() if count > 1))
    return found
