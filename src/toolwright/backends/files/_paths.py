"""Paths inside a `Files` backend: absolute, normal, and nothing that could climb out."""

import re
from collections.abc import Callable, Sequence
from heapq import merge
from typing import Any, TypeVar

from toolwright.errors import ToolError

__all__ = ["inside", "parent_of", "sorted_in_steps", "tree_order", "virtual_path"]

T = TypeVar("T")
_STEP = 4096
_DRIVE = re.compile(r"^/?[A-Za-z]:([\\/]|$)")


def virtual_path(path: str) -> str:
    """`path` without empty and `.` parts; raises `ToolError` for one that must not be used."""
    parts = path.replace("\\", "/").split("/")
    if ".." in parts or path.startswith(("~", "/~")):
        raise ToolError(f"Path traversal not allowed: {path}")
    if _DRIVE.match(path):
        raise ToolError(f"Windows paths are not allowed: {path}. Use a path such as /src/main.py.")
    if "\0" in path or any("\ud800" <= char <= "\udfff" for char in path):
        raise ToolError(f"Path contains characters that no file name can have: {path!r}")
    if not path.startswith("/"):
        raise ToolError(f"Path must be absolute (start with '/'): {path}")
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def inside(path: str, directory: str) -> bool:
    """Whether `path` is `directory` or below it; both normal."""
    return directory == "/" or path == directory or path.startswith(directory + "/")


def parent_of(path: str) -> str:
    """The directory that holds `path`."""
    return path.rpartition("/")[0] or "/"


def tree_order(path: str) -> list[str]:
    """A key that sorts paths as a tree is walked: what is in a directory comes right after it."""
    return path.split("/")


def sorted_in_steps(items: Sequence[T], key: Callable[[T], Any]) -> list[T]:
    """`items` sorted, for use in a thread: sorting them at once would hold up all the others."""
    steps = range(0, len(items), _STEP)
    return list(merge(*(sorted(items[at : at + _STEP], key=key) for at in steps), key=key))
