"""What it means to keep files somewhere: the `Files` protocol and the values it exchanges."""

import hashlib
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from toolwright.errors import ToolError

__all__ = ["ABSENT", "Entry", "FileChanged", "Files", "Loaded", "version_of"]

ABSENT = "absent"
"""The version of a file that does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file or directory as a list shows it."""

    path: str
    is_dir: bool = False
    size: int = 0
    modified_at: str = ""
    """ISO 8601, in UTC."""
    is_link: bool = False
    """A symbolic link; searches do not follow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A file's bytes, and a version that changes whenever they do."""

    data: bytes
    version: str


class FileChanged(ToolError):
    """The file is not in the version that the writer expected."""


@runtime_checkable
class Files(Protocol):
    """Keeps files under absolute paths with `/` between the parts, whatever is underneath.

    All three raise `FileNotFoundError`, `NotADirectoryError`, `IsADirectoryError` or
    `PermissionError` as the case may be, and `ToolError` for a path that cannot be one. There is
    no way to make an empty directory: directories come with the files in them.
    """

    async def ls(self, path: str) -> list[Entry]:
        """What is directly in a directory, by path. `/` always exists."""
        ...

    async def read(self, path: str) -> Loaded:
        """A file's bytes."""
        ...

    async def write(self, path: str, data: bytes, *, expected: str | None = None) -> str:
        """Store a file whole, or not at all; returns its new version.

        With `expected`, only if the file is in that version at that moment: `FileChanged`
        otherwise, and `FileExistsError` when it was expected to be `ABSENT`.
        """
        ...


def version_of(data: bytes) -> str:
    """A version for backends that have none of their own: a digest of the bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
