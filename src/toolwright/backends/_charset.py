"""Read the bytes of a web page as text."""

import codecs
import re

__all__ = ["decode_text"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_NEAR_THE_TOP = 4096


def decode_text(data: bytes, charset: str | None = None) -> str:
    """Text in the encoding that a byte order mark, the server or the page names.

    Without any, or where it does not fit, UTF-8; what is not UTF-8 either is read as Windows-1252,
    which is what such pages are most often written in.
    """
    declared = _DECLARED.search(data[:_NEAR_THE_TOP])
    named = [name for mark, name in _MARKS if data.startswith(mark)]
    named += [charset] if charset else []
    named += [declared.group(1).decode("ascii")] if declared else []
    for name in (*named, "utf-8"):
        try:
            return data.decode(name)
        except (LookupError, UnicodeError):
            continue
    return data.decode("cp1252", "replace")
