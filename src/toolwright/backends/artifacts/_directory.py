"""Bytes of artifacts in a directory of this machine.

Whoever may have written there since, no link is followed: every folder is opened in the one above it.
"""

import contextlib
import errno
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from toolwright._private import close_to_others, demand_own_way
from toolwright.backends._own_paths import hide_directory
from toolwright.backends.artifacts._blobs import DATA
from toolwright.concurrency import in_io_thread
from toolwright.errors import StoreError

__all__ = ["DirectoryBlobs"]

T = TypeVar("T")
_TRIES = 100
"""How often in a row others may remove an empty folder while something is put into it."""
_HAS_DESCRIPTORS = os.open in os.supports_dir_fd
_LINK_FOLLOWS = os.link not in os.supports_follow_symlinks
"""Where it cannot be told not to."""
_LISTED = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# Those above need not be readable, only to be passed.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | _LISTED | getattr(os, "O_NOFOLLOW", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FILE |= getattr(os, "O_BINARY", 0)


class DirectoryBlobs:
    """Each key is a file under `root`, which is made on first use and is no command's to see."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._given = Path(root)
        self._root = hide_directory(root)

    async def create(self, key: str, data: bytes) -> bool:
        """Store whole or not at all; False when the key is taken."""
        return await in_io_thread(self._with_own_root, self._create, self._root / key, data)

    async def get(self, key: str) -> bytes | None:
        """What is stored, or None."""
        return await in_io_thread(self._with_own_root, _read, self._root / key)

    async def children(self, folder: str) -> list[str]:
        """The names right below `folder`, of keys and of folders, sorted."""
        return await in_io_thread(self._with_own_root, _names, self._root / folder)

    async def delete(self, key: str) -> None:
        """Forget it; it may be gone already."""
        await in_io_thread(self._with_own_root, self._delete, self._root / key)

    def uri(self, key: str) -> str:
        """An address that people and other programs can use."""
        return (self._root / key).as_uri()

    def _with_own_root(self, act: Callable[..., T], path: Path, *more: Any) -> T:
        """What `act` does with a path, unless somebody else may have put there what is on the way."""
        try:
            demand_own_way(self._given)
            demand_own_way(path.parent)
        except OSError as error:
            raise StoreError(f"Artifacts are not kept in {str(self._given)!r}: {error}") from error
        return act(path, *more)

    def _create(self, path: Path, data: bytes) -> bool:
        try:
            staged = self._staged(path)
            try:
                _write(staged, data)
                _link(staged, path)
            finally:
                self._delete(staged)
        except FileExistsError:
            return False
        except OSError as error:
            raise StoreError(f"Cannot store {str(path)!r}: {error}") from error
        return True

    def _staged(self, path: Path) -> Path:
        """Where a file is written before it is put in its place: beside the bytes of its folder.

        Should this process be killed, it is taken for bytes without a record, and deletion finds it.
        """
        folder = self._root / DATA / path.relative_to(self._root).parent
        if path.is_relative_to(self._root / DATA):
            folder = path.parent
        return folder / f".new-{uuid.uuid4().hex}"

    def _delete(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError), _opened(path.parent) as (folder, at):
            os.unlink(at(path), dir_fd=folder)
        # Up to the first folder that has something in it, or that another has just removed.
        with contextlib.suppress(OSError):
            for empty in path.parents[: path.parents.index(self._root)]:
                with _opened(empty.parent) as (folder, at):
                    os.rmdir(at(empty), dir_fd=folder)


@contextlib.contextmanager
def _opened(
    folder: Path, *, make: bool = False
) -> Iterator[tuple[int | None, Callable[[Path], str]]]:
    """A descriptor of a folder, to which no link leads, and how to name what is in it.

    Where there are no such descriptors, as on Windows, names are whole paths.
    """
    if not _HAS_DESCRIPTORS:
        if make:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield None, str
        return
    here = os.open(folder.anchor, _FOLDER)
    try:
        for name in folder.parts[1:]:
            below = _entered(here, name, make)
            os.close(here)
            here = below
        yield here, lambda path: path.name
    except NotADirectoryError as error:
        raise OSError(
            errno.ELOOP, "a link or a file is in the place of a folder", str(folder)
        ) from error
    finally:
        os.close(here)


def _entered(folder: int, name: str, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=folder)
        os.chmod(name, 0o700, dir_fd=folder)  # An umask can take one's own rights, too.
    return os.open(name, _FOLDER, dir_fd=folder)


def _link(source: Path, path: Path) -> None:
    """Put a file in its place: it appears whole, and never replaces what is there."""

    def link() -> None:
        with _opened(source.parent) as (theirs, at), _opened(path.parent, make=True) as (ours, to):
            os.link(
                at(source),
                to(path),
                src_dir_fd=theirs,
                dst_dir_fd=ours,
                follow_symlinks=_LINK_FOLLOWS,
            )

    _put(link)


def _write(path: Path, data: bytes) -> None:
    """Write a new file, for nobody but this user."""
    new = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)

    def make() -> int:
        with _opened(path.parent, make=True) as (folder, at):
            return os.open(at(path), new, 0o600, dir_fd=folder)

    with os.fdopen(_put(make), "wb") as file:
        close_to_others(file.fileno())
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _put(act: Callable[[], T]) -> T:
    """Do what makes a folder and puts something there.

    The folder may be removed as soon as it is made, by whoever deletes the last file beside it.
    """
    for _ in range(_TRIES - 1):
        with contextlib.suppress(FileNotFoundError):
            return act()
    return act()


def _read(path: Path) -> bytes | None:
    try:
        with _opened(path.parent) as (folder, at):
            descriptor = os.open(at(path), _FILE, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"Cannot read {str(path)!r}: {error}") from error


def _names(folder: Path) -> list[str]:
    try:
        with _opened(folder) as (descriptor, _):
            if descriptor is None:
                return sorted(os.listdir(folder))
            listed = os.open(".", _LISTED, dir_fd=descriptor)
            try:
                return sorted(os.listdir(listed))
            finally:
                os.close(listed)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"Cannot list {str(folder)!r}: {error}") from error
