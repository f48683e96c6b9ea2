"""Where outputs that are too long to be read at once are kept: a private directory for each session."""

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
import uuid
import weakref
from pathlib import Path

from toolwright._private import private_directory
from toolwright.errors import ToolError
from toolwright.messages import Scope

__all__ = ["Spill"]

KEPT_SECONDS = 7 * 24 * 3600.0
"""What nobody has added to for this long is removed when something else is kept."""


class Spill:
    """The long outputs of one session; its directory is made when it is first needed.

    A session that is stored finds them again after a restart, on the same machine; those of a run
    that nobody stores go with it. A session of the same name in another store, or made after this
    one was deleted, was not `born` at the same moment and has its own.
    """

    def __init__(self, scope: Scope, born: float | None) -> None:
        self._scope = scope
        self._stored = born is not None
        self._born = str(born) if born is not None else uuid.uuid4().hex
        self._directory: Path | None = None

    @property
    def used(self) -> bool:
        """Whether anything has been kept."""
        return self._directory is not None

    def look(self) -> None:
        """Find what earlier runs of the session have kept."""
        directory = _root() / self._name()
        self._directory = directory if directory.is_dir() else None

    def write(self, text: str, suffix: str = "txt") -> str:
        """Keep `text`; the name to read it by."""
        if self._directory is None:
            self._directory = self._make()
        name = f"output-{uuid.uuid4().hex[:8]}.{suffix}"
        # Written as bytes: line endings stay as they are, and so do lone surrogates.
        (self._directory / name).write_bytes(text.encode("utf-8", "surrogatepass"))
        return name

    def read(self, name: str) -> str:
        """What was kept under `name`."""
        path = None if self._directory is None else self._directory / Path(name).name
        if path is None or not path.is_file():
            raise ToolError(
                f"There is no stored output {name!r} on this machine: use a name from a truncation "
                "note, or call the tool again if its output was removed meanwhile, or was kept on "
                "another machine."
            )
        return path.read_bytes().decode("utf-8", "surrogatepass")

    def share(self, other: "Spill") -> None:
        """Let another session have what this one has kept, also when this one is deleted."""
        self.look()
        if self._directory is None:
            return
        other._directory = target = other._make()
        for file in self._directory.iterdir():
            # Removed meanwhile, or there already: nobody can be helped, or need be.
            with contextlib.suppress(FileNotFoundError, FileExistsError):
                try:
                    os.link(file, target / file.name)
                except PermissionError:
                    shutil.copyfile(file, target / file.name)

    def remove(self) -> None:
        """Forget all that the session has kept."""
        self.look()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def _make(self) -> Path:
        root = _root()
        _remove_old(root)
        directory = root / self._name()
        directory.mkdir(mode=0o700, exist_ok=True)
        if not self._stored:
            weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        return directory

    def _name(self) -> str:
        scope = self._scope
        key = "\0".join((scope.app_name, scope.user_id, scope.session_id, self._born))
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _root() -> Path:
    """The user's own directory for all sessions; one that somebody else has put there is not used."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    root = Path(tempfile.gettempdir()) / f"toolwright-{user}"
    if private_directory(root):
        return root
    return Path(tempfile.mkdtemp(prefix="toolwright-"))


def _remove_old(root: Path) -> None:
    for directory in root.iterdir():
        # Another process may remove it at the same moment.
        with contextlib.suppress(FileNotFoundError):
            if time.time() - directory.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(directory, ignore_errors=True)
