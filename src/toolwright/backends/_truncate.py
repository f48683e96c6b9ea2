"""Cut text to a number of bytes and lines, whichever comes first, never inside a character."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_LINES",
    "Truncated",
    "format_size",
    "truncate_head",
    "truncate_tail",
]

DEFAULT_MAX_BYTES = 50 * 1024
DEFAULT_MAX_LINES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """What was kept of a text, and how much there was."""

    text: str
    cut_by: Literal["bytes", "lines"] | None
    """Which limit was reached first; None when everything was kept."""
    total_bytes: int
    total_lines: int

    @property
    def truncated(self) -> bool:
        """Whether anything is missing."""
        return self.cut_by is not None


def truncate_head(
    text: str | Iterable[str],
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_lines: int = DEFAULT_MAX_LINES,
) -> Truncated:
    """Keep the beginning: whole lines, or part of the first if that alone is too long.

    Text may come in chunks of any size; no more than the limit and one chunk is held.
    """
    total, kept = _Total(), ""
    for chunk in _chunks(text):
        total.add(chunk)
        # A character is at least one byte, so this never keeps too little.
        kept += chunk[: max(0, max_bytes + 1 - len(kept))]
    if total.fits(max_bytes, max_lines):
        return total.result(kept, None)
    by_lines = _first_lines(kept, max_lines)
    if _size(by_lines) > max_bytes or total.lines <= max_lines:
        return total.result(_first_bytes(by_lines, max_bytes), "bytes")
    return total.result(by_lines, "lines")


def truncate_tail(
    text: str | Iterable[str],
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_lines: int = DEFAULT_MAX_LINES,
) -> Truncated:
    """Keep the end: whole lines, or part of the last if that alone is too long.

    Text may come in chunks of any size; no more than the limit and one chunk is held.
    """
    total, kept = _Total(), ""
    for chunk in _chunks(text):
        total.add(chunk)
        kept = (kept + chunk)[-(max_bytes + 1) :]
    if total.fits(max_bytes, max_lines):
        return total.result(kept, None)
    by_lines = _last_lines(kept, max_lines)
    if _size(by_lines) > max_bytes or total.lines <= max_lines:
        return total.result(_last_bytes(by_lines, max_bytes), "bytes")
    return total.result(by_lines, "lines")


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

    def result(self, text: str, cut_by: Literal["bytes", "lines"] | None) -> Truncated:
        return Truncated(text=text, cut_by=cut_by, total_bytes=self.bytes, total_lines=self.lines)


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
    return text[: max(end, 0)]


def _last_lines(text: str, count: int) -> str:
    if count <= 0:
        return ""
    start = len(text) - text.endswith("\n")
    for _ in range(count):
        start = text.rfind("\n", 0, start)
        if start < 0:
            return text
    return text[start + 1 :]


def _first_bytes(text: str, limit: int) -> str:
    kept = text.encode("utf-8", "surrogatepass")[:limit].decode("utf-8", "ignore")
    return kept[: kept.rfind("\n")] if "\n" in kept else kept


def _last_bytes(text: str, limit: int) -> str:
    data = text.encode("utf-8", "surrogatepass")
    kept = data[max(0, len(data) - limit) :].decode("utf-8", "ignore")
    first = kept.find("\n")
    return kept[first + 1 :] if 0 <= first < len(kept) - 1 else kept
