"""Whether two values are the same all the way down: equal, and of the same types."""

import dataclasses
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime, time, timedelta, timezone, tzinfo
from functools import cached_property
from typing import Any

from pydantic import BaseModel

__all__ = ["is_same_value"]

_BESIDE = ("__pydantic_extra__", "__pydantic_private__", "default_factory", "maxlen")
"""What is kept outside `__dict__`, by a model, a defaultdict and a deque."""


def is_same_value(value: Any, other: Any) -> bool:
    """Whether nobody can tell `other` from `value`, unless by identity.

    A fixed offset from UTC may be of another class: whoever reads a time makes their own.
    """
    if type(value) is not type(other):
        return False
    match value:
        case datetime() | time():
            naive = value.replace(tzinfo=None) == other.replace(tzinfo=None)
            return naive and value.fold == other.fold and _same_zone(value.tzinfo, other.tzinfo)
        case float():
            return repr(value) == repr(other)  # which tells -0.0 from 0.0
        case str() | bytes() | bytearray() | range():
            return bool(value == other)
        case Mapping():
            equal = _all_same(value, other) and _all_same(value.values(), other.values())
        case Sequence() | deque():
            equal = _all_same(value, other)
        case Set():
            found = {item: item for item in other}
            equal = value == other and all(is_same_value(item, found[item]) for item in value)
        case _ if _fields(value) is None:
            return bool(value == other)
        case _:
            equal = True  # if their attributes are
    return equal and _all_same(_attributes(value), _attributes(other))


def _all_same(values: Iterable[Any], others: Iterable[Any]) -> bool:
    mine, theirs = list(values), list(others)
    return len(mine) == len(theirs) and all(map(is_same_value, mine, theirs))


def _same_zone(zone: tzinfo | None, other: tzinfo | None) -> bool:
    if type(zone) is timezone and other is not None:
        fixed: timedelta | None = zone.utcoffset(None)
        return other.utcoffset(None) == fixed
    return type(zone) is type(other) and zone == other


def _attributes(value: Any) -> list[Any]:
    """What an object keeps beside its items, by name; not what it can work out again."""
    kept = getattr(value, "__dict__", {})
    found = {
        name: kept[name] if name in kept else getattr(value, name, None)
        for name in sorted({*kept, *(_fields(value) or ()), *_BESIDE})
        if not isinstance(getattr(type(value), name, None), cached_property)
    }
    return [item for pair in found.items() for item in pair]


def _fields(value: Any) -> list[str] | None:
    if isinstance(value, BaseModel):
        return list(type(value).model_fields)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [field.name for field in dataclasses.fields(value)]
    return None
