"""Files in a directory of this machine, confined to it."""

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from toolwright._sealed import Sealed
from toolwright.backends._own_paths import closed_below
from toolwright.backends._truncate import format_size
from toolwright.backends.files._confined import open_directory, open_file, open_parent
from toolwright.backends.files._directories import directories_below
from toolwright.backends.files._files import ABSENT, Entry, FileChanged, Loaded, version_of
from toolwright.backends.files._find import Found, Wanted, find_by_walking
from toolwright.backends.files._grep import Grepped, Query, grep_by_reading
from toolwright.backends.files._ignore import rules_above
from toolwright.backends.files._locks import PathLocks
from toolwright.backends.files._paths import tree_order, virtual_path
from toolwright.backends.files._ripgrep import Ripgrep, ripgrep_program
from toolwright.concurrency import in_io_thread
from toolwright.errors import UsageError

__all__ = ["FilesystemBackend"]

T = TypeVar("T")
_MAX_FILE = 64 * 1024 * 1024
"""Bytes of a file that is read or edited whole; searches have no such limit."""


class FilesystemBackend(Sealed):
    """Keeps files in `root_dir`; the path `/a.txt` is the file `a.txt` in it.

    Nothing outside is read or written. Symbolic links are followed as long as they stay inside.
    """

    def __init__(self, root_dir: str | os.PathLike[str], *, ripgrep: bool = True) -> None:
        root = Path(root_dir).expanduser().resolve()
        if not root.is_dir():
            raise UsageError(f"{str(root_dir)!r} is not a directory; create it, or name another.")
        self.root = str(root)
        program = ripgrep_program(self.root) if ripgrep else None
        self._ripgrep = Ripgrep(program, self.root) if program else None
        self._locks = PathLocks(f"directory:{self.root}")

    async def ls(self, path: str) -> list[Entry]:
        """What is directly in a directory."""
        return await _in_thread(_ls, self.root, virtual_path(path))

    async def read(self, path: str) -> Loaded:
        """A file's bytes."""
        return await _in_thread(_load, self.root, virtual_path(path))

    async def write(self, path: str, data: bytes, *, expected: str | None = None) -> str:
        """Replace a file in one step; its permissions stay, and missing directories are made."""
        path = virtual_path(path)
        async with self._locks.hold(path):
            return await _in_thread(_write, self.root, path, data, expected)

    async def find(self, wanted: Wanted) -> Found:
        """Files that match, with ripgrep where it is installed."""
        if self._ripgrep is None:
            return await find_by_walking(self, wanted)
        paths, complete = await self._ripgrep.find(self, wanted)
        entries = await _in_thread(_entries, self.root, paths[: wanted.details])
        folders = await self._directories(wanted) if wanted.directories else ()
        return Found(paths=paths, entries=entries, directories=folders, complete=complete)

    async def grep(self, query: Query) -> Grepped:
        """Lines that match, with ripgrep where it is installed."""
        if self._ripgrep is None:
            return await grep_by_reading(self, query)
        return await self._ripgrep.grep(self, query)

    async def _directories(self, wanted: Wanted) -> tuple[str, ...]:
        above = await rules_above(self, wanted.start) if wanted.gitignore else None
        found = await _in_thread(directories_below, self.root, wanted.start, above)
        return tuple(sorted(filter(wanted.matches, found), key=tree_order))


async def _in_thread(func: Callable[..., T], *args: object) -> T:
    return await in_io_thread(func, *args)


def _ls(root: str, path: str) -> list[Entry]:
    closed = closed_below(root, to_writing=False)
    with (
        open_directory(root, path, closed=closed) as descriptor,
        os.scandir(descriptor) as found,
    ):
        entries = []
        for item in found:
            with suppress(FileNotFoundError):  # It has gone since the directory was read.
                entries.append(_entry(path, item.name, item.stat(follow_symlinks=False)))
    return sorted(entries, key=lambda entry: entry.path)


def _load(root: str, path: str) -> Loaded:
    data = _read(root, path)
    return Loaded(data=data, version=version_of(data))


def _read(root: str, path: str) -> bytes:
    closed = closed_below(root, to_writing=False)
    with (
        open_file(root, path, closed=closed) as descriptor,
        open(descriptor, "rb", closefd=False) as file,
    ):
        data = file.read(_MAX_FILE + 1)
    if len(data) > _MAX_FILE:
        raise OSError(errno.EFBIG, f"larger than {format_size(_MAX_FILE)}; search it with grep")
    return data


def _write(root: str, path: str, data: bytes, expected: str | None) -> str:
    closed = closed_below(root, to_writing=True)
    with open_parent(root, path, create=True, closed=closed) as (parent, name):
        if not name:
            raise IsADirectoryError(path)
        mode = _checked_mode(root, path, parent, name, expected)
        temporary = f".{name[:200]}.{secrets.token_hex(6)}.tmp"
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=parent
        )
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
            _put_in_place(parent, temporary, name, expected)
            return version_of(data)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=parent)
            raise


def _checked_mode(root: str, path: str, parent: int, name: str, expected: str | None) -> int | None:
    """The permissions to keep, after making sure that the file is the one that was expected."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        if expected not in (None, ABSENT):
            raise FileChanged(f"{path} was deleted since it was read.") from None
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(path)
    if expected == ABSENT:
        raise FileExistsError(path)
    if not status.st_mode & 0o222:
        # Replacing a file needs no right to write to it; whoever took that right away meant it.
        raise PermissionError(errno.EACCES, "the file is read-only")
    if expected is not None and version_of(_read(root, path)) != expected:
        raise FileChanged(f"{path} was changed since it was read.")
    return stat.S_IMODE(status.st_mode)


def _put_in_place(parent: int, temporary: str, name: str, expected: str | None) -> None:
    if expected == ABSENT and _linked(parent, temporary, name):
        os.unlink(temporary, dir_fd=parent)
    else:
        os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)


def _linked(parent: int, temporary: str, name: str) -> bool:
    """Give the file its name only if nobody has it; False where there are no hard links."""
    try:
        os.link(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
            return False
        raise
    return True


def _entries(root: str, paths: list[str]) -> list[Entry]:
    """Entries for files that a search has found; what has gone since is left out."""
    entries: list[Entry] = []
    base = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for path in paths:
            try:
                status = os.stat(path[1:], dir_fd=base, follow_symlinks=False)
            except OSError:
                continue
            entries.append(_entry("", path[1:], status))
    finally:
        os.close(base)
    return entries


def _entry(directory: str, name: str, status: os.stat_result) -> Entry:
    is_dir = stat.S_ISDIR(status.st_mode)
    return Entry(
        path=f"{directory.rstrip('/')}/{_shown(name)}",
        is_dir=is_dir,
        size=0 if is_dir else status.st_size,
        modified_at=datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds"),
        is_link=stat.S_ISLNK(status.st_mode),
    )


def _shown(name: str) -> str:
    """A file name that is not UTF-8, in a form that can be sent and stored."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")
