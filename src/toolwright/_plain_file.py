"""Read and write files where others may have been: regular ones only, whole, and through no link."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["demand_regular", "read_plain_file", "write_plain_file"]

_READ = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # A pipe that nobody writes to would keep us waiting.
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


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
