"""Any Python value as plain JSON values, also those that a serializer gives up on."""

import base64
import dataclasses
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

__all__ = ["jsonable", "plain"]

_LEVELS = 200
"""Levels of nesting that are kept; what readers of JSON refuse is of no use to anybody."""
_TOO_DEEP = "…"


def jsonable(value: Any) -> Any:
    """`value` as plain JSON values; what has no JSON form becomes its `repr`."""
    try:
        return to_jsonable_python(value, fallback=repr, bytes_mode="base64", inf_nan_mode="strings")
    except Exception:  # noqa: BLE001 - objects may raise anything when they are shown
        # Keys with lone surrogates, values nested too deep, or in a circle.
        return plain(value)


def plain(value: Any, levels: int = _LEVELS) -> Any:
    """What `jsonable` gives, for values of any shape; fields that are None are left out."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if levels < 0:
        return _TOO_DEEP
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return plain({k: v for k, v in given.items() if v is not None}, levels)
    if isinstance(value, BaseModel):
        return plain(dict(value), levels)
    if isinstance(value, Mapping):
        return {_key(key): plain(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, levels - 1) for item in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else _one(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(plain(key))


def _one(value: Any) -> Any:
    """A single value of another type: a date, an enum, an object of somebody's."""
    try:
        return to_jsonable_python(value, fallback=repr)
    except Exception:  # noqa: BLE001 - objects may raise anything when they are shown
        return f"<{type(value).__name__}>"
