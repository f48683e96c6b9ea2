"""Find files by a glob, in the same way on every backend."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from toolwright.backends.files._files import Entry, Files
from toolwright.backends.files._glob import Glob
from toolwright.backends.files._paths import virtual_path
from toolwright.backends.files._walk import walk

__all__ = ["CanFind", "Found", "find", "find_by_walking", "find_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Files that were found, by path; not all of them when it took too long."""

    entries: list[Entry]
    complete: bool = True


@runtime_checkable
class CanFind(Protocol):
    """A backend with a quicker way to find files than listing every directory."""

    async def find(self, glob: Glob, start: str) -> Found:
        """Files below `start` whose path, relative to it, matches."""
        ...


async def find(files: Files, pattern: str, start: str = "/") -> Found:
    """Files below `start` that match a glob. A pattern that begins with `/` is taken from the top."""
    start = "/" if pattern.startswith("/") else virtual_path(start)
    return await find_in(files, Glob(pattern), start)


async def find_in(files: Files, glob: Glob, start: str) -> Found:
    """Find files in the quickest way that the backend has."""
    if isinstance(files, CanFind):
        return await files.find(glob, start)
    return await find_by_walking(files, glob, start)


async def find_by_walking(files: Files, glob: Glob, start: str) -> Found:
    """Find files with nothing but `ls`."""
    skip = len(start.rstrip("/")) + 1
    found = [
        entry
        async for entry in walk(files, start)
        if not entry.is_dir and glob.matches(entry.path[skip:])
    ]
    return Found(entries=sorted(found, key=lambda entry: entry.path))
