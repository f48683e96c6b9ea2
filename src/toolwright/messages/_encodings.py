"""How a secret is written when it was sent in an address, a header or a body, and came back."""

import base64
import html
import json
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus

__all__ = ["encodings"]

_SHORT = 8
"""Letters below which base64 and the like would be found in texts that have nothing to do with it."""
_ESCAPES: tuple[Callable[[str], str], ...] = (
    lambda text: quote(text, errors="replace"),
    lambda text: quote(text, safe="", errors="replace"),
    lambda text: quote_plus(text, errors="replace"),
    lambda text: quote(text, safe="!~*'()", errors="replace"),
    lambda text: quote(text, safe="!~*'();/?:@&=+$,#", errors="replace"),
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
)


def encodings(secret: str) -> tuple[str, ...]:
    """The secret in every encoding, the longest first; escaped up to two times."""
    plain = (
        [secret] if len(secret) < _SHORT else [secret, *_packed(secret.encode("utf-8", "replace"))]
    )
    found = dict.fromkeys(plain)
    once = [text for form in plain for text in _escaped(form)]
    twice = [text for form in dict.fromkeys(once) for text in _escaped(form)]
    found |= dict.fromkeys([*once, *twice])
    return tuple(sorted(found, key=len, reverse=True))


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


def _packed(data: bytes) -> Iterator[str]:
    """In base64, alone and as a part of something longer, in both alphabets; in hexadecimal."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data + b"\0\0").decode()
        # Of the first and last letters others decide, too.
        inner = encoded[-(-8 * before // 6) : 8 * (before + len(data)) // 6]
        yield inner
        yield inner.translate(str.maketrans("+/", "-_"))
    whole = base64.b64encode(data).decode()
    yield whole
    yield whole.translate(str.maketrans("+/", "-_"))
    yield data.hex()
    yield data.hex().upper()
