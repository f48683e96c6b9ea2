"""`grep`, `find` and `ls`: look around in a working directory."""

from typing import Literal

from toolwright.backends import format_size
from toolwright.backends.files import (
    Entry,
    FileMatches,
    Files,
    Glob,
    Line,
    Query,
    Wanted,
    find_in,
    tree_order,
)
from toolwright.backends.files import grep as grep_files
from toolwright.builtin.workspace._paths import WorkspacePaths
from toolwright.errors import ToolError

__all__ = ["LookTools"]

_LIMIT = 1_000
"""Matches that are always read, so that the usual search is one pass."""


class LookTools:
    """Tools that change nothing."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._paths = paths

    async def grep(
        self,
        pattern: str,
        path: str = ".",
        glob: str | None = None,
        case_sensitive: bool = False,
        context_lines: int = 0,
        max_results: int = 100,
    ) -> str:
        """Search files for a regular expression. Files that .gitignore names are left out.

        Args:
            pattern: The regular expression, within one line.
            path: The file or directory to search.
            glob: Which files to search, for example `*.go`.
            case_sensitive: Tell upper from lower case.
            context_lines: How many lines to show around each match.
            max_results: How many matches to show at most.
        """
        query = Query(
            pattern=pattern,
            start=self._paths.inner(path),
            glob=Glob(glob, anywhere=True) if glob else None,
            ignore_case=not case_sensitive,
            context=min(max(context_lines, 0), 50),
            limit=max(_demanded(max_results), _LIMIT),
            gitignore=True,
        )
        found = await grep_files(self._files, query)
        lines, shown = self._matches(found.files, max_results)
        if not lines:
            return "No matches found."
        if shown < found.total or not found.complete:
            lines.append(_note(shown, found.total, "matches", found.complete))
        return "\n".join(lines)

    async def find(
        self,
        path: str = ".",
        pattern: str = "",
        type: Literal["file", "dir", ""] = "",  # noqa: A002 - the name the model knows it by
        max_results: int = 200,
    ) -> str:
        """Find files and directories by name. What .gitignore names is left out.

        Args:
            path: The directory to search in.
            pattern: A glob such as `*_test.go` (with `/`, for the whole path), or part of a name.
            type: "file", "dir", or "" for both.
            max_results: How many results to show at most.
        """
        wanted = Wanted(
            glob=_name_glob(pattern),
            start=self._paths.inner(path),
            directories=type != "file",
            gitignore=True,
        )
        found = await find_in(self._files, wanted)
        files = found.paths if type != "dir" else []
        folders = {path + "/" for path in found.directories}
        matching = sorted([*files, *folders], key=tree_order)
        lines = [self._paths.shown(name) for name in matching[: _demanded(max_results)]]
        if not lines:
            return "Nothing found."
        if len(matching) > len(lines) or not found.complete:
            lines.append(_note(len(lines), len(matching), "results", found.complete))
        return "\n".join(lines)

    async def ls(self, path: str = ".", show_hidden: bool = False) -> str:
        """List a directory with sizes and times of change.

        Args:
            path: The directory to list.
            show_hidden: Include names that start with a dot.
        """
        entries = await self._files.ls(self._paths.inner(path))
        shown = [e for e in entries if show_hidden or not _name(e).startswith(".")]
        hidden = len(entries) - len(shown)
        lines = [_row(entry) for entry in shown] or ["(empty)"]
        if hidden:
            lines.append(f"[{hidden} hidden; use show_hidden to see them]")
        return "\n".join(lines)

    def _matches(self, files: list[FileMatches], limit: int) -> tuple[list[str], int]:
        """Lines to show, with `--` where lines are left out, and how many matches they have."""
        lines: list[str] = []
        shown = 0
        for match in files:
            path = self._paths.shown(match.path)
            before: Line | None = None
            for line in match.lines:
                shown += line.is_match
                if shown > limit:
                    return lines, limit
                if before is not None and line.number > before.number + 1 and _has_context(match):
                    lines.append("--")
                mark = ":" if line.is_match else "-"
                lines.append(f"{path}{mark}{line.number}{mark} {line.text}")
                before = line
        return lines, shown


def _has_context(match: FileMatches) -> bool:
    return len(match.lines) > match.count


def _demanded(max_results: int) -> int:
    if max_results < 1:
        raise ToolError(f"max_results must be 1 or more; got {max_results}.")
    return max_results


def _name_glob(pattern: str) -> Glob:
    """A glob for names; a pattern that is none stands for a part of the name."""
    if not pattern:
        return Glob("**")
    is_glob = any(char in pattern for char in "*?[{") or "/" in pattern
    return Glob(pattern if is_glob else f"*{pattern}*", anywhere=True)


def _note(shown: int, total: int, things: str, complete: bool) -> str:
    of = f"{total}" if complete else f"more than {total}"
    return f"[{shown} of {of} {things}; narrow the search or raise max_results]"


def _name(entry: Entry) -> str:
    return entry.path.rpartition("/")[2]


def _row(entry: Entry) -> str:
    size = "-" if entry.is_dir else format_size(entry.size)
    mark = "/" if entry.is_dir else "@" if entry.is_link else ""
    return f"{size:>8}  {entry.modified_at[:16].replace('T', ' ')}  {_name(entry)}{mark}"
