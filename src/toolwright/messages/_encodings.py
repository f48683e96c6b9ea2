"""How a secret is written when it was sent in an address, a header or a body, and came back."""

import html
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from unicodedata import normalize
from urllib.parse import quote, quote_plus

from toolwright._packed import base64_forms, hexadecimal_forms

__all__ = ["encodings", "find_broken", "packed"]

_SHORT = 8
"""Letters below which base64 and the like would be found in texts that have nothing to do with it."""
_TELLING = 4
_BYTES = ("utf-8", "latin-1", "cp1252", "utf-16-le")
"""The encodings in which programs send letters; headers are latin-1 to many."""
# Each way begins with one letter: only then are texts without any looked through quickly.
_BREAK = r"(?:\r|\n|\\\\*[rn]|%0[dDaA]|&#(?:1[03]|[xX]0?[aAdD]);)"
_BREAKS = re.compile(f"{_BREAK}{_BREAK}*[ \\t]*")
_LOST = frozenset("?\N{REPLACEMENT CHARACTER}")
_ESCAPES: tuple[Callable[[str], str], ...] = (
    lambda text: quote(text, errors="replace"),
    lambda text: quote(text, safe="", errors="replace"),
    lambda text: quote_plus(text, errors="replace"),
    lambda text: quote(text, safe="!~*'()", errors="replace"),
    lambda text: quote(text, safe="!~*'();/?:@&=+$,#", errors="replace"),
    lambda text: quote(_in_latin_1(text), safe=""),
    lambda text: quote_plus(_in_latin_1(text)),
    lambda text: json.dumps(text)[1:-1],
    lambda text: _of_go(json.dumps(text, ensure_ascii=False)[1:-1]),
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    lambda text: repr(text)[1:-1],
    lambda text: html.escape(text),
    lambda text: html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    lambda text: (
        html.escape(text).replace("/", "&#x2F;").replace("`", "&#x60;").replace("=", "&#x3D;")
    ),
    lambda text: repr(text.encode("utf-8", "replace"))[2:-1],
    lambda text: repr(_in_latin_1(text))[2:-1],
)


def encodings(secret: str) -> tuple[str, ...]:
    """The secret in every encoding, the longest first; escaped up to two times."""
    plain = list(dict.fromkeys([*_misread(secret), *_packed(secret)]))
    found = dict.fromkeys(plain)
    once = [text for form in plain for text in _escaped(form)]
    twice = [text for form in dict.fromkeys(once) for text in _escaped(form)]
    found |= dict.fromkeys([*once, *twice])
    return tuple(sorted(found, key=len, reverse=True))


def packed(secret: str) -> tuple[str, ...]:
    """The secret in base64 and hexadecimal, as what may be broken into lines."""
    return tuple({text for form in _packed(secret) for text in _escaped(form)})


def find_broken(text: str, forms: Iterable[str]) -> list[tuple[int, int]]:
    """Where forms are in a text that has breaks of lines within them: in order, none within another."""
    joined = _BREAKS.sub("", text)
    found = [form for form in forms if form in joined] if len(joined) < len(text) else []
    if not found:
        return []
    breaks: list[tuple[int, int]] = []
    removed = 0
    for gap in _BREAKS.finditer(text):
        at = gap.start() - removed
        removed += gap.end() - gap.start()
        breaks.append((at, removed))

    def original(at: int) -> int:
        number = bisect_right(breaks, at, key=itemgetter(0))
        return at + (breaks[number - 1][1] if number else 0)

    apart: list[tuple[int, int]] = []
    for at, end in sorted(span for form in found for span in _spans(joined, form)):
        start, stop = original(at), original(end - 1) + 1
        if apart and start < apart[-1][1]:
            start, stop = apart[-1][0], max(stop, apart.pop()[1])
        apart.append((start, stop))
    return apart


def _spans(text: str, form: str) -> Iterator[tuple[int, int]]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = text.find(form, at + len(form))


def _misread(secret: str) -> Iterator[str]:
    """As it is, composed and decomposed, and as it reads if two programs differ about its bytes."""
    yield from dict.fromkeys([secret, normalize("NFC", secret), normalize("NFD", secret)])
    for written in _BYTES[:3]:
        for read in _BYTES[:3]:
            text = _encoded(secret, written).decode(read, "replace")
            # Of what is left of it, there must be enough to tell it from any other text.
            if len({*text} - _LOST) >= _TELLING:
                yield text


def _packed(secret: str) -> Iterator[str]:
    if len(secret) < _SHORT:
        return
    for data in dict.fromkeys(_encoded(secret, name) for name in _BYTES):
        for form in (*base64_forms(data), *hexadecimal_forms(data)):
            yield form.decode()


def _encoded(text: str, name: str) -> bytes:
    """In UTF-8 where the encoding does not have all of its letters."""
    try:
        return text.encode(name)
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _in_latin_1(text: str) -> bytes:
    return _encoded(text, "latin-1")


def _escaped(text: str) -> Iterator[str]:
    for escape in _ESCAPES:
        escaped = escape(text)
        yield escaped
        if "%" in escaped:
            yield _with_small_digits(escaped)


def _of_go(text: str) -> str:
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _with_small_digits(text: str) -> str:
    first, *rest = text.split("%")
    return first + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)
