"""Which paths `.gitignore` files keep out of a search."""

from collections.abc import Iterable
from dataclasses import dataclass

from toolwright.backends.files._files import Entry, Files
from toolwright.backends.files._paths import parent_of
from toolwright.backends.files._text import read_text

try:
    from pathspec import GitIgnoreSpec
except ImportError as error:
    raise ImportError("Searching files needs an extra: pip install 'toolwright[files]'") from error

__all__ = ["NEVER_SEARCHED", "IgnoreRules", "rules_above"]

NEVER_SEARCHED = (".git", ".hg", ".svn", ".jj")
"""Directories of version control systems; what is in them is not for reading."""
_FILE = ".gitignore"


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules in force in a directory, outermost first, each with the directory it is from."""

    layers: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def ignores(self, entry: Entry) -> bool:
        """Whether the innermost rule that speaks of this entry says to leave it out."""
        if entry.is_dir and entry.path.rpartition("/")[2] in NEVER_SEARCHED:
            return True
        for directory, spec in reversed(self.layers):
            relative = entry.path[len(directory.rstrip("/")) + 1 :]
            verdict = spec.check_file(relative + "/" if entry.is_dir else relative).include
            if verdict is not None:
                return verdict
        return False

    async def entering(self, files: Files, directory: str, entries: list[Entry]) -> "IgnoreRules":
        """The rules inside `directory`, which has these entries."""
        names = {entry.path.rpartition("/")[2] for entry in entries if not entry.is_link}
        # A repository inside another is not subject to the outer one's rules.
        layers = () if ".git" in names else self.layers
        if _FILE not in names:
            return IgnoreRules(layers)
        spec = GitIgnoreSpec.from_lines(await _lines(files, directory))
        return IgnoreRules((*layers, (directory, spec)))


async def rules_above(files: Files, start: str) -> list[str]:
    """The rules of the directories around `start`, written as one `.gitignore` at the top.

    Empty when they would leave out `start` itself: whoever names an ignored directory means it.
    """
    rules: list[str] = []
    for directory in _ancestors(start):
        names = {entry.path.rpartition("/")[2] for entry in await files.ls(directory)}
        if ".git" in names:
            rules = []
        if _FILE in names:
            rules += [_rebased(line, directory) for line in await _lines(files, directory)]
    spec = GitIgnoreSpec.from_lines(rules)
    return [] if spec.check_file(start[1:] + "/").include else rules


def _ancestors(path: str) -> list[str]:
    """The directories above `path`, from the top."""
    found: list[str] = []
    while path != "/":
        path = parent_of(path)
        found.append(path)
    return found[::-1]


async def _lines(files: Files, directory: str) -> Iterable[str]:
    try:
        loaded = await files.read(f"{directory.rstrip('/')}/{_FILE}")
    except OSError:
        return []
    text = read_text(loaded.data).text
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _rebased(line: str, directory: str) -> str:
    """A rule of `directory`, as a rule of the top directory that means the same."""
    if directory == "/":
        return line
    sign, pattern = ("!", line[1:]) if line.startswith("!") else ("", line)
    anchored = "/" in pattern.rstrip("/ ")
    return (
        f"{sign}{directory}/{pattern.lstrip('/')}"
        if anchored
        else f"{sign}{directory}/**/{pattern}"
    )
