"""Files and directories for nobody but the user whose process makes them, whatever the umask."""

import os
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["is_private", "make_parents", "private_directory"]


def private_directory(path: Path) -> bool:
    """Make the directory, if it is not there; whether it is this user's alone.

    In a place where everybody can write, somebody else may have put one there first, or a link: then
    it is not, and must not be used.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    if _is_own(path, without=0o022):
        path.chmod(0o700)  # Others could look into it, and put nothing there.
    return is_private(path)


def is_private(path: Path) -> bool:
    """Whether it is a directory, and no link to one, that nobody else can look into."""
    return _is_own(path, without=0o077)


def _is_own(path: Path, *, without: int) -> bool:
    """Whether it is this user's directory, with none of these bits in its mode."""
    try:
        found = path.lstat()
    except OSError:
        return False
    if os.name != "posix":
        return stat.S_ISDIR(found.st_mode)
    own = found.st_uid == os.geteuid() and not found.st_mode & without
    return stat.S_ISDIR(found.st_mode) and own


def make_parents(path: Path) -> None:
    """Make the directories above a file that are missing, for this user alone; others stay."""
    missing = []
    for parent in path.parents:
        if parent.exists():
            break
        missing.append(parent)
    for parent in reversed(missing):
        parent.mkdir(mode=0o700, exist_ok=True)
