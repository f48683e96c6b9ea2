"""Where files are kept, and one engine to list, read, edit and search them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolwright.backends.files._confined import open_file
from toolwright.backends.files._edit import Edit, Edited, apply_edit, edited
from toolwright.backends.files._files import (
    ABSENT,
    Entry,
    FileChanged,
    Files,
    Loaded,
    version_of,
)
from toolwright.backends.files._locks import PathLocks
from toolwright.backends.files._pages import numbered
from toolwright.backends.files._paths import inside, parent_of, tree_order, virtual_path
from toolwright.backends.files._rope import Rope, in_thread_if_long
from toolwright.backends.files._state import SharedState, StateBackend
from toolwright.backends.files._text import Text, is_binary, read_text

if TYPE_CHECKING:
    from toolwright.backends.files._composite import CompositeBackend
    from toolwright.backends.files._find import CanFind, Found, Wanted, find, find_in
    from toolwright.backends.files._glob import Glob
    from toolwright.backends.files._grep import CanGrep, FileMatches, Grepped, Line, Query, grep
    from toolwright.backends.files._local import FilesystemBackend
    from toolwright.backends.files._sql import StoreBackend
    from toolwright.backends.files._walk import walk

_LAZY = {
    "CanFind": "_find",
    "CanGrep": "_grep",
    "CompositeBackend": "_composite",
    "FileMatches": "_grep",
    "FilesystemBackend": "_local",
    "Found": "_find",
    "Glob": "_glob",
    "Grepped": "_grep",
    "Line": "_grep",
    "Query": "_grep",
    "StoreBackend": "_sql",
    "Wanted": "_find",
    "find": "_find",
    "find_in": "_find",
    "grep": "_grep",
    "walk": "_walk",
}
"""Names that need an optional dependency, and the file each is in."""

__all__ = [
    "ABSENT",
    "CanFind",
    "CanGrep",
    "CompositeBackend",
    "Edit",
    "Edited",
    "Entry",
    "FileChanged",
    "FileMatches",
    "Files",
    "FilesystemBackend",
    "Found",
    "Glob",
    "Grepped",
    "Line",
    "Loaded",
    "PathLocks",
    "Query",
    "Rope",
    "SharedState",
    "StateBackend",
    "StoreBackend",
    "Text",
    "Wanted",
    "apply_edit",
    "edited",
    "find",
    "find_in",
    "grep",
    "in_thread_if_long",
    "inside",
    "is_binary",
    "numbered",
    "open_file",
    "parent_of",
    "read_text",
    "tree_order",
    "version_of",
    "virtual_path",
    "walk",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
