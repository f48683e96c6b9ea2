"""Visit everything below a directory of any `Files` backend that a search should see."""

from collections.abc import AsyncIterator

from anyio.lowlevel import checkpoint

from toolwright.backends.files._files import Entry, Files
from toolwright.backends.files._ignore import IgnoreRules, rules_above

__all__ = ["walk"]


async def walk(files: Files, start: str, *, gitignore: bool = False) -> AsyncIterator[Entry]:
    """Files and directories below `start`, each directory before what is in it.

    Hidden files are included; version control directories, symbolic links and, with `gitignore`,
    what `.gitignore` files name are not. A directory that cannot be read is passed over, except
    `start`.
    """
    above = await rules_above(files, start) if gitignore else []
    rules = IgnoreRules().adding("/", above)
    waiting = await _inside(files, start, rules, gitignore, must=True)
    while waiting:
        entry, rules = waiting.pop()
        yield entry
        if entry.is_dir:
            waiting += await _inside(files, entry.path, rules, gitignore, must=False)


async def _inside(
    files: Files, directory: str, rules: IgnoreRules, gitignore: bool, *, must: bool
) -> list[tuple[Entry, IgnoreRules]]:
    """What a walk visits in a directory, the last first, with the rules that hold there."""
    # A backend in memory never waits: without this, a walk would leave nobody else a turn.
    await checkpoint()
    try:
        entries = await files.ls(directory)
    except OSError:
        if must:
            raise
        return []
    if gitignore:
        rules = await rules.entering(files, directory, entries)
    seen = (entry for entry in reversed(entries) if not entry.is_link and not rules.ignores(entry))
    return [(entry, rules) for entry in seen]
