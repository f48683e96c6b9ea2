"""Find secrets in text, however they are spelled there."""

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

__all__ = ["Spellings", "readings"]

_LONGEST_CHARACTER = 16
"""Bytes that one character may be spelled with, escaped twice: `&amp;#x0063;`."""
_PIECE = 16_384
"""Bytes that are searched at once: a long text is read piece by piece, in little memory."""
_DEPTH = 2
"""How often something may be escaped on top of itself: JSON in an address, say."""


@dataclass(frozen=True, slots=True)
class _Escapes:
    """One way to escape single characters, or to write something between them."""

    mark: bytes
    """A text without it has none."""
    whole: re.Pattern[bytes]
    """With one group, around everything."""
    unfinished: re.Pattern[bytes]
    """The beginning of one, at the end of a text."""
    read: Callable[[bytes], bytes]
    is_innermost: bool = False
    """Whether what it leaves is searched as it is: it is how packed bytes are written."""


# A text has the same few escapes many times.
_cached = lru_cache(maxsize=4096)


def _code_point(digits: bytes, base: int) -> bytes:
    number = int(digits, base)
    return chr(number).encode("utf-8", "surrogatepass") if number < 0x110000 else b"?"


def _percent(escape: bytes) -> bytes:
    digits = escape[1:].lstrip(b"uU")
    return bytes([int(digits, 16)]) if len(digits) == 2 else _code_point(digits, 16)


def _backslash(escape: bytes) -> bytes:
    kind, digits = escape[1:2], escape[2:].strip(b"{}")
    if kind.isdigit():
        return _code_point(escape[1:], 8)
    return _code_point(digits, 16) if digits else _CONTROLS.get(kind, kind)


_CONTROLS = {
    b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"
}  # fmt: skip


def _entity(escape: bytes) -> bytes:
    return html.unescape(escape.decode("ascii")).encode("utf-8", "surrogatepass")


def _quoted_printable(escape: bytes) -> bytes:
    return bytes.fromhex(escape[1:].decode())  # Of the end of a line, nothing.


def _nothing(escape: bytes) -> bytes:
    return b""


_ESCAPES = (
    _Escapes(
        b"%",
        re.compile(rb"(?i)(%(?:[0-9a-f]{2}|u[0-9a-f]{4}))"),
        re.compile(rb"(?i)%(?:[0-9a-f]|u[0-9a-f]{0,3})?\Z"),
        _cached(_percent),
    ),
    _Escapes(
        b"\\",
        re.compile(
            rb"(?i)(\\(?:[ -/:-@\[-`{-~]|(?-i:U)[0-9a-f]{8}|(?-i:u)[0-9a-f]{4}|u\{[0-9a-f]{1,6}\}"
            rb"|x[0-9a-f]{2}|[0-7]{3}|(?-i:[abfnrtv])))"
        ),
        re.compile(
            rb"(?i)\\(?:(?-i:U)[0-9a-f]{0,7}|(?-i:u)[0-9a-f]{0,3}|u\{[0-9a-f]{0,6}|x[0-9a-f]?|[0-7]{1,2})?\Z"
        ),
        _cached(_backslash),
    ),
    _Escapes(
        b"&",
        re.compile(
            rb"(?i)(&(?:#[0-9]{1,7}(?:;|(?=[^0-9;]))|#x[0-9a-f]{1,6}(?:;|(?=[^0-9a-f;]))|[a-z]{2,8};))"
        ),
        re.compile(rb"(?i)&(?:#[0-9]{0,7}|#x[0-9a-f]{0,6}|[a-z]{0,8})\Z"),
        _cached(_entity),
    ),
    # Quotes within a shell's quotes; then those of SQL and CSV.
    _Escapes(
        b"'",
        re.compile(rb"""('(?:\\'|"'")')"""),
        re.compile(rb"""'(?:\\'?|"(?:'"?)?)\Z"""),
        lambda escape: b"'",
    ),
    _Escapes(b"''", re.compile(rb"('')"), re.compile(rb"(?!)"), lambda escape: b"'"),
    _Escapes(b'""', re.compile(rb'("")'), re.compile(rb"(?!)"), lambda escape: b'"'),
    # Of mails.
    _Escapes(
        b"=",
        re.compile(rb"(=(?:[0-9A-F]{2}|\r?\n))"),
        re.compile(rb"=(?:[0-9A-F]|\r)?\Z"),
        _cached(_quoted_printable),
    ),
    # Base64 is broken into lines by many programs, hexadecimal digits stand apart by pairs.
    _Escapes(
        b"\n",
        re.compile(rb"([\r\n]+[ \t]*)"),
        re.compile(rb"\r\Z"),
        _nothing,
        is_innermost=True,
    ),
    _Escapes(
        b"",
        re.compile(
            rb"(?i)([:\- ,+](?<=[0-9a-f]{2}[:\- ,+])[ +]?(?:0x)?(?=(?:[0-9a-f]{2}){1,2}(?![0-9a-z])))"
        ),
        re.compile(rb"(?i)[:\- ,+](?<=[0-9a-f]{2}[:\- ,+])[ +]?(?:0x?)?[0-9a-f]{0,3}\Z"),
        _nothing,
        is_innermost=True,
    ),
)


