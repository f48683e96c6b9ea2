"""Session state that several calls can share without losing each other's writes."""

import bisect
import copy
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Self

from toolwright._sealed import Sealed
from toolwright.errors import StateConflict, UsageError
from toolwright.messages import (
    KEY_BYTES,
    MEMBER,
    fold_members,
    json_copy,
    member_key,
    refuse_long,
)

__all__ = [
    "APPROVED",
    "PINNED",
    "RESERVED",
    "SEAL",
    "SharedWrites",
    "State",
    "StateDelta",
    "StateTable",
    "checked_state",
    "files_seen",
    "pinned_files",
]

APPROVED = "_approved:"
"""Begins the keys that say what a person has approved, in this session or, after `user:`, for good."""
PINNED = "_pinned:"
"""Begins the keys that say which tools of the outside the session knows, and how they were."""
SEAL = "_seal:"
"""The key of what digests of secrets are made with, so that nobody can try out guesses on them."""
RESERVED = tuple(
    f"{scope}{key}" for scope in ("", "user:", "app:") for key in (APPROVED, PINNED, SEAL)
)
"""Begin the keys that only the framework writes."""
_IMMUTABLE = (str, int, float, bool, bytes, type(None))


_FILES = f"{PINNED}files:"


def pinned_files(path: Sequence[str]) -> str:
    """The key of the marks of the skills that the session first saw when a path was first listed."""
    return f"{_FILES}{'/'.join(path)}"


def files_seen(values: Mapping[str, Any]) -> dict[str, set[str]]:
    """The marks of each skill that the session saw first, on whatever path, by `skill:NAME`."""
    found: dict[str, set[str]] = {}
    for key in [key for key in list(values) if key.startswith(_FILES)]:
        for name, mark in values[key].items():
            # Two toolsets may have a skill of one name each: the second has its number behind it.
            found.setdefault(name.partition(" (")[0], set()).add(mark)
    return found


