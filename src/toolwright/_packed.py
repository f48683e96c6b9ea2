"""What bytes look like in base64 and in hexadecimal, alone and as a part of something longer."""

import base64
from collections.abc import Iterator

__all__ = ["base64_forms", "hexadecimal_forms"]


def base64_forms(data: bytes) -> Iterator[bytes]:
    """In both alphabets; within other data, those letters that depend on nothing around it."""
    yield from _in_both_alphabets(base64.b64encode(data))
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data + b"\0\0")
        yield from _in_both_alphabets(encoded[-(-8 * before // 6) : 8 * (before + len(data)) // 6])


def hexadecimal_forms(data: bytes) -> Iterator[bytes]:
    """In small and in capital letters."""
    yield data.hex().encode()
    yield data.hex().upper().encode()


def _in_both_alphabets(encoded: bytes) -> tuple[bytes, bytes]:
    return encoded, encoded.translate(bytes.maketrans(b"+/", b"-_"))
