"""Work done once per object: a turn with the same tools as the last one converts none of them again."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["ByIdentity"]

K = TypeVar("K")
V = TypeVar("V")
_KEPT = 32


class ByIdentity(Generic[K, V]):
    """Remembers `convert(key)` for the last few keys, told apart by identity and not by value.

    The keys are kept alive, so an identity is never reused while it is remembered.
    """

    def __init__(self, convert: Callable[[K], V]) -> None:
        self._convert = convert
        self._known: OrderedDict[int, tuple[K, V]] = OrderedDict()

    def __call__(self, key: K) -> V:
        """`convert(key)`, worked out now or earlier."""
        known = self._known.get(id(key))
        if known is not None:
            return known[1]
        value = self._convert(key)
        self._known[id(key)] = (key, value)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return value
