"""Files where others may have been: for this user alone, whatever the umask, or regular ones only."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

__all__ = [
    "close_to_others",
    "demand_own_way",
    "is_private",
    "make_parents",
    "make_private_directory",
    "make_private_file",
    "private_directory",
    "read_plain_file",
    "write_plain_file",
]

_MOST_LINKS = 40
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # A pipe that nobody writes to would keep us waiting.
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def private_directory(path: Path) -> bool:
    """Make the directory, if it is not there; whether it is this user's alone.

    In a place where everybody can write, somebody else may have put one there first, or a link: then
    it is not, and must not be used.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    if _is_own(path, without=0o022):
        path.chmod(0o700)  # Others could look into it, and put nothing there.
    return is_private(path)


def is_private(path: Path) -> bool:
    """Whether it is a directory, and no link to one, that nobody else can look into."""
    return _is_own(path, without=0o077)


def _is_own(path: Path, *, without: int) -> bool:
    """Whether it is this user's directory, with none of these bits in its mode."""
    try:
        found = path.lstat()
    except OSError:
        return False
    if os.name != "posix":
        return stat.S_ISDIR(found.st_mode)
    own = found.st_uid == os.geteuid() and not found.st_mode & without
    return stat.S_ISDIR(found.st_mode) and own


def make_parents(path: Path) -> None:
    """Make the directories above a file that are missing, for this user alone; others stay.

    `PermissionError` if somebody else may have made one of them: see `demand_own_way`.
    """
    demand_own_way(path)
    missing = []
    for parent in path.parents:
        if parent.exists():
            break
        missing.append(parent)
    for parent in reversed(missing):
        make_private_directory(parent)
    if missing:
        demand_own_way(path)


def make_private_directory(path: Path) -> None:
    """Make the directory, for this user alone; one that is there stays as it is."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        path.chmod(0o700)  # An umask can take one's own rights, too.


def make_private_file(path: Path) -> None:
    """Make the file, empty and for nobody but this user; one that is there is neither opened nor changed.

    `OSError` if it is no regular file, or if somebody else may have put it there.
    """
    demand_own_way(path)
    try:
        # Through a link that leads nowhere yet.
        descriptor = os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        demand_own_way(path)  # It may have come in between.
        demand_regular(path.stat(), path)
        return
    try:
        close_to_others(descriptor)
    finally:
        os.close(descriptor)


def close_to_others(descriptor: int) -> None:
    """Let this user read and write an open file, and nobody else."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o600)


def demand_own_way(path: Path) -> None:
    """`PermissionError` if somebody else may have put there what is at `path` or on the way to it.

    Where everybody can write, whoever comes first can put a file, a directory or a link: there it
    must be this user's own, or the system's. What is not there yet is nobody's.
    """
    if os.name != "posix":
        return
    trusted = (0, os.geteuid())
    here, waiting, links = Path("/"), list(reversed(path.absolute().parts[1:])), 0
    while waiting:
        step = here / waiting.pop()
        try:
            found = step.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return
        if here.stat().st_mode & stat.S_IWOTH and step.name != "..":
            _demand_own(step, found, trusted)
        if not stat.S_ISLNK(found.st_mode):
            here = here.parent if step.name == ".." else step
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = Path(os.readlink(step))
        here = Path("/") if target.is_absolute() else here
        waiting += reversed(target.parts[1:] if target.is_absolute() else target.parts)


def _demand_own(step: Path, found: os.stat_result, trusted: tuple[int, ...]) -> None:
    why = ""
    if found.st_uid not in trusted:
        why = "it belongs to another user"
    elif stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        why = "it has another name elsewhere"
    if why:
        raise PermissionError(
            errno.EPERM,
            f"{why}, and everybody can write to the directory that it is in; name another place",
            str(step),
        )


def read_plain_file(path: str | Path, most: int) -> bytes:
    """What is in a regular file of at most so many bytes; `OSError` for any other, at once."""
    demand_regular(os.stat(path), path)  # Some devices do something when they are opened.
    descriptor = os.open(path, _READ)
    try:
        status = os.fstat(descriptor)
        demand_regular(status, path)
        # It may grow while it is read, and files of the kernel have no size.
        with open(descriptor, "rb", closefd=False) as file:
            found = b"" if status.st_size > most else file.read(most + 1)
    finally:
        os.close(descriptor)
    if max(status.st_size, len(found)) > most:
        raise OSError(errno.EFBIG, f"it is longer than {most:,} bytes", str(path))
    return found


def demand_regular(found: os.stat_result, path: str | Path) -> None:
    """`OSError` for a pipe, a device, a socket or a directory."""
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def write_plain_file(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Put a file in its place, whole or not at all; a link that lies there is replaced, not followed.

    `mode` is what a new file may have at most; the umask takes away from it.
    """
    draft = path.with_name(f".{path.name[:200]}.{secrets.token_hex(6)}")
    try:
        with os.fdopen(os.open(draft, _WRITE, mode), "wb") as file:
            file.write(data)
        if path.is_dir() and not path.is_symlink():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
