"""Files in the session's state: they live and are stored with the conversation."""

import base64
from bisect import bisect_left
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import Any, Protocol, runtime_checkable

from toolwright._sealed import Sealed
from toolwright.backends.files._files import ABSENT, Entry, FileChanged, Loaded, version_of
from toolwright.backends.files._paths import parent_of, virtual_path
from toolwright.backends.files._rope import in_thread_if_long
from toolwright.backends.files._tree import children, demand_file, demand_no_clash

__all__ = ["SharedState", "StateBackend"]


@runtime_checkable
class SharedState(Protocol):
    """The state as a backend needs it; `tool_context.state` fits."""

    def get(self, key: str, /) -> Any:
        """The value of `key`."""
        ...

    def names(self, key: str, /) -> list[str]:
        """The names in the mapping at `key`, sorted."""
        ...

    def names_from(self, key: str, start: str, /) -> str | None:
        """The first of them that is not before `start`."""
        ...

    def member(self, key: str, name: str, /) -> Any:
        """One value of the mapping at `key`; None if there is none."""
        ...

    def change_member(self, key: str, name: str, update: Callable[[Any], Any], /) -> Any:
        """Set one value of the mapping at `key` to `update(its value or None)` in one step."""
        ...


class StateBackend(Sealed):
    """Keeps files in `state["files"]`: path to `{"content": …, "modified_at": …}`.

    Each change stores the file that changed with the call's result. All files are read with the
    session, so keep many or large ones in a `StoreBackend` or a directory.
    """

    def __init__(self, state: SharedState | Mapping[str, Any], *, key: str = "files") -> None:
        """On `tool_context.state`; on any other mapping, to read only."""
        self._state: SharedState = state if isinstance(state, SharedState) else _ToRead(state)
        self._key = key

    async def ls(self, path: str) -> list[Entry]:
        """What is directly in a directory."""
        path = virtual_path(path)
        names = self._state.names(self._key)
        prefix = path.rstrip("/") + "/"
        begin = bisect_left(names, prefix)
        inside = takewhile(lambda name: name.startswith(prefix), islice(names, begin, None))
        found = [_entry(name, self._state.member(self._key, name)) for name in inside]
        if not found and self._state.member(self._key, path) is not None:
            raise NotADirectoryError(path)
        return children(found, path)

    async def read(self, path: str) -> Loaded:
        """A file's bytes."""
        path = virtual_path(path)
        record = self._state.member(self._key, path)
        if record is None:
            demand_file(self._state.names(self._key), path)
        data = _data(record)
        version = await in_thread_if_long(len(data), version_of, data)
        return Loaded(data=data, version=version)

    async def write(self, path: str, data: bytes, *, expected: str | None = None) -> str:
        """Store a file; parallel calls never lose each other's files."""
        path = virtual_path(path)

        def update(record: Any) -> dict[str, str]:
            if record is None:
                self._demand_no_clash(path)
            _demand_version(record, path, expected)
            return _record(data)

        self._state.change_member(self._key, path, update)
        return version_of(data)

    def _demand_no_clash(self, path: str) -> None:
        """As `demand_no_clash`, of the files that could be in the way: it must not cost more with
        every file there is."""
        prefix = path.rstrip("/") + "/"
        inside = self._state.names_from(self._key, prefix)
        near = [inside] if inside is not None else []
        above = parent_of(path)
        while above != "/":
            near += [above] if self._state.member(self._key, above) is not None else []
            above = parent_of(above)
        demand_no_clash(near, path)


class _ToRead:
    """A mapping that nobody may change through us, such as the state in a read-only context."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._state = state

    def get(self, key: str) -> Any:
        return self._state.get(key)

    def names(self, key: str) -> list[str]:
        return sorted(self._state.get(key) or {})

    def names_from(self, key: str, start: str) -> str | None:
        return next((name for name in self.names(key) if name >= start), None)

    def member(self, key: str, name: str) -> Any:
        return (self._state.get(key) or {}).get(name)

    def change_member(self, key: str, name: str, update: Callable[[Any], Any]) -> Any:
        raise PermissionError(name)


def _demand_version(record: Any, path: str, expected: str | None) -> None:
    if expected == ABSENT and record is not None:
        raise FileExistsError(path)
    current = ABSENT if record is None else version_of(_data(record))
    if expected is not None and current != expected:
        raise FileChanged(f"{path} was changed since it was read.")


def _record(data: bytes) -> dict[str, str]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        return {"content": data.decode("utf-8"), "modified_at": now}
    except UnicodeDecodeError:
        encoded = base64.b64encode(data).decode("ascii")
        return {"content": encoded, "encoding": "base64", "modified_at": now}


def _data(record: Any) -> bytes:
    """The bytes of a record; plain text in place of a record is a file's content too."""
    if isinstance(record, str):
        return record.encode("utf-8")
    content: str = record["content"]
    return base64.b64decode(content) if record.get("encoding") == "base64" else content.encode()


def _entry(path: str, record: Any) -> Entry:
    modified_at = "" if isinstance(record, str) else record.get("modified_at", "")
    return Entry(path=path, size=_size(record), modified_at=modified_at)


def _size(record: Any) -> int:
    text = record if isinstance(record, str) else record["content"]
    plain = isinstance(record, str) or record.get("encoding") != "base64"
    return len(text) if plain and text.isascii() else len(_data(record))
