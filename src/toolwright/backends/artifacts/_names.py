"""Any text as one segment of a key that every file system and object store takes as it is."""

import hashlib
import re

from toolwright.errors import ToolError

__all__ = ["plain_name", "safe_name"]

_UNSAFE = re.compile(r"^\.|[^A-Za-z0-9_.-]")
_LONGEST = 200
_KEPT = 150
_CUT = "=+"
"""Marks a shortened segment; elsewhere `=` is followed by two hexadecimal digits."""


def safe_name(text: str) -> str:
    """The segment for `text`: other characters as `=XX`, and a digest for the end of a long one."""
    try:
        octets = text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"{text!r} has characters that no name can have.") from error
    safe = _UNSAFE.sub(lambda m: "".join(f"={b:02X}" for b in m[0].encode()), text) or "="
    if len(safe) <= _LONGEST:
        return safe
    return f"{safe[:_KEPT]}{_CUT}{hashlib.sha256(octets).hexdigest()[:40]}"


def plain_name(segment: str) -> str | None:
    """What `safe_name` was given; None when the segment does not say, because it was shortened."""
    if _CUT in segment:
        return None
    octets = re.sub(rb"=([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), segment.encode())
    return octets.decode()
