"""Long text cut in its middle, so that its beginning and its end are both in sight."""

import math
from typing import NamedTuple

__all__ = ["Room", "fit", "height", "shorten"]

_LIMITS = (2000, 800, 400, 200, 80)
_GAP = 40
"""More than what says how much is left out."""


class Room(NamedTuple):
    """The part of a terminal that a text may take."""

    columns: int
    rows: int


def shorten(text: str, limit: int) -> str:
    """The text, or its beginning and end with the number of characters that are left out."""
    if len(text) <= limit + _GAP:
        return text
    head, tail = limit - limit // 2, limit // 2
    # In JSON the quotes end the text before the gap: a text cannot contain such a gap itself.
    quote = '"' if '"' in text[:head] else ""
    start = text[:head].rstrip("\\")
    left_out = len(text) - len(start) - tail
    return f"{start}{quote} … {left_out:,} characters … {quote}{text[-tail:]}"


def fit(text: str, room: Room) -> str:
    """The text with long lines, and then many lines, shortened until it fits."""
    lines = short = text.split("\n")
    for limit in _LIMITS:
        short = [shorten(line, limit) for line in lines]
        if height("\n".join(short), room) <= room.rows:
            return "\n".join(short)
    rows_each = math.ceil((_LIMITS[-1] + _GAP) / room.columns)
    keep = max(1, (room.rows - 1) // (2 * rows_each))
    left_out = len(lines) - 2 * keep
    gap = [f"… {left_out:,} lines …"] if left_out > 0 else []
    return "\n".join([*short[:keep], *gap, *short[max(keep, len(lines) - keep) :]])


def height(text: str, room: Room) -> int:
    """How many rows the text takes at most."""
    return sum(max(1, math.ceil(_columns(line) / room.columns)) for line in text.split("\n"))


def _columns(line: str) -> int:
    """How wide it can be: characters of some scripts take two columns, and tabs up to eight."""
    return sum(1 if char.isascii() and char != "\t" else 2 for char in line) + 6 * line.count("\t")
