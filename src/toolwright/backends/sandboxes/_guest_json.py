"""Read JSON that code in a sandbox wrote, which may be anything: it is measured before it is read."""

import json
import re
from typing import Any

__all__ = [
    "DEEPEST",
    "MOST_BYTES",
    "MOST_VALUES",
    "TooDeep",
    "check_guest_json",
    "cut_guest_json",
    "read_guest_json",
]

MOST_BYTES = 16 * 1024 * 1024
MOST_VALUES = 200_000
_MOST_QUOTES = 500_000
"""Values and strings cost many times their bytes: 16 MB of `[[],[],…` would be half a gigabyte."""
DEEPEST = 64
# Matches from any quote on, closed or not, and never tries twice: else it could take for ever.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.S)
_BRACKET = re.compile(rb"[\[\]{}]")
_STRING_OR_BRACKET = re.compile(_STRING.pattern + rb"|[\[\]{}]", re.S)


class TooDeep(ValueError):
    """JSON with more levels than are read."""


def read_guest_json(data: bytes | bytearray | str) -> Any:
    """The value; `ValueError` for what is too large, nested too deep, or no JSON.

    Takes a fraction of a second at most, whatever it is given.
    """
    text = bytes(data) if not isinstance(data, str) else data.encode("utf-8", "replace")
    if len(text) > MOST_BYTES:
        raise ValueError(f"it has {len(text):,} bytes, more than {MOST_BYTES:,}")
    check_guest_json(text)
    value = json.loads(text)
    if b"\\ud" in text.lower():
        # Halves of a character cannot be written to anything.
        json.dumps(value, ensure_ascii=False).encode()
    return value


def check_guest_json(text: bytes) -> None:
    """`ValueError` for more values or levels than are read; whether it is JSON is not looked at."""
    if text.count(b"[") + text.count(b"{") + text.count(b",") < DEEPEST:
        return
    if text.count(b'"') > _MOST_QUOTES:
        raise ValueError(f"it has more than {_MOST_QUOTES // 2:,} strings")
    bare = _STRING.sub(b"", text)
    if bare.count(b"[") + bare.count(b"{") + bare.count(b",") > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    depth = 0
    for bracket in _BRACKET.findall(bare):
        depth += 1 if bracket in b"[{" else -1
        if depth > DEEPEST:
            raise TooDeep(f"it is nested more than {DEEPEST} levels deep")


def cut_guest_json(text: bytes) -> bytes:
    """The same with null in place of what is nested too deep."""
    kept: list[bytes] = []
    depth = begin = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        match found[0]:
            case b"[" | b"{":
                depth += 1
                if depth == DEEPEST + 1:
                    kept += text[begin : found.start()], b"null"
            case b"]" | b"}":
                depth -= 1
                if depth == DEEPEST:
                    begin = found.end()
    return b"".join(kept) + (text[begin:] if depth <= DEEPEST else b"")