class Spellings:
    """What secrets look like when their `forms` are in a text as they are, or escaped.

    Escaped means: for addresses, for JSON and program text, for HTML, in quotes of SQL, CSV and shells,
    for mails, broken into lines or pairs of digits, or any two of these.
    """

    def __init__(self, forms: Iterable[bytes]) -> None:
        self._forms = list(dict.fromkeys(forms))
        self.longest = max(map(len, self._forms), default=0) * _LONGEST_CHARACTER
        """Bytes that one may take."""

    def find(self, text: bytes, between: Callable[[], None] | None = None) -> list[tuple[int, int]]:
        """Where they are: beginnings and ends, in order, none within another.

        What is longer than a piece is searched in pieces that overlap by as much as the longest of
        them can take; `between` is called before each, and may raise to give up.
        """
        size = max(_PIECE, 2 * self.longest)
        found: list[tuple[int, int]] = []
        for start in range(0, max(1, len(text) - self.longest), size):
            if between is not None:
                between()
            piece = text[start : start + size + self.longest] if len(text) > size else text
            found += ((start + first, start + last) for first, last in self._in_piece(piece))
        return list(_apart(sorted(found)))

    def _in_piece(self, text: bytes) -> Iterator[tuple[int, int]]:
        for reading in _readings(_Reading(text)):
            for form in self._forms:
                at = reading.text.find(form)
                while at >= 0:
                    yield reading.source(at, at + len(form))
                    at = reading.text.find(form, at + 1)

    def may_begin(self, text: bytes) -> int:
        """From where on the end of `text` may be the beginning of one; its length if nowhere."""
        skipped = max(0, len(text) - self.longest)
        rest = text[skipped:]
        # What is not finished yet is left out as well: a mark behind "&#10" seems to end it, and
        # may turn out to be its next digit.
        return skipped + min(
            _possible_start(reading, self._forms)
            for end in {len(rest), *_unfinished(rest, len(rest))}
            for reading in _readings(_Reading(rest[:end]))
        )


class _Reading:
    """A text, or what one stands for, and how to find back."""

    def __init__(
        self, text: bytes, *, of: "_Reading | None" = None, by: _Escapes | None = None
    ) -> None:
        self.text = text
        self._of = of
        self.by = by
        self.depth = 0 if of is None else of.depth + 1
        self._parts: list[bytes] = []
        self._read: list[bytes] = []
        self._ends: tuple[list[int], list[int]] | None = None

    def through(self, escapes: _Escapes) -> "_Reading | None":
        """The text with these escapes replaced; None when that is the same."""
        # What is between escapes, and the escapes, by turns.
        if escapes.mark not in self.text or len(parts := escapes.whole.split(self.text)) == 1:
            return None
        read = parts.copy()
        read[1::2] = map(escapes.read, parts[1::2])
        if (text := b"".join(read)) == self.text:
            return None
        found = _Reading(text, of=self, by=escapes)
        found._parts, found._read = parts, read
        return found

    def source(self, start: int, end: int) -> tuple[int, int]:
        """Where in the first text the bytes from `start` to `end` of this one come from."""
        if self._of is None:
            return start, end
        if self._ends is None:
            self._ends = (
                list(accumulate(map(len, self._parts))), list(accumulate(map(len, self._read)))
            )  # fmt: skip
        began, ended = self._place(start)[0], self._place(end - 1)[1] if end > start else 0
        return self._of.source(began, max(began, ended))

    def _place(self, at: int) -> tuple[int, int]:
        """Where a byte begins and ends in the text that this one was read from."""
        assert self._of is not None
        assert self._ends is not None
        ends, read_ends = self._ends
        part = bisect_right(read_ends, at)
        if part == len(ends):
            return len(self._of.text), len(self._of.text)
        if part % 2:  # An escape, which is a character as a whole.
            return ends[part] - len(self._parts[part]), ends[part]
        place = ends[part] - (read_ends[part] - at)
        return place, place + 1


def readings(text: bytes) -> Iterator[bytes]:
    """The text, and what it may stand for when it has been escaped."""
    for reading in _readings(_Reading(text)):
        yield reading.text


def _readings(reading: _Reading) -> Iterator[_Reading]:
    """The text, and the text with its escapes replaced in every way and order that changes it."""
    yield reading
    if reading.depth == _DEPTH or (reading.by is not None and reading.by.is_innermost):
        return
    for escapes in _ESCAPES:
        if (read := reading.through(escapes)) is not None:
            yield from _readings(read)


def _possible_start(reading: _Reading, forms: Iterable[bytes]) -> int:
    """As `may_begin`, when the text is read in one way."""
    read = reading.text
    ends = {len(read)}
    # An escape that is not finished yet may turn out to be any character, also one that begins another.
    for _ in range(_DEPTH):
        ends |= {start for end in ends for start in _unfinished(read, end)}
    cuts = ends | {at for end in ends for form in forms if (at := _overlap(read[:end], form)) < end}
    return min(reading.source(cut, cut)[0] for cut in cuts)


def _unfinished(text: bytes, end: int) -> Iterator[int]:
    """Where escapes begin that are not finished at `end`."""
    for escapes in _ESCAPES:
        if found := escapes.unfinished.search(text, max(0, end - _LONGEST_CHARACTER), end):
            yield found.start()


def _overlap(text: bytes, form: bytes) -> int:
    """Where the longest end of `text` begins that `form` begins with."""
    at = text.find(form[:1], max(0, len(text) - len(form) + 1))
    while at >= 0 and not form.startswith(text[at:]):
        at = text.find(form[:1], at + 1)
    return at if at >= 0 else len(text)


def _apart(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans that overlap, as one."""
    start = end = -1
    for first, last in spans:
        if first < end:
            end = max(end, last)
            continue
        if end > start:
            yield start, end
        start, end = first, last
    if end > start:
        yield start, end
