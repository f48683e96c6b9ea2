"""Measure a value that code in a sandbox made, before it is written out here."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from toolwright.backends.sandboxes._guest_json import DEEPEST, MOST_BYTES, MOST_VALUES

__all__ = ["check_guest_value"]

_LONGEST_NUMBER = 14_280
"""Bits, about 4,300 digits: Python does not write longer ones."""


def check_guest_value(value: Any, most_bytes: int = MOST_BYTES) -> None:
    """`ValueError` for what would be too large or nested too deep, written out.

    What stands in several places counts in each of them: a few lists in one another, each a
    thousand times, are small until they are written. Stops as soon as it is too much.
    """
    values = size = 0
    levels = [iter((value,))]
    while levels:
        item = next(levels[-1], levels)
        if item is levels:
            levels.pop()
            continue
        values += 1
        size += _own_size(item)
        if values > MOST_VALUES:
            raise ValueError(f"it has more than {MOST_VALUES:,} values")
        if size > most_bytes:
            raise ValueError(f"it has more than {most_bytes:,} bytes")
        if (inner := _inner(item)) is not None:
            if len(levels) > DEEPEST:
                raise ValueError(f"it is nested more than {DEEPEST} levels deep")
            levels.append(inner)


def _own_size(item: Any) -> int:
    """About how many bytes it is written with, what is inside it not counted."""
    match item:
        case str():
            return len(item)
        case bytes():
            return len(item) * 4
        case int() if item.bit_length() > _LONGEST_NUMBER:
            raise ValueError(f"it has a number of more than {_LONGEST_NUMBER:,} bits")
        case int():
            return item.bit_length() // 3 + 1
        case _:
            return 2


def _inner(item: Any) -> Iterator[Any] | None:
    match item:
        case Mapping():
            return chain.from_iterable(item.items())
        case list() | tuple() | set() | frozenset():
            return iter(item)
        case BaseException():
            return iter(item.args)
        case _:
            # Monty's stand-in for an object of a class that the code defined.
            attributes = getattr(item, "attributes", None)
            return iter((attributes,)) if isinstance(attributes, Mapping) else None
