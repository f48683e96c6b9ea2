"""Show part of a text with line numbers."""

from collections.abc import Sequence

__all__ = ["numbered"]


def numbered(lines: Sequence[str], first: int, *, width: int = 5000) -> list[str]:
    """Each line as `cat -n` shows it; one longer than `width` in pieces numbered 5.1, 5.2, …"""
    return [_numbered(line, number, width) for number, line in enumerate(lines, start=first)]


def _numbered(line: str, number: int, width: int) -> str:
    if len(line) <= width:
        return f"{number:>6}\t{line}"
    pieces = [line[at : at + width] for at in range(0, len(line), width)]
    return "\n".join(f"{f'{number}.{at}':>6}\t{piece}" for at, piece in enumerate(pieces, start=1))
