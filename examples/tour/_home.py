"""Where the tour keeps what must outlive its server: one private folder for each person."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.tour._project import write_project
from toolwright.cli._state import state_directory
from toolwright.errors import UsageError

__all__ = ["open_home", "tour_folder"]


def tour_folder() -> Path:
    """`toolwright-tour` beside the state directory of the command line, in which no command may write."""
    return state_directory().with_name("toolwright-tour")


@contextmanager
def open_home(folder: Path, *, afresh: bool) -> Iterator[Path]:
    """The folder with the project in it, for this process alone; what was done before is kept.

    Args:
        folder: Made, and readable by nobody else.
        afresh: Remove all that was kept first.
    """
    _make_private(folder)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"Another tour already runs in {folder}; end it first.") from None
        home = folder / "kept"
        if afresh:
            shutil.rmtree(home, ignore_errors=True)
        if not (home / "till").exists():
            _put_project(home)
        yield home


def _make_private(folder: Path) -> None:
    for missing in reversed([p for p in (folder, *folder.parents) if not p.exists()]):
        missing.mkdir(mode=0o700)
    if folder.stat().st_uid != os.getuid():
        raise UsageError(
            f"{folder} belongs to somebody else; set XDG_STATE_HOME to a folder of yours."
        )
    folder.chmod(0o700)


def _put_project(home: Path) -> None:
    """Whole or not at all: a start that is interrupted leaves no half of it."""
    home.mkdir(mode=0o700, exist_ok=True)
    begun = home / "till.begun"
    shutil.rmtree(begun, ignore_errors=True)
    write_project(begun)
    begun.rename(home / "till")
