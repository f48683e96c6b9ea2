"""Find a secret in text, however it is spelled there."""

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from toolwright._packed import base64_forms, hexadecimal_forms

__all__ = ["Spellings"]

_LONGEST_CHARACTER = 16
"""Bytes that one character may be spelled with, escaped twice: `&amp;#x0063;`."""
_DEPTH = 2
"""How often something may be escaped on top of itself: JSON in an address, say."""


@dataclass(frozen=True, slots=True)
class _Escapes:
    """One way to escape single characters."""

    mark: bytes
    whole: re.Pattern[bytes]
    unfinished: re.Pattern[bytes]
    """The beginning of one, at the end of a text."""
    read: Callable[[re.Match[bytes]], bytes]


def _code_point(digits: bytes, base: int) -> bytes:
    number = int(digits, base)
    return chr(number).encode("utf-8", "replace") if number < 0x110000 else b"?"


def _percent(found: re.Match[bytes]) -> bytes:
    return bytes.fromhex(found[1].decode()) if found[1] else _code_point(found[2], 16)


def _backslash(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return _CONTROLS.get(found[1], found[1])
    return (
        _code_point(found[5], 8) if found[5] else _code_point(found[2] or found[3] or found[4], 16)
    )


_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def _nothing(found: re.Match[bytes]) -> bytes:
    return b""


def _entity(found: re.Match[bytes]) -> bytes:
    return html.unescape(found[0].decode("ascii")).encode("utf-8", "replace")


_ESCAPES = (
    _Escapes(
        b"%",
        re.compile(rb"(?i)%(?:([0-9a-f]{2})|u([0-9a-f]{4}))"),
        re.compile(rb"(?i)%(?:[0-9a-f]|u[0-9a-f]{0,3})?\Z"),
        _percent,
    ),
    _Escapes(
        b"\\",
        re.compile(
            rb"(?i)\\(?:([!-/:-@\[-`{-~]|(?-i:[nrt]))|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}|x([0-9a-f]{2})"
            rb"|([0-7]{3}))"
        ),
        re.compile(rb"(?i)\\(?:u[0-9a-f]{0,3}|u\{[0-9a-f]{0,6}|x[0-9a-f]?|[0-7]{1,2})?\Z"),
        _backslash,
    ),
    _Escapes(
        b"&",
        re.compile(rb"(?i)&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});"),
        re.compile(rb"(?i)&(?:#[0-9]{0,7}|#x[0-9a-f]{0,6}|[a-z]{0,8})\Z"),
        _entity,
    ),
    # Base64 is broken into lines by many programs.
    _Escapes(b"\n", re.compile(rb"\r?\n[ \t]?"), re.compile(rb"\r\Z"), _nothing),
)  # fmt: skip


class Spellings:
    """What a secret looks like as it is, in base64 and in hexadecimal, each escaped or not.

    Escaped means: for addresses, for JSON and program text, for HTML, broken into lines, or any two of
    these. Base64 may itself be in base64 or hexadecimal, as when a request is shown that had a Basic header.
    """

    def __init__(self, secret: bytes) -> None:
        self._forms = list(dict.fromkeys(_forms(secret)))
        self._window = max(map(len, self._forms)) * _LONGEST_CHARACTER

    def find(self, text: bytes) -> list[tuple[int, int]]:
        """Where it is: beginnings and ends, in order, none within another."""
        found = [
            span
            for ways, read in _readings(text, ())
            for form in self._forms
            if form in read
            for span in _spans(text, ways, form)
        ]
        return list(_apart(sorted(found)))

    def may_begin(self, text: bytes) -> int:
        """From where on the end of `text` may be the beginning of one; its length if nowhere."""
        skipped = max(0, len(text) - self._window)
        return skipped + min(
            _possible_start(text[skipped:], ways, self._forms)
            for ways, _ in _readings(text[skipped:], ())
        )


def _forms(secret: bytes) -> Iterator[bytes]:
    # A secret may itself look escaped, and is then another one once it has been read.
    yield from (read for _, read in _readings(secret, ()))
    yield secret.replace(b" ", b"+")
    in_base64 = list(base64_forms(secret))
    yield from in_base64
    for form in (secret, *in_base64):
        yield from hexadecimal_forms(form)
    for form in in_base64:
        yield from base64_forms(form)
    yield secret.decode("utf-8", "replace").encode("utf-16-le")[:-1]


_Ways = tuple[_Escapes, ...]


def _readings(text: bytes, ways: _Ways) -> Iterator[tuple[_Ways, bytes]]:
    """The text, and the text with its escapes replaced in every way and order that changes it."""
    yield ways, text
    if len(ways) == _DEPTH:
        return
    for escapes in _ESCAPES:
        if escapes.mark in text and (read := escapes.whole.sub(escapes.read, text)) != text:
            yield from _readings(read, (*ways, escapes))


def _spans(text: bytes, ways: _Ways, form: bytes) -> Iterator[tuple[int, int]]:
    read, starts = _traced(text, ways)
    at = read.find(form)
    while at >= 0:
        yield starts[at], starts[at + len(form)]
        at = read.find(form, at + 1)


def _traced(text: bytes, ways: _Ways) -> tuple[bytes, list[int]]:
    """The text as it reads, and where each byte of it begins, and the end, in the text as it is."""
    starts = list(range(len(text) + 1))
    for escapes in ways:
        read, origins, done = bytearray(), list[int](), 0
        for found in escapes.whole.finditer(text):
            character = escapes.read(found)
            read += text[done : found.start()] + character
            origins += [*starts[done : found.start()], *[starts[found.start()]] * len(character)]
            done = found.end()
        text, starts = bytes(read + text[done:]), [*origins, *starts[done:]]
    return text, starts


def _possible_start(text: bytes, ways: _Ways, forms: Iterable[bytes]) -> int:
    """As `may_begin`, when the text is read in one way."""
    read, starts = _traced(text, ways)
    ends = {len(read)}
    # An escape that is not finished yet may turn out to be any character, also one that begins another.
    for _ in range(_DEPTH):
        ends |= {
            unfinished.start()
            for end in ends
            for escapes in _ESCAPES
            if (
                unfinished := escapes.unfinished.search(read, max(0, end - _LONGEST_CHARACTER), end)
            )
        }
    cuts = [starts[end] for end in ends]
    cuts += [
        starts[at] for end in ends for form in forms if (at := _overlap(read[:end], form)) < end
    ]
    return min(cuts)


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
