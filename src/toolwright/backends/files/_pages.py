"""Show part of a text with line numbers."""

from collections.abc import Iterator

__all__ = ["numbered", "split_lines"]


def split_lines(text: str) -> list[str]:
    """Lines as an editor counts them: `\\n`, `\\r\\n` and `\\r` end one, nothing else does."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def numbered(lines: list[str], first: int, *, width: int = 5000) -> Iterator[str]:
    """Lines as `cat -n` shows them; one longer than `width` in pieces numbered 5.1, 5.2, …"""
    for number, line in enumerate(lines, start=first):
        if len(line) <= width:
            yield f"{number:>6}\t{line}"
            continue
        pieces = range(0, len(line), width)
        for piece, at in enumerate(pieces, start=1):
            yield f"{f'{number}.{piece}':>6}\t{line[at : at + width]}"
