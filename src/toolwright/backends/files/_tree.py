"""Directories for backends that keep nothing but files by path."""

from collections.abc import Iterable, Sequence

from toolwright.backends.files._files import Entry
from toolwright.backends.files._paths import parent_of

__all__ = ["children", "demand_file", "demand_no_clash"]


def children(files: Sequence[Entry], directory: str) -> list[Entry]:
    """What is directly in `directory`, when `files` are all there are."""
    prefix = directory.rstrip("/") + "/"
    found: dict[str, Entry] = {}
    for file in files:
        if file.path == directory:
            raise NotADirectoryError(directory)
        if file.path.startswith(prefix):
            name, slash, _ = file.path[len(prefix) :].partition("/")
            entry = file if not slash else _directory(prefix + name, found, file)
            found[entry.path] = entry
    if not found and directory != "/":
        raise FileNotFoundError(directory)
    return [found[path] for path in sorted(found)]


def demand_file(paths: Iterable[str], path: str) -> None:
    """Raise unless `path` is one of the files."""
    paths = set(paths)
    if path in paths:
        return
    prefix = path.rstrip("/") + "/"
    if path == "/" or any(other.startswith(prefix) for other in paths):
        raise IsADirectoryError(path)
    raise FileNotFoundError(path)


def demand_no_clash(paths: Iterable[str], path: str) -> None:
    """Raise if a file at `path` would be a directory, or would have a file above it."""
    known = set(paths)
    above = parent_of(path)
    while above != "/":
        if above in known:
            raise NotADirectoryError(above)
        above = parent_of(above)
    prefix = path.rstrip("/") + "/"
    if path == "/" or any(other.startswith(prefix) for other in known):
        raise IsADirectoryError(path)


def _directory(path: str, found: dict[str, Entry], file: Entry) -> Entry:
    """A directory is as old as the newest file in it."""
    known = found.get(path)
    modified_at = max(file.modified_at, known.modified_at if known else "")
    return Entry(path=path, is_dir=True, modified_at=modified_at)
