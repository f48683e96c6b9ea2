"""Search in the text of files, in the same way on every backend."""

import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

from toolwright.backends.files._files import Files
from toolwright.backends.files._glob import Glob
from toolwright.backends.files._grep_process import Expression, expression
from toolwright.backends.files._paths import sorted_in_steps, tree_order
from toolwright.backends.files._rope import Rope, in_thread_if_long
from toolwright.backends.files._text import is_binary, read_text
from toolwright.backends.files._walk import walk
from toolwright.errors import ToolError

__all__ = ["BINARY_WITHIN", "MAX_LINE", "CanGrep", "FileMatches", "Grepped", "Line", "Mode", "Query",
           "grep", "grep_by_reading", "is_simple", "searchable", "shortened"]  # fmt: skip

BINARY_WITHIN = 64 * 1024
"""A zero byte this early makes a file binary; later ones only end the search."""
MAX_LINE = 1000
"""Characters that are shown of a line."""
_SIMPLE = re.compile(r"(?:[^\\*+?{(\[]|\\[^0-9A-Za-z]|\\[bBdDsSwW])*")
_SHORT_PATTERN = 1000
_QUICK = 1_000_000
"""Signs of a pattern times bytes of a text, which take some milliseconds at most."""
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
    found: list[FileMatches] = []
    room = query.limit
    async with AsyncExitStack() as stack:
        search = _Search(query, stack)
        await search.check()
        async for path in _searched(files, query):
            try:
                data = (await files.read(path)).data
            except OSError:
                continue
            item = await search.within(path, data, room)
            if item is not None:
                found.append(item)
                room = max(0, room - item.count)
    return Grepped.within(query, found)


def shortened(line: str) -> str:
    """A line without its end mark, cut where nobody reads on."""
    line = line.rstrip("\n").removesuffix("\r")
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + " […]"


class _Search:
    """Finds lines here where that is quick for sure, else in a process, which is started once."""

    def __init__(self, query: Query, stack: AsyncExitStack) -> None:
        self._query = query
        self._stack = stack
        self._elsewhere: Expression | None = None
        self._is_exact = query.literal and not query.ignore_case
        self._pattern = re.escape(query.pattern) if query.literal else query.pattern
        self._simple = _compiled(query, self._pattern) if is_simple(query) else None

    async def check(self) -> None:
        """Raise `ToolError` when the query has no regular expression."""
        if not self._is_exact and self._simple is None:
            await self._process()

    async def within(self, path: str, data: bytes, room: int) -> FileMatches | None:
        """What a file with these bytes has, and its first lines, as many as there is room for."""
        query, size = self._query, len(data)
        text = await in_thread_if_long(size, searchable, data)
        if text is None:
            return None
        if self._is_exact:
            count, numbers = await in_thread_if_long(size, _matching, text, self._has, query, room)
        elif self._simple is not None and size * len(query.pattern) <= _QUICK:
            count, numbers = _matching(text, self._simple.search, query, room)
        else:
            encoded = await in_thread_if_long(size, text.encoded, "utf-8")
            most, first_only = _most(query, room), query.mode == "files"
            process = await self._process()
            count, numbers = await process.lines(path, encoded, most, first_only=first_only)
        if not count:
            return None
        lines = await in_thread_if_long(size, _shown, text, numbers, query, room)
        return FileMatches(path=path, count=count, lines=lines)

    def _has(self, line: str) -> bool:
        return self._query.pattern in line

    async def _process(self) -> Expression:
        if self._elsewhere is None:
            query = self._query
            starting = expression(self._pattern, shown=query.pattern, ignore_case=query.ignore_case)
            self._elsewhere = await self._stack.enter_async_context(starting)
        return self._elsewhere


def is_simple(query: Query) -> bool:
    """Whether each sign of the pattern is tried at most once at each place of a text."""
    return len(query.pattern) <= _SHORT_PATTERN and (
        query.literal or _SIMPLE.fullmatch(query.pattern) is not None
    )


def _compiled(query: Query, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE if query.ignore_case else 0)
    except re.error as error:
        raise ToolError(f"{query.pattern!r} is not a regular expression: {error}.") from error


def searchable(data: bytes) -> Rope | None:
    """The text of a file; None when it is binary."""
    return None if is_binary(data[:BINARY_WITHIN]) else read_text(data).rope


def _most(query: Query, room: int) -> int:
    """Matches whose numbers are needed: those after the last one shown may stand around it."""
    return room + query.context if query.mode == "lines" else 0


def _matching(
    text: Rope, matches: Callable[[str], object], query: Query, room: int
) -> tuple[int, list[int]]:
    """How many lines match, and the numbers of the first of them."""
    most, count, numbers = _most(query, room), 0, list[int]()
    exact = query.literal and not query.ignore_case
    if exact and next(text.occurrences(query.pattern), None) is None:
        return 0, []
    for number, line in enumerate(_lines(text), start=1):
        if matches(line.removesuffix("\r")):
            count += 1
            numbers += [number] if count <= most else []
            if query.mode == "files":
                break
    return count, numbers


def _shown(text: Rope, numbers: Sequence[int], query: Query, room: int) -> tuple[Line, ...]:
    """The lines with these numbers and those around them."""
    if not numbers:
        return ()
    shown, matching = _Shown(query.context, room), set(numbers)
    for number, line in enumerate(_lines(text), start=1):
        if number > numbers[-1] + query.context:
            break
        shown.see(Line(number, line, number in matching))
    return tuple(shown.lines)


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
