"""What a server or plugin wrote, measured before anybody reads it."""

import re

from toolwright.backends.sandboxes import TooDeep, check_guest_json, cut_guest_json
from toolwright.concurrency import in_io_thread

__all__ = ["LONG", "measured", "mended"]

LONG = 65536
"""Bytes from which on it is quicker to look in a thread."""
_HALF = re.compile(
    rb"(\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


async def measured(message: bytes) -> bytes:
    """The message, if it can be read in time and memory; `ValueError` with the reason if not.

    Of a listing, what is nested too deep is cut out: one tool takes no other down.
    """
    return await in_io_thread(_measured, message) if len(message) > LONG else _measured(message)


def _measured(message: bytes) -> bytes:
    try:
        check_guest_json(message)
    except TooDeep:
        cut = cut_guest_json(message)
        if b'"tools"' in cut and (b'"inputSchema"' in cut or b'"parameters"' in cut):
            return cut
        raise
    return message


def mended(message: bytes) -> bytes:
    """The message with a mark in place of halves of letters and of bytes that are none."""
    text = message.decode("utf-8", "replace").encode()
    return _HALF.sub(lambda found: found[1] or b"\\ufffd", text)
