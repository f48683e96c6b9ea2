"""Read the bytes that a web server sent as text, in the encodings that the web uses."""

import codecs
import re

__all__ = ["decode_text"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*+=\s*+(?:["']\s*+)?([\w.:-]+)""", re.IGNORECASE
)
_NEAR_THE_TOP = 4096
_ON_THE_WEB = frozenset({
    "ascii", "us-ascii", "utf-8", "utf8", "utf-8-sig", "utf-16", "utf-16le", "utf-16be",
    *(f"iso-8859-{number}" for number in (*range(1, 12), *range(13, 17))), "latin-1", "latin1",
    *(f"{maker}{number}" for maker in ("windows-", "cp") for number in range(1250, 1259)), "cp874",
    "ibm866", "cp866", "koi8-r", "koi8-u", "macintosh", "mac-cyrillic", "tis-620",
    "gb2312", "gbk", "gb18030", "big5", "big5-hkscs", "euc-tw", "euc-jp", "iso-2022-jp",
    "shift-jis", "sjis", "windows-31j", "cp932", "euc-kr", "ks-c-5601-1987", "cp949",
})  # fmt: skip
"""No others: Python has some that take the square of the length (Punycode), or are no text at all."""


def decode_text(data: bytes, charset: str | None = None, *, is_cut: bool = False) -> str:
    """Text in the encoding that a byte order mark, the server or the page names.

    Without any, where it is not of the web's, or where it does not fit, UTF-8; what is not UTF-8
    either is read as Windows-1252, which is what such pages are most often written in. With
    `is_cut`, its last character may be incomplete, and is left out.
    """
    declared = _DECLARED.search(data[:_NEAR_THE_TOP])
    named = [name for mark, name in _MARKS if data.startswith(mark)]
    named += [charset] if charset else []
    named += [declared.group(1).decode("ascii")] if declared else []
    known = [name for name in named if name.strip().lower().replace("_", "-") in _ON_THE_WEB]
    for name in (*known, "utf-8"):
        try:
            return codecs.getincrementaldecoder(name)().decode(data, final=not is_cut)
        except (LookupError, UnicodeError):
            continue
    return data.decode("cp1252", "replace")
