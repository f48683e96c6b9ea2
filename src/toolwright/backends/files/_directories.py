"""List the directories below one of this machine, without looking at the files in them."""

import os

from toolwright.backends._own_paths import closed_below
from toolwright.backends.files._confined import Closed, open_directory, open_file
from toolwright.backends.files._files import Entry
from toolwright.backends.files._ignore import IGNORE_FILE, IgnoreRules, rules_in

__all__ = ["directories_below"]

_MAX_RULES = 1024 * 1024


def directories_below(root: str, start: str, above: list[str] | None) -> list[str]:
    """All directories below `start`, empty ones too; `walk` gives the same ones.

    With `above`, the rules of the directories around `start`, those that `.gitignore` files name are
    left out.
    """
    found: list[str] = []
    waiting = [(start, IgnoreRules().adding("/", above or []))]
    closed = closed_below(root, to_writing=False)
    while waiting:
        directory, rules = waiting.pop()
        try:
            names, has_rules = _inside(root, directory, closed)
        except OSError:
            continue
        if has_rules and above is not None:
            rules = rules.adding(directory, _rules(root, f"{directory.rstrip('/')}/{IGNORE_FILE}"))
        for name in names:
            path = f"{directory.rstrip('/')}/{name}"
            if not rules.ignores(Entry(path=path, is_dir=True)):
                found.append(path)
                waiting.append((path, rules))
    return found


def _inside(root: str, directory: str, closed: Closed) -> tuple[list[str], bool]:
    """The directories in a directory, and whether it has a file of rules."""
    names: list[str] = []
    has_rules = False
    with (
        open_directory(root, directory, closed=closed) as descriptor,
        os.scandir(descriptor) as entries,
    ):
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                names.append(os.fsencode(entry.name).decode("utf-8", "replace"))
            elif entry.name == IGNORE_FILE:
                has_rules = entry.is_file(follow_symlinks=False)
    return names, has_rules


def _rules(root: str, path: str) -> list[str]:
    try:
        with open_file(root, path) as descriptor, open(descriptor, "rb", closefd=False) as file:
            return rules_in(file.read(_MAX_RULES))
    except OSError:
        return []
