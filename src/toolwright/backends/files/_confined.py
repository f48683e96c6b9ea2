"""Open what is below a directory, and nothing else: not by `..`, symbolic link or race.

Every part of a path is opened relative to the directory before it, without following links.
Links are resolved here instead, as if the root were the top of the file system.
"""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType

__all__ = ["Closed", "open_directory", "open_file", "open_parent"]

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not to hang on a named pipe or a device.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MAX_LINKS = 40
Closed = Mapping[tuple[int, int] | tuple[int, int, str], str]
"""Why something is not opened, by its device and inode, or by its directory's and its name in there."""
_NOTHING: Closed = MappingProxyType({})


@contextmanager
def open_directory(
    root: str, path: str, *, create: bool = False, closed: Closed = _NOTHING
) -> Iterator[int]:
    """A descriptor of the directory at `path` below `root`."""
    with open_parent(root, path, create=create, closed=closed) as (parent, name):
        descriptor = _open_child(parent, name, create=create) if name else os.dup(parent)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


@contextmanager
def open_file(root: str, path: str, *, closed: Closed = _NOTHING) -> Iterator[int]:
    """A descriptor, for reading, of the regular file at `path` below `root`."""
    with open_parent(root, path, closed=closed) as (parent, name):
        if not name:
            raise IsADirectoryError(path)
        descriptor = os.open(name, _FILE, dir_fd=parent)
        try:
            _demand_regular(os.fstat(descriptor), path)
            yield descriptor
        finally:
            os.close(descriptor)


@contextmanager
def open_parent(
    root: str, path: str, *, create: bool = False, closed: Closed = _NOTHING
) -> Iterator[tuple[int, str]]:
    """The directory that holds `path`, all links resolved, and the name in it ('' for the root).

    What is among `closed` is not opened, nor anything below it: `PermissionError`, before anything
    is created.
    """
    trail = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    parts = [part for part in path.split("/") if part]
    links = 0
    name = ""
    try:
        _demand_open(os.fstat(trail[0]), path, closed)
        while parts:
            name = parts.pop(0)
            _demand_name(trail[-1], name, path, closed)
            if name == "..":
                _climb(trail, path)
                name = ""
            elif (target := _link_target(trail[-1], name)) is not None:
                links += 1
                if links > _MAX_LINKS:
                    raise PermissionError(f"Too many symbolic links: {path}")
                parts = _follow(root, target, trail, path) + parts
                name = ""
            elif parts:
                trail.append(_open_child(trail[-1], name, create=create))
                _demand_open(os.fstat(trail[-1]), path, closed)
        if name and closed:
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=trail[-1], follow_symlinks=False)
                _demand_open(status, path, closed)
        yield trail[-1], name
    finally:
        for descriptor in trail:
            os.close(descriptor)


def _follow(root: str, target: str, trail: list[int], path: str) -> list[str]:
    """The parts of a link's target, to be walked from where `trail` now ends."""
    if target.startswith("/"):
        relative = os.path.relpath(target, os.path.realpath(root))
        if relative.startswith(".."):
            raise PermissionError(
                errno.EACCES, "the symbolic link leads out of the directory", path
            )
        while len(trail) > 1:
            os.close(trail.pop())
        target = relative
    return [part for part in target.split("/") if part not in ("", ".")]


def _climb(trail: list[int], path: str) -> None:
    """One directory up, within a link's target."""
    if len(trail) == 1:
        raise PermissionError(errno.EACCES, "the symbolic link leads out of the directory", path)
    os.close(trail.pop())


def _link_target(parent: int, name: str) -> str | None:
    try:
        return os.readlink(name, dir_fd=parent)
    except OSError:
        return None


def _open_child(parent: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
    return os.open(name, _DIRECTORY, dir_fd=parent)


def _demand_open(status: os.stat_result, path: str, closed: Closed) -> None:
    if why := closed.get((status.st_dev, status.st_ino)):
        raise PermissionError(errno.EACCES, why, path)


def _demand_name(parent: int, name: str, path: str, closed: Closed) -> None:
    """A name can be closed though there is nothing of that name yet."""
    if closed:
        status = os.fstat(parent)
        if why := closed.get((status.st_dev, status.st_ino, name)):
            raise PermissionError(errno.EACCES, why, path)


def _demand_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(path)
    if not stat.S_ISREG(status.st_mode):
        raise PermissionError(f"Not a regular file: {path}")
