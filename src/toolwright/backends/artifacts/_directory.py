"""Bytes of artifacts in a directory of this machine."""

import contextlib
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from toolwright._private import make_parents
from toolwright.backends.artifacts._blobs import DATA
from toolwright.concurrency import in_io_thread
from toolwright.errors import StoreError

__all__ = ["DirectoryBlobs"]

T = TypeVar("T")
_TRIES = 100
"""How often in a row others may remove an empty folder while something is put into it."""


class DirectoryBlobs:
    """Each key is a file under `root`, which is made on first use."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = Path(root).absolute()

    async def create(self, key: str, data: bytes) -> bool:
        """Store whole or not at all; False when the key is taken."""
        return await in_io_thread(self._create, self._root / key, data)

    async def get(self, key: str) -> bytes | None:
        """What is stored, or None."""
        return await in_io_thread(_read, self._root / key)

    async def children(self, folder: str) -> list[str]:
        """The names right below `folder`, of keys and of folders, sorted."""
        return await in_io_thread(_names, self._root / folder)

    async def delete(self, key: str) -> None:
        """Forget it; it may be gone already."""
        await in_io_thread(self._delete, self._root / key)

    def uri(self, key: str) -> str:
        """An address that people and other programs can use."""
        return (self._root / key).as_uri()

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
        path.unlink(missing_ok=True)
        # Up to the first folder that has something in it, or that another has just removed.
        with contextlib.suppress(OSError):
            for folder in path.parents[: path.parents.index(self._root)]:
                folder.rmdir()


def _link(source: Path, path: Path) -> None:
    """Put a file in its place: it appears whole, and never replaces what is there."""
    _put(path, lambda: os.link(source, path))


def _write(path: Path, data: bytes) -> None:
    """Write a new file, for nobody but this user."""
    new = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with os.fdopen(_put(path, lambda: os.open(path, new, 0o600)), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _put(path: Path, act: Callable[[], T]) -> T:
    """Make the folder of `path`, then `act`.

    The folder may be removed as soon as it is made, by whoever deletes the last file beside it.
    """
    for _ in range(_TRIES - 1):
        with contextlib.suppress(FileNotFoundError):
            make_parents(path)
            return act()
    make_parents(path)
    return act()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"Cannot read {str(path)!r}: {error}") from error


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"Cannot list {str(folder)!r}: {error}") from error
