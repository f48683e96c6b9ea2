"""A long text in pieces, so that no operation on it is long.

One operation on a string of 50 MB holds the interpreter for tenths of a second, in a thread as well,
and the event loop waits that long. Searching a piece takes a millisecond.
"""

import codecs
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Any, TypeVar

from toolwright.concurrency import in_io_thread

__all__ = ["Rope", "in_thread_if_long"]

T = TypeVar("T")
_PIECE = 512 * 1024
_SHORT = 64 * 1024
_BREAK = re.compile(r"\r\n|\r|\n")


async def in_thread_if_long(size: int, func: Callable[..., T], *args: Any) -> T:
    """`func(*args)`, which works on that many bytes; on the spot where a thread would cost more."""
    return func(*args) if size <= _SHORT else await in_io_thread(func, *args)


class Rope:
    """Text that is addressed like a string and stored in pieces."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = [piece for piece in pieces if piece]
        self._starts = [0, *accumulate(map(len, self._pieces))]

    @classmethod
    def decoded(cls, data: bytes, encoding: str) -> "Rope":
        """The text of these bytes; raises `UnicodeDecodeError`."""
        decoder = codecs.getincrementaldecoder(encoding)()
        pieces = [decoder.decode(data[at : at + _PIECE]) for at in range(0, len(data), _PIECE)]
        return cls([*pieces, decoder.decode(b"", True)])

    def encoded(self, encoding: str) -> bytes:
        """The bytes of this text; raises `UnicodeEncodeError`."""
        return b"".join([piece.encode(encoding) for piece in self._pieces])

    def __len__(self) -> int:
        return self._starts[-1]

    def __str__(self) -> str:
        return "".join(self._pieces)

    def cut(self, start: int, end: int) -> list[str]:
        """The text between two places, in pieces."""
        found: list[str] = []
        at = bisect_right(self._starts, start) - 1
        while at < len(self._pieces) and self._starts[at] < end:
            begin = self._starts[at]
            found.append(self._pieces[at][max(start - begin, 0) : end - begin])
            at += 1
        return found

    def slice(self, start: int, end: int) -> str:
        """The text between two places."""
        return "".join(self.cut(max(start, 0), end))

    def changed(self, change: Callable[[str], str]) -> "Rope":
        """This text with `change` made to it, which must look at one character at a time."""
        return Rope(map(change, self._pieces))

    def occurrences(self, wanted: str) -> Iterator[int]:
        """Where `wanted` begins; overlapping places count, as they are as ambiguous as any."""
        for start, end, piece in self._overlapping(len(wanted) - 1):
            at = piece.find(wanted)
            while 0 <= at < end - start:
                yield start + at
                at = piece.find(wanted, at + 1)

    def matches(self, pattern: re.Pattern[str], longest: int) -> Iterator[tuple[int, int]]:
        """Start and end of each match of a pattern that takes no more than `longest` characters."""
        after = 0
        for start, end, piece in self._overlapping(longest):
            at = max(after - start, 0)
            while (found := pattern.search(piece, at)) and found.start() < end - start:
                yield start + found.start(), start + found.end()
                at = max(found.end(), at + 1)
            after = start + at

    def lines(self, widest: int = sys.maxsize) -> Iterator[str]:
        """Lines without their ends, as an editor counts them; `\\n`, `\\r\\n` and `\\r` end one.

        Of a line that is longer than `widest`, its first characters.
        """
        unified = (
            piece.replace("\r\n", "\n").replace("\r", "\n") for piece in self._whole_breaks()
        )
        return _split(unified, widest)

    def newline_lines(self) -> Iterator[str]:
        """Lines as search programs count them: only `\\n` ends one."""
        return _split(self._pieces)

    def page(self, first: int, count: int) -> tuple[list[str], int]:
        """So many lines from number `first` on, counted from 0, and how many there are in all."""
        taken: list[str] = []
        total = 0
        for line in self.lines():
            if first <= total < first + count:
                taken.append(line)
            total += 1
        return taken, total

    def newlines_before(self, end: int) -> int:
        """How many `\\n` there are before a place."""
        return sum(piece.count("\n") for piece in self.cut(0, end))

    def line_start(self, at: int) -> int:
        """Where the line begins that `at` is in."""
        for number in range(bisect_right(self._starts, at) - 1, -1, -1):
            begin = self._starts[number]
            piece = self._pieces[number] if number < len(self._pieces) else ""
            newline = piece.rfind("\n", 0, at - begin)
            last = max(newline, piece.rfind("\r", newline + 1, at - begin))
            if last >= 0:
                return begin + last + 1
        return 0

    def next_break(self, at: int) -> tuple[int, int]:
        """Start and end of the first line break from `at` on; the end of the text if none is left."""
        for number in range(bisect_right(self._starts, at) - 1, len(self._pieces)):
            begin = self._starts[number]
            found = _BREAK.search(self._pieces[number], max(at - begin, 0))
            if found:
                start = begin + found.start()
                return start, start + (2 if self.slice(start, start + 2) == "\r\n" else 1)
        return len(self), len(self)

    def _overlapping(self, more: int) -> Iterator[tuple[int, int, str]]:
        """Start and end of each piece, and its text with that many characters after it."""
        for number, piece in enumerate(self._pieces):
            start, end = self._starts[number], self._starts[number + 1]
            yield start, end, piece + self.slice(end, end + more)

    def _whole_breaks(self) -> Iterator[str]:
        """The pieces, but none ends between `\\r` and `\\n`."""
        carried = ""
        for piece in self._pieces:
            whole = carried + piece
            carried = "\r" if whole.endswith("\r") else ""
            yield whole.removesuffix(carried) if carried else whole
        yield carried


def _split(pieces: Iterable[str], widest: int = sys.maxsize) -> Iterator[str]:
    """Lines, each without the `\\n` that ends it; none after the last `\\n`."""
    begun: list[str] = []
    room = widest
    for piece in pieces:
        first, *others = piece.split("\n")
        begun.append(first[:room])
        room -= len(begun[-1])
        if others:
            yield "".join(begun)
            yield from (line[:widest] for line in others[:-1])
            begun = [others[-1][:widest]]
            room = widest - len(begun[0])
    if last := "".join(begun):
        yield last
