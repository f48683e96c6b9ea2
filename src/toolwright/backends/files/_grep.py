"""Search in the text of files, in the same way on every backend."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from toolwright.backends.files._files import Files
from toolwright.backends.files._glob import Glob
from toolwright.backends.files._text import is_binary, read_text
from toolwright.backends.files._walk import walk
from toolwright.errors import ToolError

__all__ = ["BINARY_WITHIN", "CanGrep", "FileMatches", "Grepped", "Line", "Query", "grep",
           "grep_by_reading", "shortened"]  # fmt: skip

BINARY_WITHIN = 64 * 1024
"""A zero byte this early makes a file binary; later ones only end the search."""
_MAX_LINE = 1000
Mode = Literal["lines", "files", "counts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to search for, and where."""

    pattern: str
    start: str = "/"
    """A directory, or one file."""
    glob: Glob | None = None
    literal: bool = False
    """The pattern is plain text, not a regular expression."""
    ignore_case: bool = False
    context: int = 0
    """Lines to show before and after each match."""
    mode: Mode = "lines"
    limit: int = 10_000
    """Matching lines (or files) after which the search may stop."""

    def __post_init__(self) -> None:
        if not self.pattern or "\n" in self.pattern or "\0" in self.pattern:
            raise ToolError(
                f"{self.pattern!r} cannot be searched for: give a text within one line. "
                "For text that spans lines, search for its first line."
            )

    def wants(self, path: str) -> bool:
        """Whether the glob lets a file through."""
        skip = len(self.start.rstrip("/")) + 1
        return self.glob is None or self.glob.matches(path[skip:])


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, numbered from 1."""

    number: int
    text: str
    is_match: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMatches:
    """What was found in one file: how many lines match, and the lines if they were asked for."""

    path: str
    count: int
    """In the mode `files` always 1: nobody counts on after the first."""
    lines: tuple[Line, ...] = ()

    def in_mode(self, mode: Mode) -> "FileMatches":
        """What of this a mode asks for."""
        if mode == "lines":
            return self
        return FileMatches(path=self.path, count=self.count if mode == "counts" else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grepped:
    """What was found, by path; not all of it when there was too much."""

    files: list[FileMatches]
    complete: bool = True


@runtime_checkable
class CanGrep(Protocol):
    """A backend with a quicker way to search than reading every file."""

    async def grep(self, query: Query) -> Grepped:
        """All that `query` asks for."""
        ...


async def grep(files: Files, query: Query) -> Grepped:
    """Search files in the quickest way that the backend has."""
    if isinstance(files, CanGrep):
        return await files.grep(query)
    return await grep_by_reading(files, query)


async def grep_by_reading(files: Files, query: Query) -> Grepped:
    """Search with nothing but `ls` and `read`."""
    wanted = _compiled(query)
    found: list[FileMatches] = []
    total = 0
    async for path in _searched(files, query):
        if (matches := await _search_file(files, path, wanted, query)) is not None:
            found.append(matches)
            total += matches.count if query.mode == "lines" else 1
            if total >= query.limit:
                return Grepped(files=found, complete=False)
    return Grepped(files=sorted(found, key=lambda item: item.path))


def shortened(line: str) -> str:
    """A line without its end mark, cut where nobody reads on."""
    line = line.rstrip("\n").removesuffix("\r")
    return line if len(line) <= _MAX_LINE else line[:_MAX_LINE] + " […]"


def _compiled(query: Query) -> re.Pattern[str]:
    pattern = re.escape(query.pattern) if query.literal else query.pattern
    try:
        return re.compile(pattern, re.IGNORECASE if query.ignore_case else 0)
    except re.error as error:
        raise ToolError(f"{query.pattern!r} is not a regular expression: {error}.") from error


async def _searched(files: Files, query: Query) -> AsyncIterator[str]:
    try:
        async for entry in walk(files, query.start):
            if not entry.is_dir and query.wants(entry.path):
                yield entry.path
    except NotADirectoryError:
        yield query.start


async def _search_file(
    files: Files, path: str, wanted: re.Pattern[str], query: Query
) -> FileMatches | None:
    try:
        data = (await files.read(path)).data
    except OSError:
        return None
    if is_binary(data[:BINARY_WITHIN]):
        return None
    lines = _text_of(data).split("\n")
    numbers = [at for at, line in enumerate(lines) if wanted.search(line.removesuffix("\r"))]
    if not numbers:
        return None
    shown = tuple(_around(lines, numbers, query.context))
    return FileMatches(path=path, count=len(numbers), lines=shown).in_mode(query.mode)


def _text_of(data: bytes) -> str:
    """Text up to a zero byte; what is not UTF-8 and has no mark is shown as unreadable."""
    known = read_text(data)
    text = data.decode("utf-8", "replace") if known.encoding == "latin-1" else known.text
    return text.partition("\0")[0].removesuffix("\n")


def _around(lines: list[str], numbers: list[int], context: int) -> Iterator[Line]:
    """The matching lines and those around them, each once."""
    matching = set(numbers)
    shown = sorted(
        {at for number in numbers for at in range(number - context, number + context + 1)}
    )
    for at in shown:
        if 0 <= at < len(lines):
            yield Line(at + 1, shortened(lines[at]), at in matching)