class StateTable(Sealed):
    """The values of one run and how often each has changed. Safe to use from threads."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        stored = values or {}
        self.values = fold_members(stored)
        self.versions: dict[str, int] = {}
        self.lock = threading.RLock()
        self.members: dict[str, set[str]] = {}
        """Which members of which mappings are stored under keys of their own."""
        for full in stored:
            key, found, name = full.partition(MEMBER)
            if found:
                self.members.setdefault(key, set()).add(name)
        self._names: dict[str, list[str]] = {}

    def names(self, key: str) -> list[str]:
        """The names in the mapping at `key`, sorted; kept, so that asking costs nothing."""
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = sorted(self.values.get(key) or {})
        return found

    def set_member(self, key: str, name: str, value: Any) -> None:
        """Change the mapping at `key` in place: copying it would cost more with each member."""
        mapping = self.values.setdefault(key, {})
        if name not in mapping:
            bisect.insort(self.names(key), name)
        mapping[name] = value
        self.members.setdefault(key, set()).add(name)

    def forget_members(self, key: str) -> set[str]:
        """The mapping at `key` is replaced as a whole; says which members were stored apart."""
        self._names.pop(key, None)
        return self.members.pop(key, set())


_Update = tuple[Callable[[Any], Any], Any]
SHARED = ("app:", "user:")
"""Begin the keys that other sessions may change at the same time."""


class SharedWrites(Sealed):
    """What one call has made of keys that other sessions share, so that it can be done once more."""

    def __init__(self, table: StateTable) -> None:
        self._table = table
        self.basis: dict[str, Any] = {}
        """What each key had before the call changed it; None for nothing."""
        self.is_recorded = False
        """An event has it; one more event of the same call must not have it again."""
        self._updates: dict[str, list[_Update]] = {}
        """How each was changed; those that were read, and written after that, are not among them."""

    def note(self, key: str, update: _Update | None) -> None:
        """The key is about to be changed, or written after it was read."""
        if key not in self.basis:
            self.basis[key] = copy.deepcopy(self._table.values.get(key))
            self._updates[key] = []
        if update is None:
            self._updates.pop(key, None)
        elif key in self._updates:
            self._updates[key].append(update)

    def forget(self, key: str) -> None:
        """The key is written whatever it had."""
        self.basis.pop(key, None)
        self._updates.pop(key, None)

    def rebase(self, delta: dict[str, Any], now: dict[str, Any]) -> str:
        """Make `delta` follow on what the store has `now`, which then has it too; the first key that
        was written after it had been read and had changed meanwhile, if there is one."""
        for key, basis in self.basis.items():
            found = now.get(key)
            if found != basis and key not in self._updates:
                return key
        with self._table.lock:
            for key, basis in self.basis.items():
                if now.get(key) != basis:
                    self.basis[key], delta[key] = now.get(key), self._again(key, now.get(key))
                    self._set(key, delta[key])
                now[key] = delta.get(key)
        return ""

    def give_up(self, now: Mapping[str, Any]) -> None:
        """Nothing of it is kept: the run goes on with what the store has `now`."""
        with self._table.lock:
            for key in self.basis:
                self._set(key, now.get(key))

    def _again(self, key: str, value: Any) -> Any:
        for update, default in self._updates[key]:
            given = default if value is None else value
            value = _checked(key, update(copy.deepcopy(given)))
        return value

    def _set(self, key: str, value: Any) -> None:
        if value is None:
            self._table.values.pop(key, None)
        else:
            self._table.values[key] = value
        self._table.versions[key] = self._table.versions.get(key, 0) + 1


class State(MutableMapping[str, Any]):
    """One call's hold on the state: reads give copies, writes are recorded in `delta`.

    A write fails with `StateConflict` when another call has changed the key since this one read
    it; `change` reads and writes in one step and never conflicts. Of `app:` and `user:` keys that
    holds among all sessions: that another one has changed the key shows when the call ends, which
    then fails, and the function given to `change` is called again with what the key has by then.
    """

    __slots__ = ("_seen", "_table", "delta", "ended", "shared")

    def __init__(self, table: StateTable, delta: dict[str, Any] | None = None) -> None:
        self._table = table
        self._seen: dict[str, int] = {}
        self.delta: dict[str, Any] = {} if delta is None else delta
        """What was written, by key; a deleted key has the value None."""
        self.shared = SharedWrites(table)
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
            self._note_shared(key)
            self._write(key, value)

    def __delitem__(self, key: str) -> None:
        _refuse_reserved(key)
        with self._table.lock:
            self._refuse_when_ended(key)
            self._refuse_lost_write(key)
            self._note_shared(key)
            del self._table.values[key]
            self._replaced(key)
            self._note(key, None)

    def change(self, key: str, update: Callable[[Any], Any], default: Any = None) -> Any:
        """Set `key` to `update(its value or default)` in one step; returns the new value."""
        _refuse_reserved(key)
        with self._table.lock:
            self._refuse_when_ended(key)
            self._note_shared(key, (update, default))
            value = update(copy.deepcopy(self._table.values.get(key, default)))
            self._write(key, value)
            return value

    def names(self, key: str) -> list[str]:
        """The names in the mapping at `key`, sorted."""
        with self._table.lock:
            return list(self._table.names(key))

    def names_from(self, key: str, start: str) -> str | None:
        """The first name in the mapping at `key` that is not before `start`."""
        with self._table.lock:
            names = self._table.names(key)
            place = bisect.bisect_left(names, start)
            return names[place] if place < len(names) else None

    def member(self, key: str, name: str) -> Any:
        """A copy of one member of the mapping at `key`; None if there is none."""
        with self._table.lock:
            return copy.deepcopy((self._table.values.get(key) or {}).get(name))

    def change_member(self, key: str, name: str, update: Callable[[Any], Any]) -> Any:
        """Set one member of the mapping at `key` to `update(its value or None)` in one step.

        Only this member is recorded and stored, however many there are.
        """
        _refuse_reserved(key)
        with self._table.lock:
            self._refuse_when_ended(key)
            refuse_long(f"The name in the state {key!r}", member_key(key, name), KEY_BYTES)
            value = _checked(key, update(self.member(key, name)))
            self._table.set_member(key, name, value)
            self._bump(key)
            dict.__setitem__(self.delta, member_key(key, name), value)
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

    def _note_shared(self, key: str, update: _Update | None = None) -> None:
        if not str(key).startswith(SHARED):
            return
        # What is not stored under its own key cannot be compared with what is.
        if key in self._table.members or (update is None and key not in self._seen):
            self.shared.forget(key)
        else:
            self.shared.note(key, update)

    def _refuse_lost_write(self, key: str) -> None:
        seen = self._seen.get(key)
        if seen is not None and seen != self._table.versions.get(key, 0):
            raise StateConflict(
                f"State {key!r} was changed by another call after this one had read it; "
                "read it again, or use state.change(key, update)."
            )

    def _write(self, key: str, value: Any) -> None:
        stored = value if str(key).startswith("temp:") else _checked(key, value)
        self._table.values[key] = stored
        self._replaced(key)
        self._note(key, stored)

    def _replaced(self, key: str) -> None:
        for name in self._table.forget_members(key):
            dict.__setitem__(self.delta, member_key(key, name), None)

    def _refuse_when_ended(self, key: str) -> None:
        if self.ended:
            raise UsageError(f"State {key!r} was written after its call had ended; it is not kept.")

    def _note(self, key: str, value: Any) -> None:
        self._bump(key)
        dict.__setitem__(self.delta, key, value)

    def _bump(self, key: str) -> None:
        self._table.versions[key] = self._table.versions.get(key, 0) + 1
        if key in self._seen:
            self._seen[key] = self._table.versions[key]


class StateDelta(dict[str, Any]):
    """What a call has written to the state; writing here writes to the state as well."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state

    def __setitem__(self, key: str, value: Any) -> None:
        if value is not None or key not in self._state:
            self._state[key] = value
        else:
            del self._state[key]

    def update(self, *given: Any, **named: Any) -> None:
        """Write them all."""
        for key, value in dict(*given, **named).items():
            self[key] = value

    def setdefault(self, key: str, default: Any = None) -> Any:
        """What was written, or else `default`, which is written now."""
        if key not in self:
            self[key] = default
        return self[key]

    def __delitem__(self, key: str) -> None:
        raise UsageError(f"What was written cannot be taken back; write state[{key!r}] again.")

    def pop(self, key: str, *default: Any) -> Any:
        """Refused, as all that would take back what was written."""
        del self[key]

    def popitem(self) -> Any:
        """Refused."""
        del self["…"]

    def clear(self) -> None:
        """Refused."""
        del self["…"]

    def __ior__(self, other: Any) -> Self:  # type: ignore[override]
        self.update(other)
        return self


