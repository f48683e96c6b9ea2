"""Copies of JSON values: of what is the same after it was written as JSON and read back."""

from typing import Any

__all__ = ["LONGEST_INTEGER", "json_copy"]

_LEVELS = 200
"""Levels of nesting that every reader of JSON takes."""
LONGEST_INTEGER = 14_000
"""Bits of an integer; Python refuses to write or read more than 4,300 digits."""


def json_copy(value: Any, place: str = "", levels: int = _LEVELS) -> Any:
    """A copy made of `str`, `int`, `float`, `bool`, None, `list` and `dict` alone, equal to `value`.

    `ValueError` says what has no such copy, and where: `place` is how to get to `value`.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)
    if isinstance(value, int):
        return (
            int(value)
            if value.bit_length() <= LONGEST_INTEGER
            else _refuse("a number so long", place)
        )
    if isinstance(value, float):
        return float(value) if value - value == 0 else _refuse(f"{value!r}", place)
    if levels <= 0:
        return _refuse(f"more than {_LEVELS} levels of nesting", "")
    if isinstance(value, list):
        return [json_copy(v, f"{place}[{i}]", levels - 1) for i, v in enumerate(value)]
    if isinstance(value, dict):
        return {
            _key(key, place): json_copy(item, f"{place}[{key!r}]", levels - 1)
            for key, item in value.items()
        }
    return _refuse(f"a {type(value).__name__}", place)


def _key(key: Any, place: str) -> str:
    if not isinstance(key, str):
        _refuse(f"the key {key!r} of type {type(key).__name__}", place)
    return str.__str__(key)


def _refuse(found: str, place: str) -> Any:
    raise ValueError(f"found {found}{f' at {place}' if place else ''}")
