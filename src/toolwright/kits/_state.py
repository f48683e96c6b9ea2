"""Where sessions are kept that nobody has chosen a place for: out of reach of an agent's commands."""

import hashlib
import os
from pathlib import Path

from toolwright.backends import sqlite_address
from toolwright.backends._own_paths import hide_directory

__all__ = ["state_directory", "store_of"]

_LONGEST_NAME = 200
"""Bytes; with the digest and the endings that SQLite adds, a file's name may have 255."""


def state_directory() -> Path:
    """`$XDG_STATE_HOME/toolwright`, which is `~/.local/state/toolwright` unless it is set."""
    base = os.environ.get("XDG_STATE_HOME", "")
    # The specification has relative paths ignored.
    root = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    hide_directory(root / "toolwright")
    return root / "toolwright"


def store_of(kind: str, directory: Path) -> str:
    """The address of the store that belongs to a directory, and does not lie in it."""
    digest = hashlib.sha256(os.fsencode(directory)).hexdigest()[:8]
    name = f"{_short(directory.name) or 'root'}-{digest}.db"
    return sqlite_address(state_directory() / kind / name)


def _short(name: str) -> str:
    """The name, or as much of it as leaves room; the digest tells apart what begins alike."""
    whole = os.fsencode(name)
    return name if len(whole) <= _LONGEST_NAME else whole[:_LONGEST_NAME].decode(errors="ignore")
