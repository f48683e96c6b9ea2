"""Find where in a file an edit belongs, first exactly, then more and more tolerantly.

Tolerance only locates. What is found is a span of the file's own text; nothing outside it is
touched, and a looser way is tried only when all stricter ones have found nothing.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["Located", "Span", "locate"]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the text, and the indentation to put before each line that replaces it."""

    start: int
    end: int
    indent: str = ""
    outdent: str = ""
    """Indentation to take away instead."""


@dataclass(frozen=True, slots=True)
class Located:
    """Where the text was found, and how: `exact`, or what had to be overlooked."""

    spans: tuple[Span, ...]
    how: str


def locate(text: str, old: str) -> Located:
    """All places where `old` is, by the strictest way that finds any; none if no way does."""
    for how, search in _LADDER:
        spans = tuple(search(text, old))
        if spans:
            return Located(spans, how)
    return Located((), "nowhere")


def _exactly(text: str, old: str) -> Iterator[Span]:
    at = text.find(old)
    while at >= 0:
        yield Span(at, at + len(old))
        # From the next character: overlapping places are as ambiguous as any.
        at = text.find(old, at + 1)


def _any_line_ending(text: str, old: str) -> Iterator[Span]:
    if not re.search(r"[\r\n]", old):
        return
    pieces = re.split(r"\r\n|\r|\n", old)
    pattern = r"(?:\r\n|\r|\n)".join(re.escape(piece) for piece in pieces)
    for match in re.finditer(pattern, text):
        yield Span(match.start(), match.end())


def _like_characters(text: str, old: str) -> Iterator[Span]:
    """Typographic quotes, dashes and spaces for plain ones, one character for one."""
    yield from _exactly(text.translate(_PLAIN), old.translate(_PLAIN))


def _trailing_space(text: str, old: str) -> Iterator[Span]:
    yield from _by_lines(text, old, lambda line: line.translate(_PLAIN).rstrip(), _no_shift)


def _indentation(text: str, old: str) -> Iterator[Span]:
    """Whole lines that differ by the same indentation throughout."""
    yield from _by_lines(text, old, lambda line: line.translate(_PLAIN).strip(), _shift)


_LADDER: tuple[tuple[str, Callable[[str, str], Iterator[Span]]], ...] = (
    ("exact", _exactly),
    ("line endings", _any_line_ending),
    ("similar characters", _like_characters),
    ("trailing whitespace", _trailing_space),
    ("indentation", _indentation),
)
_ALIKE = {
    "'": "‘’‚‛′",
    '"': "“”„‟″",
    "-": "‐‑‒–—―−",
    " ": "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000",
}
_PLAIN = str.maketrans({char: plain for plain, alike in _ALIKE.items() for char in alike})


def _by_lines(
    text: str,
    old: str,
    key: Callable[[str], str],
    shift: Callable[[list[str], list[str]], tuple[str, str] | None],
) -> Iterator[Span]:
    """Runs of whole lines that are the same as `old`'s under `key`."""
    wanted = _lines(old)
    keys = [key(line) for line in wanted]
    if not any(keys):
        return
    lines = _lines(text)
    starts = _starts(text)
    found = [key(line) for line in lines]
    for at in range(len(lines) - len(wanted) + 1):
        if found[at] == keys[0] and found[at : at + len(keys)] == keys:
            moved = shift(lines[at : at + len(keys)], wanted)
            if moved is not None:
                end = starts[at + len(keys) - 1] + len(lines[at + len(keys) - 1])
                after = _ending(text, end) if old.endswith(("\n", "\r")) else 0
                yield Span(starts[at], end + after, *moved)


def _no_shift(_found: list[str], _wanted: list[str]) -> tuple[str, str] | None:
    return "", ""


def _shift(found: list[str], wanted: list[str]) -> tuple[str, str] | None:
    """The indentation to add and to take away, if it is the same for all lines."""
    shifts = {
        _difference(_indent(there), _indent(here))
        for there, here in zip(found, wanted, strict=True)
        if here.strip()
    }
    return shifts.pop() if len(shifts) == 1 else None


def _difference(there: str, here: str) -> tuple[str, str] | None:
    if there.endswith(here):
        return there[: len(there) - len(here)], ""
    if here.endswith(there):
        return "", here[: len(here) - len(there)]
    return None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _lines(text: str) -> list[str]:
    """Lines without their ends; a newline at the very end begins no further line."""
    lines = re.split(r"\r\n|\r|\n", text)
    return lines[:-1] if len(lines) > 1 and lines[-1] == "" else lines


def _starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]


def _ending(text: str, at: int) -> int:
    match = re.compile(r"\r\n|\r|\n").match(text, at)
    return match.end() - at if match else 0
