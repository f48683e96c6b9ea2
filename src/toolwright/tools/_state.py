"""Session state that several calls can share without losing each other's writes."""

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from toolwright.errors import StateConflict, UsageError
from toolwright.messages import jsonable

__all__ = ["RESERVED", "State", "StateTable"]

RESERVED = "_approved:"
"""Begins the keys that say what a person has approved for the rest of the session."""
_IMMUTABLE = (str, int, float, bool, bytes, type(None))


class StateTable:
    """The values of one run and how often each has changed. Safe to use from threads."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values: dict[str, Any] = dict(values or {})
        self.versions: dict[str, int] = {}
        self.lock = threading.RLock()


class State(MutableMapping[str, Any]):
    """One call's hold on the state: reads give copies, writes are recorded in `delta`.

    A write fails with `StateConflict` when another call has changed the key since this one read
    it; `change` reads and writes in one step and never conflicts.
    """

    __slots__ = ("_seen", "_table", "delta", "ended")

    def __init__(self, table: StateTable, delta: dict[str, Any] | None = None) -> None:
        self._table = table
        self._seen: dict[str, int] = {}
        self.delta: dict[str, Any] = {} if delta is None else delta
        """What was written, by key; a deleted key has the value None."""
        self.ended = False
        """Whether the call is over, so that nothing it writes would be kept."""

    def __getitem__(self, key: str) -> Any:
        with self._table.lock:
            self._seen.setdefault(key, self._table.versions.get(key, 0))
            value = self._table.values[key]
            return value if isinstance(value, _IMMUTABLE) else copy.deepcopy(value)

    def __setitem__(self, key: str, value: Any) -> None:
        _refuse_reserved(key)
        with self._table.lock:
            self._refuse_when_ended(key)
            self._refuse_lost_write(key)
            self._write(key, value)

    def __delitem__(self, key: str) -> None:
        _refuse_reserved(key)
        with self._table.lock:
            self._refuse_when_ended(key)
            self._refuse_lost_write(key)
            del self._table.values[key]
            self._note(key, None)

    def change(self, key: str, update: Callable[[Any], Any], default: Any = None) -> Any:
        """Set `key` to `update(its value or default)` in one step; returns the new value."""
        _refuse_reserved(key)
        with self._table.lock:
            self._refuse_when_ended(key)
            value = update(copy.deepcopy(self._table.values.get(key, default)))
            self._write(key, value)
            return value

    def note(self, key: str, value: Any) -> None:
        """Write a key that tools may not write; for the framework itself."""
        with self._table.lock:
            self._write(key, value)

    def to_dict(self) -> dict[str, Any]:
        """A copy of everything."""
        with self._table.lock:
            return copy.deepcopy(self._table.values)

    def __iter__(self) -> Iterator[str]:
        with self._table.lock:
            return iter(list(self._table.values))

    def __len__(self) -> int:
        return len(self._table.values)

    def __repr__(self) -> str:
        return f"State({self._table.values!r})"

    def _refuse_lost_write(self, key: str) -> None:
        seen = self._seen.get(key)
        if seen is not None and seen != self._table.versions.get(key, 0):
            raise StateConflict(
                f"State {key!r} was changed by another call after this one had read it; "
                "read it again, or use state.change(key, update)."
            )

    def _write(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise UsageError(f"State keys are strings; got {key!r}.")
        stored = value if key.startswith("temp:") else _checked(key, value)
        self._table.values[key] = stored
        self._note(key, stored)

    def _refuse_when_ended(self, key: str) -> None:
        if self.ended:
            raise UsageError(f"State {key!r} was written after its call had ended; it is not kept.")

    def _note(self, key: str, value: Any) -> None:
        self._table.versions[key] = self._table.versions.get(key, 0) + 1
        if key in self._seen:
            self._seen[key] = self._table.versions[key]
        self.delta[key] = value


def _refuse_reserved(key: str) -> None:
    """A tool that writes whatever key the model names must not be able to approve another tool."""
    if isinstance(key, str) and key.startswith(RESERVED):
        raise UsageError(f"State keys that begin with {RESERVED!r} are the framework's: {key!r}.")


def _checked(key: str, value: Any) -> Any:
    """A copy of `value` that can be stored as JSON; what cannot is the developer's mistake."""
    if isinstance(value, _IMMUTABLE) and not isinstance(value, bytes):
        return value
    plain = copy.deepcopy(value)
    try:
        jsonable(plain)
    except ValueError as error:
        raise UsageError(
            f"State {key!r} cannot be stored as JSON: {error}. Keep live objects under 'temp:' keys."
        ) from error
    return plain
