"""Which paths `.gitignore` files keep out of a search."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from toolwright.backends.files._files import Entry, Files
from toolwright.backends.files._paths import parent_of
from toolwright.backends.files._text import read_text

try:
    from pathspec import GitIgnoreSpec
except ImportError as error:
    raise ImportError("Searching files needs an extra: pip install 'toolwright[files]'") from error

__all__ = ["IGNORE_FILE", "NEVER_SEARCHED", "IgnoreRules", "rules_above", "rules_in"]

NEVER_SEARCHED = (".git", ".hg", ".svn", ".jj")
"""Directories of version control systems; what is in them is not for reading."""
IGNORE_FILE = ".gitignore"
_Rule = tuple[re.Pattern[str], bool]
"""What a rule fits, and whether that is to be ignored or, with `!`, not."""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules in force in a directory, outermost first, each with the directory it is from."""

    layers: tuple[tuple[str, tuple[_Rule, ...]], ...] = ()

    def ignores(self, entry: Entry) -> bool:
        """Whether the last rule of the innermost file that fits says to leave the entry out."""
        if entry.is_dir and entry.path.rpartition("/")[2] in NEVER_SEARCHED:
            return True
        for directory, rules in reversed(self.layers):
            relative = entry.path[len(directory.rstrip("/")) + 1 :]
            for pattern, ignored in reversed(rules):
                if _fits(pattern, relative, entry.is_dir):
                    return ignored
        return False

    def adding(self, directory: str, lines: Iterable[str]) -> "IgnoreRules":
        """These rules, and those of a file with these lines in `directory`."""
        patterns = GitIgnoreSpec.from_lines(lines).patterns
        rules = tuple(
            (pattern.regex, pattern.include)
            for pattern in patterns
            if pattern.regex is not None and pattern.include is not None
        )
        return IgnoreRules((*self.layers, (directory, rules)))

    async def entering(self, files: Files, directory: str, entries: list[Entry]) -> "IgnoreRules":
        """The rules inside `directory`, which has these entries."""
        path = f"{directory.rstrip('/')}/{IGNORE_FILE}"
        if all(entry.path != path or entry.is_link for entry in entries):
            return self
        return self.adding(directory, await _lines(files, path))


async def rules_above(files: Files, start: str) -> list[str]:
    """The rules of the directories around `start`, written as one `.gitignore` at the top.

    Empty when they would leave out `start` itself: whoever names an ignored directory means it.
    """
    rules: list[str] = []
    for directory in _ancestors(start)[:-1]:
        path = f"{directory.rstrip('/')}/{IGNORE_FILE}"
        if any(entry.path == path for entry in await files.ls(directory)):
            rules += _rebased(await _lines(files, path), directory)
    known = IgnoreRules().adding("/", rules)
    around = [Entry(path=path, is_dir=True) for path in _ancestors(start)[1:]]
    return [] if any(known.ignores(entry) for entry in around) else rules


def _fits(pattern: re.Pattern[str], relative: str, is_dir: bool) -> bool:
    """Whether a rule speaks of this very path, and not only of a directory above it.

    The group `ps_d` of pathspec's patterns is the `/` after the name that a rule ends with.
    """
    found = pattern.match(relative)
    if found is not None and found.groupdict().get("ps_d") is None:
        return True
    as_directory = pattern.match(relative + "/") if is_dir else None
    if as_directory is None or as_directory.groupdict().get("ps_d") is None:
        return False
    return as_directory.start("ps_d") == len(relative)


def _ancestors(path: str) -> list[str]:
    """The directories above `path`, from the top, and `path` itself."""
    found = [path]
    while path != "/":
        path = parent_of(path)
        found.append(path)
    return found[::-1]


async def _lines(files: Files, path: str) -> list[str]:
    try:
        return rules_in((await files.read(path)).data)
    except OSError:
        return []


def rules_in(data: bytes) -> list[str]:
    """The rules in a `.gitignore` file of these bytes."""
    text = read_text(data).text
    return [line for line in text.splitlines() if line.strip("/ ") and not line.startswith("#")]


def _rebased(lines: Iterable[str], directory: str) -> list[str]:
    """Rules of `directory`, as rules of the top directory that mean the same."""
    return list(lines) if directory == "/" else [_moved(line, directory) for line in lines]


def _moved(line: str, directory: str) -> str:
    sign, pattern = ("!", line[1:]) if line.startswith("!") else ("", line)
    anchored = "/" in pattern.rstrip("/ ")
    between = "/" if anchored else "/**/"
    return sign + directory + between + pattern.lstrip("/")
