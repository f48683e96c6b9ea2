"""Which bytes a secret is when it was sent in an address, a header or a body, and came back."""

from collections.abc import Iterator
from unicodedata import normalize

from toolwright._packed import base64_forms, hexadecimal_forms
from toolwright._spellings import readings

__all__ = ["forms_of"]

_SHORT = 8
"""Letters below which base64 and the like would be found in texts that have nothing to do with it."""
_TELLING = 4
"""Different letters that tell a form from texts that have nothing to do with it."""
_BYTES = ("utf-8", "latin-1", "cp1252", "utf-16-le")
"""The encodings in which programs send letters; headers are latin-1 to many."""
_LOST = frozenset("?\N{REPLACEMENT CHARACTER}".encode())


def forms_of(secret: str) -> Iterator[bytes]:
    """The secret as it is, as others read it, and in base64 and hexadecimal; nothing is escaped."""
    for form in (secret.encode("utf-8", "surrogatepass"), _in_halves(secret)):
        yield from (form, form.replace(b" ", b"+"))
    # A secret may itself look escaped, and is then another one once it has been read.
    for form in (*_misread(secret), *readings(_encoded(secret, "utf-8"))):
        for written in (form, form.replace(b" ", b"+")):
            if len({*written} - _LOST) >= _TELLING:
                yield written
    if len(secret) >= _SHORT:
        for data in dict.fromkeys(_encoded(secret, name) for name in _BYTES):
            yield from base64_forms(data)
            yield from hexadecimal_forms(data)


def _misread(secret: str) -> Iterator[bytes]:
    """Composed and decomposed, in each encoding, and as it reads if two programs differ about it."""
    for text in (secret, normalize("NFC", secret), normalize("NFD", secret)):
        yield _encoded(text, "utf-8")
        yield _in_halves(text)
    for written in _BYTES[:3]:
        data = _encoded(secret, written)
        yield data
        for read in _BYTES[:3]:
            yield _in_halves(data.decode(read, "replace"))


def _in_halves(text: str) -> bytes:
    """With letters beyond 16 bits as two, as JSON escapes them."""
    units = text.encode("utf-16-le", "surrogatepass")
    halves = (chr(units[at] | units[at + 1] << 8) for at in range(0, len(units), 2))
    return "".join(halves).encode("utf-8", "surrogatepass")


def _encoded(text: str, name: str) -> bytes:
    """In UTF-8 where the encoding does not have all of its letters."""
    try:
        return text.encode(name)
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
