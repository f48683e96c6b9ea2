"""Search in the text of files, in the same way on every backend."""

import re
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

from toolwright.backends.files._files import Files
from toolwright.backends.files._glob import Glob
from toolwright.backends.files._paths import sorted_in_steps, tree_order
from toolwright.backends.files._rope import Rope, in_thread_if_long
from toolwright.backends.files._text import is_binary, read_text
from toolwright.backends.files._walk import walk
from toolwright.errors import ToolError

__all__ = ["BINARY_WITHIN", "MAX_LINE", "CanGrep", "FileMatches", "Grepped", "Line", "Mode", "Query",
           "compiled", "grep", "grep_by_reading", "search_data", "shortened"]  # fmt: skip

BINARY_WITHIN = 64 * 1024
"""A zero byte this early makes a file binary; later ones only end the search."""
MAX_LINE = 1000
"""Characters that are shown of a line."""
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
    """Matching lines that are wanted; those after them are only counted."""
    gitignore: bool = False
    """Leave out what `.gitignore` files name."""

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
    """What was found in one file: how many lines match, and the first of them if asked for."""

    path: str
    count: int
    """In the mode `files` always 1: nobody counts on after the first."""
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grepped:
    """What was found, as a tree is walked; `complete` unless there were too many files to list."""

    files: list[FileMatches]
    complete: bool = True

    @classmethod
    def within(cls, query: Query, files: list[FileMatches], complete: bool = True) -> "Grepped":
        """These files in order, with no more lines than the query wants."""
        room = query.limit
        kept: list[FileMatches] = []
        for item in sorted_in_steps(files, lambda item: tree_order(item.path)):
            kept.append(item if item.count <= room else _first(item, room))
            room = max(0, room - item.count)
        return cls(files=kept, complete=complete)

    @property
    def total(self) -> int:
        """How many lines match in all."""
        return sum(item.count for item in self.files)


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
    pattern = compiled(query)
    found: list[FileMatches] = []
    room = query.limit
    async for path in _searched(files, query):
        try:
            data = (await files.read(path)).data
        except OSError:
            continue
        item = await in_thread_if_long(len(data), search_data, path, data, pattern, query, room)
        if item is not None:
            found.append(item)
            room = max(0, room - item.count)
    return Grepped.within(query, found)


def shortened(line: str) -> str:
    """A line without its end mark, cut where nobody reads on."""
    line = line.rstrip("\n").removesuffix("\r")
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + " […]"


def compiled(query: Query) -> re.Pattern[str]:
    """The query's pattern; raises `ToolError` when it is none."""
    pattern = re.escape(query.pattern) if query.literal else query.pattern
    try:
        return re.compile(pattern, re.IGNORECASE if query.ignore_case else 0)
    except re.error as error:
        raise ToolError(f"{query.pattern!r} is not a regular expression: {error}.") from error


def search_data(
    path: str, data: bytes, pattern: re.Pattern[str], query: Query, room: int
) -> FileMatches | None:
    """What a file with these bytes has of the pattern, and its first lines, as many as there is room."""
    if is_binary(data[:BINARY_WITHIN]):
        return None
    text = read_text(data).rope
    exact = query.literal and not query.ignore_case
    if exact and next(text.occurrences(query.pattern), None) is None:
        return None
    shown = _Shown(query.context, room if query.mode == "lines" else 0)
    count = 0
    for number, line in enumerate(_lines(text), start=1):
        is_match = pattern.search(line.removesuffix("\r")) is not None
        shown.see(Line(number, line, is_match))
        count += is_match
        if count and query.mode == "files":
            break
    return FileMatches(path=path, count=count, lines=tuple(shown.lines)) if count else None


class _Shown:
    """Collects matching lines and those around them, each once, until there is no room for more."""

    def __init__(self, context: int, room: int) -> None:
        self.lines: list[Line] = []
        self._context = context
        self._room = room
        self._before: deque[Line] = deque(maxlen=context)
        self._after = 0

    def see(self, line: Line) -> None:
        """The next line of the file."""
        if line.is_match and self._room:
            self._room -= 1
            self._after = self._context
            self._keep(*self._before, line)
            self._before.clear()
        elif self._after:
            self._after -= 1
            self._keep(line)
        else:
            self._before.append(line)

    def _keep(self, *lines: Line) -> None:
        self.lines += [replace(line, text=shortened(line.text)) for line in lines]


async def _searched(files: Files, query: Query) -> AsyncIterator[str]:
    try:
        async for entry in walk(files, query.start, gitignore=query.gitignore):
            if not entry.is_dir and query.wants(entry.path):
                yield entry.path
    except NotADirectoryError:
        yield query.start


def _lines(text: Rope) -> Iterator[str]:
    """Lines up to a zero byte, with the `\\r` that ends them; `\\n` alone begins a line."""
    for line in text.newline_lines():
        before, zero, _ = line.partition("\0")
        if not zero:
            yield line
        else:
            if before:
                yield before
            return


def _first(item: FileMatches, room: int) -> FileMatches:
    """The same with the lines up to the last match that there is room for."""
    kept: list[Line] = []
    for line in item.lines:
        room -= line.is_match
        if room < 0:
            break
        kept.append(line)
    return replace(item, lines=tuple(kept))
