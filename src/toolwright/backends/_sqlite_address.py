"""SQLite databases in files: the address of a path, and the path of an address."""

import os
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from toolwright.errors import UsageError
from toolwright.messages import redact

__all__ = ["sqlite_address", "sqlite_path"]

_SCHEME = "sqlite://"
_MEANS_MORE = frozenset("%?#")


def sqlite_address(path: str | os.PathLike[str]) -> str:
    """The address of the database in this file, whatever characters its path has.

    Written into an address as it is, a path with a `?` or a `%` in it would name another file.
    """
    return f"{_SCHEME}/{''.join(map(_quoted, os.fspath(path)))}"


def sqlite_path(address: str) -> Path | None:
    """The file that an address names; None for a database that is not SQLite.

    `sqlite:///file.db` is in the working directory, `sqlite:////path/to/file.db` is not.
    `UsageError` for one that names no file.
    """
    if not address.startswith(_SCHEME):
        return None
    host, slash, rest = address.removeprefix(_SCHEME).partition("/")
    if "?" in rest:
        raise UsageError(
            f"{redact(address)!r} has a `?`, which begins options, and SQLite addresses take none; "
            "a `?` in the name of a file is written as %3F."
        )
    path = Path(_unquoted(rest, address))
    # Whatever was meant, it would be kept in memory.
    if host or not slash or str(path) in ("", ".", ":memory:"):
        raise UsageError(
            f"{redact(address)!r} names no file: write 'sqlite:///file.db' for one in the working directory, "
            "'sqlite:////path/to/file.db' for an absolute path, 'memory://' for none."
        )
    return path


def _quoted(character: str) -> str:
    if character.isprintable() and character not in _MEANS_MORE:
        return character
    return quote(os.fsencode(character), safe="")


def _unquoted(text: str, address: str) -> str:
    try:
        path = os.fsdecode(unquote_to_bytes(os.fsencode(text)))
    except UnicodeError as error:
        raise UsageError(f"{address!r} has a name that no file can have here: {error}.") from error
    if "\0" in path:
        raise UsageError(f"{address!r} has a null character, which no file's name can have.")
    return path