def _refuse_reserved(key: str) -> None:
    """A tool that writes whatever key the model names must not be able to approve another tool."""
    if isinstance(key, str) and key.startswith(RESERVED):
        raise UsageError(f"The state key {key!r} is the framework's own; choose another one.")
    if isinstance(key, str) and MEMBER in key:
        raise UsageError(f"State keys cannot contain {MEMBER!r}: {key!r}.")


def checked_state(given: Mapping[str, Any], *, temp: bool = True) -> dict[str, Any]:
    """A copy of state that is given as a whole; `temp`: keys of that kind may hold anything."""
    return {
        key: value if temp and str(key).startswith("temp:") else _checked(key, value)
        for key, value in given.items()
    }


def _checked(key: str, value: Any) -> Any:
    """A copy of `value` as the store will give it back; what it would change is refused."""
    if not isinstance(key, str):
        raise UsageError(f"State keys are strings; got {key!r}.")
    refuse_long("The state key", key, KEY_BYTES)
    try:
        return json_copy(value)
    except ValueError as error:
        raise UsageError(
            f"State {key!r} cannot be stored as it is: {error}. State takes JSON values: str, int, "
            "finite float, bool, None, and lists and dicts of those. Convert it (sorted(a_set), "
            "model.model_dump(mode='json'), date.isoformat()), or keep it under a 'temp:' key, "
            "which is not stored."
        ) from error
