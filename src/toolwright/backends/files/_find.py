"""Find files by a glob, in the same way on every backend."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from toolwright.backends.files._files import Entry, Files
from toolwright.backends.files._glob import Glob
from toolwright.backends.files._paths import tree_order, virtual_path
from toolwright.backends.files._walk import walk

__all__ = ["CanFind", "Found", "Wanted", "find", "find_by_walking", "find_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which files to find, and where."""

    glob: Glob
    """For paths relative to `start`."""
    start: str = "/"
    details: int = 0
    """How many of the files are wanted with size and time."""
    directories: bool = False
    """Find directories as well."""
    gitignore: bool = False
    """Leave out what `.gitignore` files name."""

    def matches(self, path: str) -> bool:
        """Whether a path below `start` fits the glob."""
        return self.glob.matches(path[len(self.start.rstrip("/")) + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Files that were found, as a tree is walked; not all of them when there were too many to list."""

    paths: list[str]
    entries: list[Entry]
    """The first of them in detail, as many as were asked for."""
    directories: tuple[str, ...] = ()
    """Directories that match, empty ones too, if they were asked for."""
    complete: bool = True


@runtime_checkable
class CanFind(Protocol):
    """A backend with a quicker way to find files than listing every directory."""

    async def find(self, wanted: Wanted) -> Found:
        """All that `wanted` asks for."""
        ...


async def find(
    files: Files, pattern: str, start: str = "/", *, details: int = 0, gitignore: bool = False
) -> Found:
    """Files below `start` that match a glob, `details` of them with size and time.

    A pattern that begins with `/` is taken from the top. With `gitignore`, what `.gitignore` files
    name is left out.
    """
    start = "/" if pattern.startswith("/") else virtual_path(start)
    wanted = Wanted(glob=Glob(pattern), start=start, details=details, gitignore=gitignore)
    return await find_in(files, wanted)


async def find_in(files: Files, wanted: Wanted) -> Found:
    """Find files in the quickest way that the backend has."""
    if isinstance(files, CanFind):
        return await files.find(wanted)
    return await find_by_walking(files, wanted)


async def find_by_walking(files: Files, wanted: Wanted) -> Found:
    """Find files with nothing but `ls`."""
    found = [
        entry
        async for entry in walk(files, wanted.start, gitignore=wanted.gitignore)
        if wanted.matches(entry.path)
    ]
    found.sort(key=lambda entry: tree_order(entry.path))
    entries = [entry for entry in found if not entry.is_dir]
    folders = tuple(entry.path for entry in found if entry.is_dir and wanted.directories)
    return Found(
        paths=[entry.path for entry in entries],
        entries=entries[: wanted.details],
        directories=folders,
    )
