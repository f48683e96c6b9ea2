"""Visit everything below a directory of any `Files` backend that a search should see."""

from collections.abc import AsyncIterator

from toolwright.backends.files._files import Entry, Files
from toolwright.backends.files._ignore import IgnoreRules, rules_above

__all__ = ["walk"]


async def walk(files: Files, start: str) -> AsyncIterator[Entry]:
    """Files and directories below `start`, by path within each directory.

    Hidden files are included; ignored ones, version control directories and symbolic links are
    not. A directory that cannot be read is passed over, except `start`.
    """
    above = IgnoreRules().adding("/", await rules_above(files, start))
    waiting = [(start, above)]
    while waiting:
        directory, rules = waiting.pop()
        entries = await _entries(files, directory, must=directory == start)
        inner = await rules.entering(files, directory, entries)
        seen = [entry for entry in entries if not entry.is_link and not inner.ignores(entry)]
        for entry in seen:
            yield entry
        waiting += [(entry.path, inner) for entry in reversed(seen) if entry.is_dir]


async def _entries(files: Files, directory: str, *, must: bool) -> list[Entry]:
    try:
        return await files.ls(directory)
    except OSError:
        if must:
            raise
        return []
