"""Where the command line keeps what must outlive it: private files of the person who runs it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from toolwright._private import demand_own_way, make_parents, make_private_file
from toolwright.backends import sqlite_path
from toolwright.errors import UsageError
from toolwright.kits._state import state_directory, store_of

__all__ = ["default_store", "has_tables", "history_file", "make_private", "state_directory"]


def default_store() -> str:
    """The address of the sessions of agents that say nothing about a store, by working directory.

    Calls run in the working directory, so a session is only continued in the one it was begun in.
    """
    return store_of("sessions", Path.cwd())


def history_file() -> Path:
    """Where the lines typed into a chat are kept."""
    path = state_directory() / "chat-history"
    make_private(path)
    return path


def make_private(path: Path) -> None:
    """Make the file and the directories above it, for nobody but this person; what exists stays."""
    make_parents(path)
    make_private_file(path)


def has_tables(address: str, component: str) -> bool:
    """Whether the database at `address` is there with this component's tables in it.

    A database on another machine is taken to be there: it says itself when it is not.
    """
    path = sqlite_path(address)
    if path is None:
        return True
    if not path.is_file():
        return False
    try:
        demand_own_way(path)
    except OSError as error:
        raise UsageError(f"The database {str(path)!r} is not used: {error}") from error
    query = "SELECT 1 FROM toolwright_schema WHERE component = ?"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute(query, (component,)).fetchone() is not None
    except sqlite3.Error as error:
        # Damaged or busy is for the store itself to tell.
        return "no such table" not in str(error)
