"""Find where in a file an edit belongs, first exactly, then more and more tolerantly.

Tolerance only locates. What is found is a span of the file's own text; nothing outside it is
touched, and a looser way is tried only when all stricter ones have found nothing.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from toolwright.backends.files._rope import Rope

__all__ = ["Located", "Span", "locate"]

_BREAK = re.compile(r"\r\n|\r|\n")


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

    spans: Iterator[Span]
    """From the beginning of the text on; nobody searches for more of them than are taken."""
    how: str


def locate(text: Rope, old: str) -> Located:
    """The places where `old` is, by the strictest way that finds any; none if no way does."""
    searched = _Searched(text)
    for how, search in _LADDER:
        spans = search(searched, old)
        if (first := next(spans, None)) is not None:
            return Located(chain([first], spans), how)
    return Located(iter(()), "nowhere")


class _Searched:
    """A text, and the same with plain characters for typographic ones, one for one."""

    def __init__(self, text: Rope) -> None:
        self.text = text

    @cached_property
    def plain(self) -> Rope:
        return self.text.changed(_plain)


def _exactly(searched: _Searched, old: str) -> Iterator[Span]:
    return (Span(at, at + len(old)) for at in searched.text.occurrences(old))


def _any_line_ending(searched: _Searched, old: str) -> Iterator[Span]:
    pieces = _BREAK.split(old)
    if len(pieces) == 1:
        return iter(())
    pattern = re.compile(r"(?:\r\n|\r|\n)".join(re.escape(piece) for piece in pieces))
    found = searched.text.matches(pattern, len(old) + len(pieces))
    return (Span(start, end) for start, end in found)


def _like_characters(searched: _Searched, old: str) -> Iterator[Span]:
    """Typographic quotes, dashes and spaces for plain ones, one character for one."""
    return (Span(at, at + len(old)) for at in searched.plain.occurrences(_plain(old)))


def _trailing_space(searched: _Searched, old: str) -> Iterator[Span]:
    return _by_lines(searched, old, str.rstrip, _no_shift)


def _indentation(searched: _Searched, old: str) -> Iterator[Span]:
    """Whole lines that differ by the same indentation throughout."""
    return _by_lines(searched, old, str.strip, _shift)


_LADDER: tuple[tuple[str, Callable[[_Searched, str], Iterator[Span]]], ...] = (
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


def _plain(text: str) -> str:
    for plain, alike in _ALIKE.items():
        for char in alike:
            text = text.replace(char, plain)
    return text


def _by_lines(
    searched: _Searched,
    old: str,
    key: Callable[[str], str],
    shift: Callable[[list[str], list[str]], tuple[str, str] | None],
) -> Iterator[Span]:
    """Runs of whole lines that are the same as `old`'s under `key`.

    Its longest line is searched for, and only what is around that is compared.
    """
    wanted = _lines(old)
    keys = [key(_plain(line)) for line in wanted]
    anchor = max(range(len(keys)), key=lambda at: len(keys[at]))
    if not keys[anchor]:
        return
    text = searched.text
    for at in searched.plain.occurrences(keys[anchor]):
        if not _between_spaces(text, at, at + len(keys[anchor])):
            continue
        found = _run(text, at, before=anchor, after=len(keys) - anchor - 1)
        lines = [text.slice(start, end) for start, end in found]
        if [key(_plain(line)) for line in lines] != keys:
            continue
        moved = shift(lines, wanted)
        if moved is not None:
            end, after = text.next_break(found[-1][0])
            whole = old.endswith(("\n", "\r"))
            yield Span(found[0][0], after if whole else end, *moved)


def _between_spaces(text: Rope, start: int, end: int) -> bool:
    """Whether a piece may be all that is on its line, as far as its two neighbours tell."""
    return not (text.slice(start - 1, start).strip() or text.slice(end, end + 1).strip())


def _run(text: Rope, at: int, *, before: int, after: int) -> list[tuple[int, int]]:
    """Start and end of the line around `at` and of so many before and after it, where there are."""
    start = text.line_start(at)
    for _ in range(before):
        if start:
            start = text.line_start(start - (2 if text.slice(start - 2, start) == "\r\n" else 1))
    found: list[tuple[int, int]] = []
    for _ in range(before + 1 + after):
        if start < len(text) or not found:
            end, following = text.next_break(start)
            found.append((start, end))
            start = following
    return found


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
    lines = _BREAK.split(text)
    return lines[:-1] if len(lines) > 1 and lines[-1] == "" else lines
