"""Foreign text in rows of a terminal: each begins with a gutter of ours, and none is too long."""

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

__all__ = ["STYLE", "Screen", "cells", "count_within", "gutter", "screen", "wrap"]

STYLE = "\ufe0f"
"""Chooses how the character before it looks, and is not seen: at the beginning of a row it is a mark."""
_JOINER = "\u200d"
_UNIT = re.compile(f".{STYLE}?", re.DOTALL)

_LABEL_COLUMNS = 8
_COLUMNS, _ROWS = 80, 24
_FEWEST_TEXT_COLUMNS = 8


class Screen(NamedTuple):
    """How much a terminal shows at once, and which characters it can be sent."""

    columns: int = _COLUMNS
    rows: int = _ROWS
    encoding: str = "utf-8"

    @property
    def width(self) -> int:
        """The cells that a row may take: one less than there are, where some terminals would wrap."""
        return max(1, self.columns - 1)

    @property
    def text_width(self) -> int:
        """The cells of a row behind the gutter."""
        return max(_FEWEST_TEXT_COLUMNS, self.width - cells(gutter("", self)))

    @property
    def is_wide_enough(self) -> bool:
        """Whether the gutter and some text fit side by side; the terminal wraps rows otherwise."""
        return cells(gutter("", self)) + _FEWEST_TEXT_COLUMNS <= self.width

    def spell(self, text: str) -> str:
        """The text as the stream will write it: what its encoding lacks is written as a mark.

        So are joiners of pictures: terminals do not agree on how wide a joined picture is, and a
        row could not end beside one without another becoming of it.
        """
        text = text.replace(_JOINER, "\\u200d")
        return text.encode(self.encoding, "backslashreplace").decode(self.encoding)


def screen() -> Screen:
    """The terminal that the program is used from, else what `COLUMNS` and `LINES` say."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    for stream in (sys.stderr, sys.stdout, sys.stdin):
        try:
            size = os.get_terminal_size(stream.fileno())
        except (OSError, ValueError, AttributeError):
            continue
        if size.columns and size.lines:
            return Screen(size.columns, size.lines, encoding)
    return Screen(_number("COLUMNS", _COLUMNS), _number("LINES", _ROWS), encoding)


def _number(variable: str, otherwise: int) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() and int(text) else otherwise


def gutter(label: str, screen: Screen, *, goes_on: bool = False) -> str:
    """What a row begins with, in front of the text: a label, and whether it goes on from above."""
    bars = "│┊" if screen.spell("│┊") == "│┊" else "|:"
    return f"{label:<{_LABEL_COLUMNS}} {bars[goes_on]} "


def cells(text: str) -> int:
    """How many columns the text takes at most, in any terminal."""
    return len(text) if text.isascii() else sum(map(_cells, text))


@lru_cache(4096)
def _cells(char: str) -> int:
    # What is ambiguous, and pictures, are as wide as two letters in some terminals.
    is_picture = unicodedata.category(char) in ("So", "Sk")
    is_wide = is_picture or unicodedata.east_asian_width(char) in "WFA"
    return 2 if is_wide and not char.isascii() else 1


def wrap(text: str, width: int) -> Iterator[str]:
    """One line in rows of at most so many cells, cut between any two characters that are seen."""
    if text.isascii():
        yield from (text[at : at + width] for at in range(0, max(1, len(text)), width))
        return
    row, used = [], 0
    for unit in _UNIT.findall(text):
        if used + cells(unit) > width:
            yield "".join(row)
            row, used = [], 0
        row.append(unit)
        used += cells(unit)
    yield "".join(row)


def count_within(chars: Iterable[str], room: int) -> int:
    """How many of these characters, from the first on, fit in so many cells."""
    count = 0
    for char in chars:
        room -= _cells(char)
        if room < 0:
            break
        count += 1
    return count
