"""Temporary directories of one process, which the next one removes if that process was killed."""

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import threading
import uuid
from collections.abc import Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Protocol

__all__ = [
    "forget_guests",
    "guest_places",
    "keep_out_of",
    "our_temporary_directories",
    "passing_directory",
    "remove_leftovers",
    "remove_tree",
    "temporary_directory",
    "temporary_root",
    "temporary_roots",
]

_NAME = re.compile(r"toolwright-([0-9a-f]{1,8})-([0-9a-f]{1,16})-([0-9a-f]{6})-[a-z0-9_]{8}")
"""Process, when it started, where its number counts, and chance."""
_OURS = "toolwright-"
"""How the names of all our temporary directories begin."""
_DIRECTORY = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_OTHER_ROOTS = ("/var/tmp", "$XDG_RUNTIME_DIR", "$HOME/.cache")  # noqa: S108
"""Where temporary files are made if guests can write to the usual place, the first that will do."""
_guests: list[Path] = []
"""Real directories that guests of this process can write to."""
_were_guests: dict[Path, None] = {}
"""Those of guests that have gone: the links that they made have not."""
_roots: set[Path] = set()
"""Where this process has made temporary directories."""


class _Leave(Protocol):
    def __call__(self, *, refused: bool = False) -> None: ...


def keep_out_of(places: Iterable[Path]) -> _Leave:
    """Make no temporary files in these real directories, until what is returned is called.

    A guest that was `refused` has never been there.
    """
    added = list(places)
    _guests.extend(added)
    return partial(_leave, added)


def forget_guests() -> None:
    """Forget all guests, as at the start of a program: for tests, which are many programs in one."""
    _guests.clear()
    _were_guests.clear()


def guest_places(*, gone: bool = False) -> tuple[Path, ...]:
    """The real directories that guests of this process can write to; those that could, with `gone`."""
    return tuple(dict.fromkeys((*_guests, *_were_guests) if gone else _guests))


def _leave(places: list[Path], *, refused: bool = False) -> None:
    while places:
        place = places.pop()
        with contextlib.suppress(ValueError):  # Whoever forgets all of them forgets these, too.
            if not refused and place in _guests:
                _were_guests[place] = None
            _guests.remove(place)


def temporary_root() -> Path:
    """Where temporary files are made: the usual place, unless a guest of ours can write to it.

    `FileNotFoundError` when there is no other.
    """
    if (root := next(temporary_roots(), None)) is not None:
        return root
    raise FileNotFoundError(
        f"Commands in a sandbox can write to {tempfile.gettempdir()!r}, where this program keeps "
        "temporary files, and there is no other place for them; set TMPDIR to a directory outside of "
        "the workspace."
    )


def temporary_roots() -> Iterator[Path]:
    """All places that would do, the best first."""
    for name in (tempfile.gettempdir(), *map(os.path.expandvars, _OTHER_ROOTS)):
        if os.access(name, os.W_OK | os.X_OK) and not _is_a_guests(Path(name).resolve()):
            yield Path(name)


def our_temporary_directories(place: Path) -> list[Path]:
    """Those below a real directory, of this process and, in the usual place, of others that run."""
    roots = {Path(tempfile.gettempdir()).resolve(), *_roots}
    return [
        path for root in roots if root == place or place in root.parents for path in _ours_in(root)
    ]


def _ours_in(root: Path) -> list[Path]:
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        ours = [entry for entry in entries if _is_in_use(entry.name)]
        return [root / entry.name for entry in ours if entry.is_dir(follow_symlinks=False)]
    return []


def _is_in_use(name: str) -> bool:
    """Whether a process that runs has made it; anybody may give a directory such a name."""
    if not (found := _NAME.fullmatch(name)):
        return name in (f"{_OURS}{_user()}", f"{_OURS}bell-{_user()}")
    pid, started, place = int(found[1], 16), int(found[2], 16), found[3]
    return place != _place() or _is_running(pid, started)


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_a_guests(place: Path) -> bool:
    return any(place == guest or guest in place.parents for guest in _guests)


def temporary_directory() -> Path:
    """A new directory for this process alone, which has to remove it.

    Whoever is killed cannot: what such processes of the same user left is removed along the way,
    once in each process.
    """
    pid = os.getpid()
    prefix = f"{_OURS}{pid:x}-{_started(pid) or 0:x}-{_place()}-"
    directory = Path(tempfile.mkdtemp(prefix=prefix, dir=temporary_root()))
    directory.chmod(0o700)  # An umask can take one's own rights, too.
    _roots.add(directory.parent.resolve())
    _sweep_once(directory.parent, pid)
    return directory


@contextlib.contextmanager
def passing_directory() -> Iterator[Path]:
    """A temporary directory that is removed at the end of the block."""
    directory = temporary_directory()
    try:
        yield directory
    finally:
        remove_tree(directory)


def remove_tree(directory: str | Path) -> None:
    """Remove a directory with all in it, whatever a guest did to keep it: closed or very deep ones.

    No link is followed, and what cannot be removed stays. Each directory is taken out to the top
    before it is emptied, so that neither paths nor calls become long.
    """
    with contextlib.suppress(OSError):
        _make_accessible(directory, None)
        top = os.open(directory, _DIRECTORY)
        try:
            waiting = _emptied(top, top)
            while waiting:
                name = waiting.pop()
                inner = os.open(name, _DIRECTORY, dir_fd=top)
                try:
                    waiting += _emptied(inner, top)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
        finally:
            os.close(top)
        os.rmdir(directory)


def _emptied(inner: int, top: int) -> list[str]:
    """Remove the files of a directory and move its directories to the top: their names there."""
    moved = []
    with os.scandir(inner) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                _make_accessible(entry.name, inner)
                name = uuid.uuid4().hex
                os.rename(entry.name, name, src_dir_fd=inner, dst_dir_fd=top)
                moved.append(name)
            else:
                os.unlink(entry.name, dir_fd=inner)
    return moved


def _make_accessible(name: str | Path, parent: int | None) -> None:
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
        return
    # Through a descriptor of the directory itself, so that no link can come between.
    descriptor = os.open(name, _DIRECTORY | os.O_PATH, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{descriptor}", 0o700)
    finally:
        os.close(descriptor)


@cache
def _sweep_once(root: Path, pid: int) -> None:
    # In a thread: packages that were installed for a sandbox are thousands of files.
    threading.Thread(target=remove_leftovers, args=(root,), daemon=True).start()


def remove_leftovers(root: Path) -> None:
    """Remove the directories in `root` that this user's processes have left, and nothing else.

    The process must have run under the same start of the same machine, or container: elsewhere its
    number means nothing.
    """
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(root)):
            if (found := _NAME.fullmatch(entry.name)) and _is_own_directory(entry):
                pid, started, place = int(found[1], 16), int(found[2], 16), found[3]
                if place == _place() and not _is_running(pid, started):
                    remove_tree(entry.path)


def _is_own_directory(entry: os.DirEntry[str]) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _is_running(pid: int, started: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    # Its number may be another's by now; where that cannot be known, it is left alone.
    return _started(pid) in (None, started) or not started


def _started(pid: int) -> int | None:
    """When a process started, in ticks since the machine did; None where that is not told."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


@cache
def _place() -> str:
    """Where numbers of processes count: this start of this machine, and the container."""
    known = []
    with contextlib.suppress(OSError):
        known.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        known.append(os.readlink("/proc/self/ns/pid"))
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:6]
