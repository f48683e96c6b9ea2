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
    """Files that were found, by path; not all of them when there were too many to list."""

    paths: list[str]
    entries: list[Entry]
    """The first of them in detail, as many as were asked for."""
    complete: bool = True


@runtime_checkable
class CanFind(Protocol):
    """A backend with a quicker way to find files than listing every directory."""

    async def find(self, glob: Glob, start: str, details: int) -> Found:
        """Files below `start` whose path, relative to it, matches; the first ones in detail."""
        ...


async def find(files: Files, pattern: str, start: str = "/", *, details: int = 0) -> Found:
    """Files below `start` that match a glob, `details` of them with size and time.

    A pattern that begins with `/` is taken from the top.
    """
    start = "/" if pattern.startswith("/") else virtual_path(start)
    return await find_in(files, Glob(pattern), start, details)


async def find_in(files: Files, glob: Glob, start: str, details: int) -> Found:
    """Find files in the quickest way that the backend has."""
    if isinstance(files, CanFind):
        return await files.find(glob, start, details)
    return await find_by_walking(files, glob, start, details)


async def find_by_walking(files: Files, glob: Glob, start: str, details: int) -> Found:
    """Find files with nothing but `ls`."""
    skip = len(start.rstrip("/")) + 1
    found = [
        entry
        async for entry in walk(files, start)
        if not entry.is_dir and glob.matches(entry.path[skip:])
    ]
    found.sort(key=lambda entry: entry.path)
    return Found(paths=[entry.path for entry in found], entries=found[:details])
