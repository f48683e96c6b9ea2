"""Show part of a text with line numbers."""

from collections.abc import Sequence

__all__ = ["cut_page", "fitting", "numbered"]


def numbered(lines: Sequence[str], first: int, *, width: int = 5000) -> list[str]:
    """Each line as `cat -n` shows it; one longer than `width` in pieces numbered 5.1, 5.2, …"""
    return [_numbered(line, number, width) for number, line in enumerate(lines, start=first)]


def _numbered(line: str, number: int, width: int) -> str:
    if len(line) <= width:
        return f"{number:>6}\t{line}"
    pieces = [line[at : at + width] for at in range(0, len(line), width)]
    return "\n".join(f"{f'{number}.{at}':>6}\t{piece}" for at, piece in enumerate(pieces, start=1))


def fitting(rendered: Sequence[str], max_bytes: int) -> int:
    """How many of these, with a newline each, stay within the limit: at least one if there is any."""
    size = 0
    for count, line in enumerate(rendered):
        size += len(line.encode("utf-8", "replace")) + 1
        if size > max_bytes and count:
            return count
    return len(rendered)


def cut_page(page: str, max_bytes: int) -> tuple[str, int]:
    """A page within the limit, and how many characters that leaves out: none but of endless lines."""
    data = page.encode("utf-8", "replace")
    kept = page if len(data) <= max_bytes else data[:max_bytes].decode("utf-8", "ignore")
    return kept, len(page) - len(kept)
