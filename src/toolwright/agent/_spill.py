"""Where outputs that are too long to be read at once are kept: a private directory for each session."""

import contextlib
import hashlib
import os
import shutil
import stat
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from toolwright._private import (
    close_to_others,
    is_private,
    make_private_directory,
    private_directory,
)
from toolwright.errors import ToolError
from toolwright.messages import Scope

__all__ = ["Spill"]

KEPT_SECONDS = 7 * 24 * 3600.0
"""What nobody has added to for this long is removed when something else is kept."""
CLEAN_SECONDS = 3600.0
"""How often old ones are looked for, by whichever process of the user then keeps something."""
_MARK = ".cleaned"
"""Changed whenever somebody begins to look."""
_AT_ONCE = 100
_PAUSE = 0.01


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
        self._making = threading.Lock()

    @property
    def used(self) -> bool:
        """Whether anything has been kept."""
        return self._directory is not None

    def look(self) -> None:
        """Find what earlier runs of the session have kept."""
        # In whichever of them: guests that could write to one may have come or gone since.
        found = (root / self._name() for root in _roots() if is_private(root))
        self._directory = next((path for path in found if is_private(path)), None)

    def write(self, text: str, suffix: str = "txt") -> str:
        """Keep `text`; the name to read it by."""
        with self._making:  # Results of calls that ran together are kept by several threads.
            if self._directory is None:
                self._directory = self._make()
        name = f"output-{uuid.uuid4().hex[:8]}.{suffix}"
        # Written as bytes: line endings stay as they are, and so do lone surrogates.
        data = text.encode("utf-8", "surrogatepass")
        try:
            _write_new(self._directory / name, data)
        except FileNotFoundError:
            # It was old, and another process has removed it since this run found it.
            self._directory = self._make()
            _write_new(self._directory / name, data)
        return name

    def read(self, name: str) -> str:
        """What was kept under `name`."""
        path = None if self._directory is None else self._directory / Path(name).name
        data = None if path is None else _read_own(path)
        if data is None:
            raise ToolError(
                f"There is no stored output {name!r} on this machine: use a name from a truncation "
                "note, or call the tool again if its output was removed meanwhile, or was kept on "
                "another machine."
            )
        return data.decode("utf-8", "surrogatepass")

    def share(self, other: "Spill") -> None:
        """Let another session have what this one has kept, also when this one is deleted."""
        self.look()
        if self._directory is None:
            return
        other._directory = target = other._make()
        # Removed meanwhile, all or one, or there already: nobody can be helped, or need be.
        with contextlib.suppress(FileNotFoundError):
            for file in self._directory.iterdir():
                with contextlib.suppress(FileNotFoundError, FileExistsError):
                    _link_or_copy(file, target / file.name)

    def remove(self) -> None:
        """Forget all that the session has kept."""
        self.look()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def _make(self) -> Path:
        root = _root()
        if _is_time_to_clean(root):
            # Not waited for: there may be tens of thousands, and a run must not be late for them.
            start_thread(partial(_remove_old, root))
        directory = root / self._name()
        make_private_directory(directory)
        if not self._stored:
            weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        return directory

    def _name(self) -> str:
        scope = self._scope
        key = "\0".join((scope.app_name, scope.user_id, scope.session_id, self._born))
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def start_thread(target: Callable[[], None]) -> None:
    """Run `target` in a thread that does not hold up the interpreter's exit."""
    threading.Thread(target=target, name="toolwright cleaner", daemon=True).start()


def _root() -> Path:
    """The user's own directory for all sessions; one that somebody else has put there is not used."""
    # Loaded when something is kept for the first time.
    from toolwright._temporary import temporary_directory  # noqa: PLC0415

    root = next(_roots(), None)
    return root if root is not None and private_directory(root) else temporary_directory()


def _roots() -> Iterator[Path]:
    """Where it may be: not where commands in a sandbox can write."""
    from toolwright._temporary import temporary_roots  # noqa: PLC0415

    user = os.getuid() if hasattr(os, "getuid") else 0
    return (root / f"toolwright-{user}" for root in temporary_roots())


def _write_new(path: Path, data: bytes) -> None:
    new = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, new, 0o600), "wb") as file:
        close_to_others(file.fileno())
        file.write(data)


def _link_or_copy(file: Path, to: Path) -> None:
    """Give a file a second name, or a copy where there are no links, or no more of them."""
    follow = os.link not in os.supports_follow_symlinks
    try:
        os.link(file, to, follow_symlinks=follow)
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError:  # Of which there are many: another disk, too many links, a file system without.
        shutil.copyfile(file, to, follow_symlinks=False)


def _read_own(path: Path) -> bytes | None:
    """A file that was kept, and nothing that a link in its place leads to."""
    if not is_private(path.parent):
        return None
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None


def _is_time_to_clean(root: Path) -> bool:
    """Whether nobody has begun to within the hour; if so, this process does now."""
    mark = root / _MARK
    with contextlib.suppress(OSError):
        if time.time() - mark.stat().st_mtime < CLEAN_SECONDS:
            return False
    try:
        mark.touch(mode=0o600)
    except OSError:
        return False  # A full disk, or no right to write: who keeps something will say so.
    return True


def _remove_old(root: Path) -> None:
    """Remove what is old, some at a time, so that a slow disk is not kept busy."""
    # Another process may remove any of it at the same moment.
    with contextlib.suppress(OSError), os.scandir(root) as found:
        for number, entry in enumerate(found, 1):
            with contextlib.suppress(OSError):
                if entry.is_dir(follow_symlinks=False) and _is_old(entry):
                    shutil.rmtree(entry.path, ignore_errors=True)
            if not number % _AT_ONCE:
                time.sleep(_PAUSE)


def _is_old(entry: "os.DirEntry[str]") -> bool:
    return time.time() - entry.stat(follow_symlinks=False).st_mtime > KEPT_SECONDS
