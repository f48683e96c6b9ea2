"""Several backends as one tree: each path goes to the backend that is mounted nearest above it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from toolwright._sealed import Sealed
from toolwright.backends.files._files import Entry, Files, Loaded
from toolwright.backends.files._find import Found, Wanted, find_in
from toolwright.backends.files._grep import FileMatches, Grepped, Query, grep
from toolwright.backends.files._paths import inside, parent_of, tree_order, virtual_path
from toolwright.errors import UsageError

__all__ = ["CompositeBackend"]


class CompositeBackend(Sealed):
    """Sends each path to the longest mount in `routes` that holds it, without the mount's prefix.

    With `routes={"/memories/": shared}`, the file `/memories/a.md` is `/a.md` in `shared`; what is
    in no mount is in `default`.
    """

    def __init__(self, default: Files, routes: Mapping[str, Files]) -> None:
        self._default = default
        mounts: dict[str, Files] = {}
        for route, files in routes.items():
            mount = virtual_path(route)
            if mount == "/":
                raise UsageError(
                    "The route '/' would hide the default backend; give it as default."
                )
            if mount in mounts:
                raise UsageError(f"Two routes lead to {mount!r}; give each place one backend.")
            mounts[mount] = files
        self._mounts = dict(sorted(mounts.items(), key=lambda item: -len(item[0])))

    async def ls(self, path: str) -> list[Entry]:
        """What is directly in a directory, mounts included."""
        path = virtual_path(path)
        mount, files, inner = self._route(path)
        found = {entry.path: entry for entry in self._mounts_in(path)}
        try:
            listed = await files.ls(inner)
        except FileNotFoundError:
            if not found and inner != "/":
                raise
            listed = []
        for entry in listed:
            found.setdefault(mount + entry.path, replace(entry, path=mount + entry.path))
        return [found[name] for name in sorted(found)]

    async def read(self, path: str) -> Loaded:
        """A file's bytes."""
        path = virtual_path(path)
        _, files, inner = self._route(path)
        if list(self._mounts_in(path)):
            raise IsADirectoryError(path)
        return await files.read(inner)

    async def write(self, path: str, data: bytes, *, expected: str | None = None) -> str:
        """Store a file in the backend that its path belongs to."""
        path = virtual_path(path)
        _, files, inner = self._route(path)
        if list(self._mounts_in(path)):
            raise IsADirectoryError(path)
        return await files.write(inner, data, expected=expected)

    async def find(self, wanted: Wanted) -> Found:
        """Files that match, in all backends below `start`."""
        paths: list[str] = []
        entries: list[Entry] = []
        folders = set(self._mounts_below(wanted)) if wanted.directories else set()
        complete = True
        for mount, files, inner, below in await self._searched(wanted.start):
            there = replace(wanted, glob=wanted.glob.below(below), start=inner)
            found = await find_in(files, there)
            complete = complete and found.complete
            paths += [mount + path for path in found.paths if self._owns(mount, path)]
            folders |= {mount + path for path in found.directories if self._owns(mount, path)}
            entries += [
                replace(entry, path=mount + entry.path)
                for entry in found.entries
                if self._owns(mount, entry.path)
            ]
        entries.sort(key=lambda entry: tree_order(entry.path))
        return Found(
            paths=sorted(paths, key=tree_order),
            entries=entries[: wanted.details],
            directories=tuple(sorted(folders, key=tree_order)),
            complete=complete,
        )

    async def grep(self, query: Query) -> Grepped:
        """What `query` asks for, in all backends below its start."""
        matches: list[FileMatches] = []
        complete = True
        for mount, files, inner, below in await self._searched(query.start):
            glob = query.glob.below(below) if query.glob else None
            found = await grep(files, replace(query, start=inner, glob=glob))
            complete = complete and found.complete
            matches += [
                replace(match, path=mount + match.path)
                for match in found.files
                if self._owns(mount, match.path)
            ]
        return Grepped.within(query, matches, complete)

    def _route(self, path: str) -> tuple[str, Files, str]:
        """The mount that holds `path` ('' for the default), its backend, and the path in it."""
        for mount, files in self._mounts.items():
            if inside(path, mount):
                return mount, files, path[len(mount) :] or "/"
        return "", self._default, path

    def _owns(self, mount: str, inner: str) -> bool:
        """Whether a path of a backend is seen, and not hidden by another mount."""
        return self._route(mount + inner)[0] == mount

    def _mounts_in(self, directory: str) -> list[Entry]:
        """The directories directly in `directory` that exist because something is mounted there."""
        prefix = directory.rstrip("/") + "/"
        below = [mount for mount in self._mounts if mount.startswith(prefix)]
        names = {mount[len(prefix) :].partition("/")[0] for mount in below}
        return [Entry(path=prefix + name, is_dir=True) for name in names]

    def _mounts_below(self, wanted: Wanted) -> Iterator[str]:
        """The directories that exist because something is mounted there, and that are wanted."""
        for mount in self._mounts:
            while mount != "/" and inside(mount, wanted.start) and mount != wanted.start:
                if wanted.matches(mount):
                    yield mount
                mount = parent_of(mount)

    async def _searched(self, start: str) -> list[tuple[str, Files, str, str]]:
        """Each backend to search: its mount, itself, where to start in it, and where that is
        relative to `start`."""
        mount, files, inner = self._route(start)
        prefix = start.rstrip("/") + "/"
        inner_mounts = [
            (other, backend, "/", other[len(prefix) :] + "/")
            for other, backend in self._mounts.items()
            if other.startswith(prefix)
        ]
        if inner_mounts and not await _exists(files, inner):
            return inner_mounts
        return [(mount, files, inner, ""), *inner_mounts]


async def _exists(files: Files, directory: str) -> bool:
    try:
        await files.ls(directory)
    except FileNotFoundError:
        return False
    return True
