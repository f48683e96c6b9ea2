"""Find secrets in text, however they are spelled there."""

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Spellings", "readings"]

_LONGEST_CHARACTER = 16
"""Bytes that one character may be spelled with, escaped twice: `&amp;#x0063;`."""
_DEPTH = 2
"""How often something may be escaped on top of itself: JSON in an address, say."""


@dataclass(frozen=True, slots=True)
class _Escapes:
    """One way to escape single characters, or to write something between them."""

    mark: bytes
    """A text without it has none."""
    whole: re.Pattern[bytes]
    unfinished: re.Pattern[bytes]
    """The beginning of one, at the end of a text."""
    read: Callable[[re.Match[bytes]], bytes]
    is_innermost: bool = False
    """Whether what it leaves is searched as it is: it is how packed bytes are written."""


def _cached(read: Callable[[bytes], bytes]) -> Callable[[re.Match[bytes]], bytes]:
    # A text has the same few escapes many times.
    remembered = lru_cache(maxsize=4096)(read)
    return lambda found: remembered(found[0])


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


def _nothing(found: re.Match[bytes]) -> bytes:
    return b""


_ESCAPES = (
    _Escapes(
        b"%",
        re.compile(rb"(?i)%(?:[0-9a-f]{2}|u[0-9a-f]{4})"),
        re.compile(rb"(?i)%(?:[0-9a-f]|u[0-9a-f]{0,3})?\Z"),
        _cached(_percent),
    ),
    _Escapes(
        b"\\",
        re.compile(
            rb"(?i)\\(?:[ -/:-@\[-`{-~]|(?-i:U)[0-9a-f]{8}|(?-i:u)[0-9a-f]{4}|u\{[0-9a-f]{1,6}\}"
            rb"|x[0-9a-f]{2}|[0-7]{3}|(?-i:[abfnrtv]))"
        ),
        re.compile(
            rb"(?i)\\(?:(?-i:U)[0-9a-f]{0,7}|(?-i:u)[0-9a-f]{0,3}|u\{[0-9a-f]{0,6}|x[0-9a-f]?|[0-7]{1,2})?\Z"
        ),
        _cached(_backslash),
    ),
    _Escapes(
        b"&",
        re.compile(
            rb"(?i)&(?:#[0-9]{1,7}(?:;|(?=[^0-9;]))|#x[0-9a-f]{1,6}(?:;|(?=[^0-9a-f;]))|[a-z]{2,8};)"
        ),
        re.compile(rb"(?i)&(?:#[0-9]{0,7}|#x[0-9a-f]{0,6}|[a-z]{0,8})\Z"),
        _cached(_entity),
    ),
    # Quotes within a shell's quotes; then those of SQL and CSV.
    _Escapes(
        b"'",
        re.compile(rb"""'(?:\\'|"'")'"""),
        re.compile(rb"""'(?:\\'?|"(?:'"?)?)\Z"""),
        lambda found: b"'",
    ),
    _Escapes(b"''", re.compile(rb"''"), re.compile(rb"(?!)"), lambda found: b"'"),
    _Escapes(b'""', re.compile(rb'""'), re.compile(rb"(?!)"), lambda found: b'"'),
    # Of mails.
    _Escapes(
        b"=",
        re.compile(rb"=(?:[0-9A-F]{2}|\r?\n)"),
        re.compile(rb"=(?:[0-9A-F]|\r)?\Z"),
        _cached(_quoted_printable),
    ),
    # Base64 is broken into lines by many programs, hexadecimal digits stand apart by pairs.
    _Escapes(
        b"\n",
        re.compile(rb"[\r\n]+[ \t]*"),
        re.compile(rb"\r\Z"),
        _nothing,
        is_innermost=True,
    ),
    _Escapes(
        b"",
        re.compile(
            rb"(?i)[:\- ,+](?<=[0-9a-f]{2}[:\- ,+])[ +]?(?:0x)?(?=(?:[0-9a-f]{2}){1,2}(?![0-9a-z]))"
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
        self._window = max(map(len, self._forms), default=0) * _LONGEST_CHARACTER

    def find(self, text: bytes) -> list[tuple[int, int]]:
        """Where they are: beginnings and ends, in order, none within another."""
        found = [
            span
            for ways, read in _readings(text, ())
            if (forms := [form for form in self._forms if form in read])
            for span in _spans(text, ways, forms)
        ]
        return list(_apart(sorted(found)))

    def may_begin(self, text: bytes) -> int:
        """From where on the end of `text` may be the beginning of one; its length if nowhere."""
        skipped = max(0, len(text) - self._window)
        rest = text[skipped:]
        # What is not finished yet is left out as well: a mark behind "&#10" seems to end it, and
        # may turn out to be its next digit.
        return skipped + min(
            _possible_start(rest[:end], ways, self._forms)
            for end in {len(rest), *_unfinished(rest, len(rest))}
            for ways, _ in _readings(rest[:end], ())
        )


def readings(text: bytes) -> Iterator[bytes]:
    """The text, and what it may stand for when it has been escaped."""
    for _, read in _readings(text, ()):
        yield read


_Ways = tuple[_Escapes, ...]


def _readings(text: bytes, ways: _Ways) -> Iterator[tuple[_Ways, bytes]]:
    """The text, and the text with its escapes replaced in every way and order that changes it."""
    yield ways, text
    if len(ways) == _DEPTH or (ways and ways[-1].is_innermost):
        return
    for escapes in _ESCAPES:
        if escapes.mark in text and (read := escapes.whole.sub(escapes.read, text)) != text:
            yield from _readings(read, (*ways, escapes))


def _spans(text: bytes, ways: _Ways, forms: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    read, starts, ends = _traced(text, ways)
    for form in forms:
        at = read.find(form)
        while at >= 0:
            yield starts[at], ends[at + len(form) - 1]
            at = read.find(form, at + 1)


def _traced(text: bytes, ways: _Ways) -> tuple[bytes, list[int], list[int]]:
    """The text as it reads, and where each byte of it begins and ends in the text as it is."""
    starts, ends = list(range(len(text) + 1)), list(range(1, len(text) + 1))
    for escapes in ways:
        read, done = bytearray(), 0
        first, last = list[int](), list[int]()
        for found in escapes.whole.finditer(text):
            character = escapes.read(found)
            read += text[done : found.start()] + character
            first += [*starts[done : found.start()], *[starts[found.start()]] * len(character)]
            last += [*ends[done : found.start()], *[ends[found.end() - 1]] * len(character)]
            done = found.end()
        text, starts, ends = (
            bytes(read + text[done:]), [*first, *starts[done:]], [*last, *ends[done:]]
        )  # fmt: skip
    return text, starts, ends


def _possible_start(text: bytes, ways: _Ways, forms: Iterable[bytes]) -> int:
    """As `may_begin`, when the text is read in one way."""
    read, starts, _ = _traced(text, ways)
    ends = {len(read)}
    # An escape that is not finished yet may turn out to be any character, also one that begins another.
    for _ in range(_DEPTH):
        ends |= {start for end in ends for start in _unfinished(read, end)}
    cuts = [starts[end] for end in ends]
    cuts += [
        starts[at] for end in ends for form in forms if (at := _overlap(read[:end], form)) < end
    ]
    return min(cuts)


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
