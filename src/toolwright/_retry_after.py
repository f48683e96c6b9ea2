"""How long a server asks to be left alone: the header `Retry-After`, whatever it says."""

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["retry_after"]


def retry_after(value: str | None) -> float | None:
    """Seconds from now, of a number or a date; None for anything else."""
    text = (value or "").strip()
    seconds = _number(text) if text[:1].isdecimal() and text.isascii() else None
    return _until(text) if seconds is None else seconds


def _number(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _until(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
        # A zone of -0000 means that none is known: then it is UTC (RFC 9110).
        known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (known - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
