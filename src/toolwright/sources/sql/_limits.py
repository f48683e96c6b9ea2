"""How much of a query's result is kept: so many rows, characters of a cell, and bytes in all."""

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

__all__ = ["QueryLimits", "as_table", "shortened"]

_PLAIN = (
    str, int, float, type(None), Decimal, date, time, timedelta, bytes, list, tuple, dict,
)  # fmt: skip
_LONGEST_ERROR = 2000
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """What one query may give, and how long it may take."""

    rows: int
    cell: int
    """Characters."""
    bytes: int
    """Of the whole result, as it is read from the server."""
    seconds: float


def as_table(names: Sequence[str], rows: Iterable[Sequence[Any]], limits: QueryLimits) -> Any:
    """What the model is shown: rows by column, as many as the limits allow, and whether that is all.

    No more of `rows` is taken than that and one.
    """
    columns = _unique([shortened(name, _LONGEST_NAME) for name in names])
    shown: list[dict[str, Any]] = []
    left = limits.bytes
    for row in rows:
        cells = [_cell(value, limits.cell) for value in row]
        left -= sum(size for _, size in cells) + sum(map(len, columns))
        if len(shown) == limits.rows or (left < 0 and shown):
            return {"columns": columns, "rows": shown, "truncated": True}
        shown.append({name: value for name, (value, _) in zip(columns, cells, strict=True)})
    return {"columns": columns, "rows": shown, "truncated": False}


def shortened(text: str, limit: int = _LONGEST_ERROR) -> str:
    """At most `limit` characters of `text`, and how many there are."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _cell(value: Any, limit: int) -> tuple[Any, int]:
    """A value of a row and the length of its text; one that is too long as the start of its text."""
    if not isinstance(value, _PLAIN):
        value = str(value)
    text = _text(value)
    return (value if len(text) <= limit else shortened(text, limit)), min(len(text), limit)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if not isinstance(value, list | tuple | dict):
        return str(value)
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (RecursionError, ValueError):
        return "(nested too deep)"


def _unique(names: Sequence[str]) -> list[str]:
    """Column names that can be keys: `SELECT a.id, b.id` gives `id` and `id_2`."""
    taken: dict[str, None] = {}
    for name in names:
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name}_{number}", number + 1
        taken[unique] = None
    return list(taken)
