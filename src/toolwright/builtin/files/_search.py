"""`glob` and `grep`."""

from collections.abc import Callable
from typing import Any, Literal

from toolwright.backends.files import (
    FileMatches,
    Files,
    Glob,
    Query,
    find,
    virtual_path,
)
from toolwright.backends.files import grep as grep_files
from toolwright.builtin.files._look import MAX_ENTRIES, listing
from toolwright.tools import ToolContext

__all__ = ["SearchingTools"]

_MAX_CHARACTERS = 80_000
_MAX_LINES = _MAX_CHARACTERS // 20
"""Lines that are read to be shown; there is hardly room for more."""
_MODES: dict[str, Literal["lines", "files", "counts"]] = {
    "files_with_matches": "files",
    "content": "lines",
    "count": "counts",
}


class SearchingTools:
    """Tools that find files by name and by content."""

    def __init__(self, files_for: Callable[[ToolContext], Files]) -> None:
        self._files_for = files_for

    async def glob(
        self, pattern: str, tool_context: ToolContext, path: str = "/"
    ) -> dict[str, Any]:
        """Find files by a glob such as `**/*.py` or `src/{a,b}/*.ts`.

        Hidden files count; directories of version control, such as .git, only when `path` is in one.

        Args:
            pattern: The glob; `**` stands for any number of directories.
            path: The directory to search from.
        """
        files = self._files_for(tool_context)
        found = await find(files, pattern, virtual_path(path), details=MAX_ENTRIES)
        return listing(found.entries, len(found.paths))

    async def grep(
        self,
        pattern: str,
        tool_context: ToolContext,
        path: str | None = None,
        glob: str | None = None,
        output_mode: Literal["files_with_matches", "content", "count"] = "files_with_matches",
    ) -> dict[str, Any]:
        """Search for a text in files. The text is taken literally, not as a regular expression.

        Hidden files count; directories of version control, such as .git, only when `path` is in one.

        Args:
            pattern: The text to search for, within one line.
            path: A directory or file to limit the search to.
            glob: Which files to search, for example `*.py`.
            output_mode: Paths of files with matches, the matching lines, or counts.
        """
        query = Query(
            pattern=pattern,
            start=virtual_path(path or "/"),
            glob=Glob(glob, anywhere=True) if glob else None,
            literal=True,
            mode=_MODES[output_mode],
            limit=_MAX_LINES,
        )
        found = await grep_files(self._files_for(tool_context), query)
        lines = [line for match in found.files for line in _shown(match, query.mode)]
        total = found.total if query.mode == "lines" else len(lines)
        result = _bounded(lines, total, complete=found.complete)
        return {"status": "success", "result": result}


def _shown(match: FileMatches, mode: str) -> list[str]:
    if mode == "files":
        return [match.path]
    if mode == "counts":
        return [f"{match.path}: {match.count}"]
    return [f"{match.path}:{line.number}:{line.text}" for line in match.lines]


def _bounded(lines: list[str], total: int, *, complete: bool) -> str:
    if not lines:
        return "No matches found."
    size = 0
    for count, line in enumerate(lines):
        size += len(line) + 1
        if size > _MAX_CHARACTERS:
            lines = lines[:count]
            break
    left_out = total - len(lines)
    if not left_out and complete:
        return "\n".join(lines)
    how_many = f"{left_out} more lines" if complete else "more"
    note = f"... ({how_many} left out. Search for a longer text, or in fewer files.)"
    return "\n".join([*lines, note])
