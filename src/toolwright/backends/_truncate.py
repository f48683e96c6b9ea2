"""Cut text to a number of bytes and lines, whichever comes first, never inside a character."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_LINES",
    "Truncated",
    "first_bytes",
    "fitting",
    "format_size",
    "truncate_head",
    "truncate_tail",
]

DEFAULT_MAX_BYTES = 50 * 1024
DEFAULT_MAX_LINES = 2000
_MARK = "…"
"""Stands where a line was cut inside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """What was kept of a text, and how much there was."""

    text: str
    """Without the newline after its last line; with a `…` where a line was cut inside."""
    cut_by: Literal["bytes", "lines"] | None
    """Which limit was reached first; None when everything was kept."""
    total_bytes: int
    total_lines: int
    kept: int
    """Characters of the original that are in `text`: where its beginning ends, or its end begins."""

    @property
    def truncated(self) -> bool:
        """Whether anything is missing."""
        return self.cut_by is not None


def truncate_head(
    text: str | Iterable[str],
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_lines: int = DEFAULT_MAX_LINES,
) -> Truncated:
    """Keep the beginning.

    Lines are kept whole, but where that would leave more than 1,000 bytes or a fifth of the room
    empty, the last line is cut inside and marked. Text may come in chunks of any size; no more than
    the limit and one chunk is held.
    """
    total, kept = _Total(), ""
    for chunk in _chunks(text):
        total.add(chunk)
        # A character is at least one byte, so this never keeps too little. Two more tell whether
        # a line ends exactly at the limit.
        kept += chunk[: max(0, max_bytes + 2 - len(kept))]
    if total.fits(max_bytes, max_lines):
        return total.result(kept, None, len(kept))
    by_lines = _first_lines(kept, max_lines)
    if _size(by_lines) > max_bytes or total.lines <= max_lines:
        shown, count = _filled_head(by_lines, max_bytes)
        return total.result(shown, "bytes", count)
    return total.result(by_lines, "lines", len(by_lines))


def truncate_tail(
    text: str | Iterable[str],
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_lines: int = DEFAULT_MAX_LINES,
) -> Truncated:
    """Keep the end, in the same way; the newline at the very end is kept too."""
    total, kept = _Total(), ""
    for chunk in _chunks(text):
        total.add(chunk)
        kept = (kept + chunk)[-(max_bytes + 2) :]
    if total.fits(max_bytes, max_lines):
        return total.result(kept, None, len(kept))
    by_lines = _last_lines(kept, max_lines)
    if _size(by_lines) > max_bytes or total.lines <= max_lines:
        shown, count = _filled_tail(by_lines, max_bytes)
        return total.result(shown, "bytes", count)
    return total.result(by_lines, "lines", len(by_lines))


def fitting(lines: Sequence[str], max_bytes: int) -> int:
    """How many of these lines, from the first on, fit with the newlines between them."""
    size = -1
    for count, line in enumerate(lines):
        size += _size(line) + 1
        if size > max_bytes:
            return count
    return len(lines)


def first_bytes(text: str, limit: int) -> str:
    """As many characters as fit."""
    limit = max(limit, 0)
    return text[:limit].encode("utf-8", "surrogatepass")[:limit].decode("utf-8", "ignore")


def format_size(size: int) -> str:
    """A size for people: `512B`, `50KB`, `1.5MB`."""
    amount, unit = float(size), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.1f}".removesuffix(".0") + unit


class _Total:
    """Counts the bytes and lines of a text that is seen in chunks."""

    def __init__(self) -> None:
        self.bytes = 0
        self.newlines = 0
        self.last = "\n"

    @property
    def lines(self) -> int:
        return self.newlines + (self.last != "\n")

    def add(self, chunk: str) -> None:
        self.bytes += _size(chunk)
        self.newlines += chunk.count("\n")
        self.last = chunk[-1]

    def fits(self, max_bytes: int, max_lines: int) -> bool:
        return self.bytes <= max_bytes and self.lines <= max_lines

    def result(self, text: str, cut_by: Literal["bytes", "lines"] | None, kept: int) -> Truncated:
        return Truncated(
            text=text, cut_by=cut_by, total_bytes=self.bytes, total_lines=self.lines, kept=kept
        )


def _chunks(text: str | Iterable[str]) -> Iterable[str]:
    return filter(None, (text,) if isinstance(text, str) else text)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _first_lines(text: str, count: int) -> str:
    end = -1
    for _ in range(count):
        end = text.find("\n", end + 1)
        if end < 0:
            return text
    return text[: max(end, 0)].removesuffix("\r")


def _last_lines(text: str, count: int) -> str:
    if count <= 0:
        return ""
    start = len(text) - text.endswith("\n")
    for _ in range(count):
        start = text.rfind("\n", 0, start)
        if start < 0:
            return text
    return text[start + 1 :]


def _filled_head(text: str, limit: int) -> tuple[str, int]:
    """The beginning of a text that is too long, and how many characters of it that is."""
    fits = first_bytes(text, limit)
    after = text[len(fits) :]
    if after.startswith(("\n", "\r\n")) or not after:
        ended = fits.removesuffix("\r") if after.startswith("\n") else fits
        return ended, len(ended)
    whole = fits[: max(fits.rfind("\n"), 0)].removesuffix("\r")
    inside = first_bytes(fits, limit - _size(_MARK)).rstrip("\r")
    if whole and (_is_enough(whole, limit) or len(inside.rstrip("\r\n")) <= len(whole)):
        return whole, len(whole)
    return (inside + _MARK, len(inside)) if inside else (fits, len(fits))


def _filled_tail(text: str, limit: int) -> tuple[str, int]:
    """The end of a text that is too long, and how many characters of it that is."""
    fits = _last_bytes(text, limit)
    if text[: len(text) - len(fits)].endswith("\n") or len(fits) == len(text):
        return fits, len(fits)
    newline = fits.find("\n", 0, len(fits) - 1)
    whole = fits[newline + 1 :] if newline >= 0 else ""
    inside = _last_bytes(fits, limit - _size(_MARK))
    if whole and (_is_enough(whole, limit) or len(inside.lstrip("\r\n")) <= len(whole)):
        return whole, len(whole)
    return (_MARK + inside, len(inside)) if inside.strip("\r\n") else (fits, len(fits))


def _is_enough(text: str, limit: int) -> bool:
    return limit - _size(text) <= min(1000, limit // 5)


def _last_bytes(text: str, limit: int) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return data[max(0, len(data) - max(limit, 0)) :].decode("utf-8", "ignore")
