"""Any Python value as plain JSON values, also those that a serializer gives up on."""

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json, to_json, to_jsonable_python

from toolwright.messages._base64 import base64_text, bytes_as_text
from toolwright.messages._json_values import LONGEST_INTEGER

__all__ = ["json_text", "jsonable", "plain"]

_LEVELS = 200
"""Levels of nesting that are kept; what readers of JSON refuse is of no use to anybody."""
_TOO_DEEP = "…"
_REPLACED = "\ufffd".encode()
_MANY_DIGITS = re.compile(rb"\d{4000}")


_BEYOND = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""The numbers that JSON does not have, as JavaScript calls them."""


def jsonable(value: Any) -> Any:
    """`value` as plain JSON values; what has no JSON form becomes its `repr`, numbers that JSON
    does not have become "NaN", "Infinity" and "-Infinity", and integers that no reader of JSON
    takes become hexadecimal text."""
    if value is None or type(value) in (str, bool):
        return value
    try:
        # By way of the text: `to_jsonable_python` leaves NaN as it is, and a store would lose it.
        text = _json_bytes(value)
        return plain(value) if _MANY_DIGITS.search(text) else from_json(text)
    except Exception:  # noqa: BLE001 - objects may raise anything when they are shown
        # Keys with lone surrogates, values nested too deep, or in a circle.
        return plain(value)


def json_text(value: Any) -> str:
    """`jsonable(value)` as JSON text; a Pydantic model as it writes itself."""
    try:
        if isinstance(value, BaseModel):
            return value.model_dump_json(fallback=repr)
        return _json_bytes(value).decode()
    except Exception:  # noqa: BLE001 - as above
        return json.dumps(jsonable(value), ensure_ascii=False)


def _json_bytes(value: Any) -> bytes:
    """As JSON; raises what objects raise when they are shown, and for lone surrogates."""
    text = to_json(bytes_as_text(value), fallback=repr, inf_nan_mode="strings")
    if _REPLACED in text:
        raise ValueError("In the keys of an object lone surrogates are replaced, not refused.")
    return text


def plain(value: Any, levels: int = _LEVELS, above: frozenset[int] = frozenset()) -> Any:
    """What `jsonable` gives, for values of any shape; fields that are None are left out.

    `above` is what contains the value: to go round in a circle would take for ever.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= LONGEST_INTEGER else hex(value)
    if isinstance(value, float):
        return value if value - value == 0 else _BEYOND[str(value)]
    if levels < 0 or id(value) in above:
        return _TOO_DEEP
    above |= {id(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return plain({k: v for k, v in given.items() if v is not None}, levels, above)
    if isinstance(value, BaseModel):
        return plain(dict(value), levels, above)
    if isinstance(value, Mapping):
        return {_key(key): plain(item, levels - 1, above) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, levels - 1, above) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return base64_text(value)
    return _one(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(plain(key))


def _one(value: Any) -> Any:
    """A single value of another type: a date, an enum, an object of somebody's."""
    try:
        return to_jsonable_python(value, fallback=repr)
    except Exception:  # noqa: BLE001 - objects may raise anything when they are shown
        return f"<{type(value).__name__}>"
