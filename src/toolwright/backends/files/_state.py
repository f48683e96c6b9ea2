"""Files in the session's state: they live and are stored with the conversation."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from toolwright.backends.files._files import ABSENT, Entry, FileChanged, Loaded, version_of
from toolwright.backends.files._paths import virtual_path
from toolwright.backends.files._tree import children, demand_file, demand_no_clash

__all__ = ["SharedState", "StateBackend"]


class SharedState(Protocol):
    """The state as a backend needs it; `tool_context.state` fits."""

    def get(self, key: str, /) -> Any:
        """The value of `key`."""
        ...

    def change(self, key: str, update: Callable[[Any], Any], default: Any = None) -> Any:
        """Set `key` to `update(its value)` in one step."""
        ...


class StateBackend:
    """Keeps files in `state["files"]`: path to `{"content": …, "modified_at": …}`.

    For notes and drafts. Each change stores all files again with the call's result, so keep many
    or large files in a `StoreBackend` or a directory.
    """

    def __init__(self, state: SharedState, *, key: str = "files") -> None:
        self._state = state
        self._key = key

    async def ls(self, path: str) -> list[Entry]:
        """What is directly in a directory."""
        kept = self._kept()
        return children([_entry(name, kept[name]) for name in sorted(kept)], virtual_path(path))

    async def read(self, path: str) -> Loaded:
        """A file's bytes."""
        path = virtual_path(path)
        kept = self._kept()
        demand_file(kept, path)
        data = _data(kept[path])
        return Loaded(data=data, version=version_of(data))

    async def write(self, path: str, data: bytes, *, expected: str | None = None) -> str:
        """Store a file; parallel calls never lose each other's files."""
        path = virtual_path(path)

        def update(kept: dict[str, Any] | None) -> dict[str, Any]:
            kept = kept or {}
            demand_no_clash(kept, path)
            _demand_version(kept.get(path), path, expected)
            return {**kept, path: _record(data)}

        self._state.change(self._key, update, {})
        return version_of(data)

    def _kept(self) -> dict[str, Any]:
        return self._state.get(self._key) or {}


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
    return Entry(path=path, size=len(_data(record)), modified_at=modified_at)
