"""Session state that several calls can share without losing each other's writes."""

import bisect
import copy
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
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
from toolwright.tools._state_writes import KeyWrites, Kind, Write

__all__ = [
    "APPROVED",
    "LABEL",
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
LABEL = "_label:"
"""Begins the keys under which it is kept that an artifact is untrusted."""
"""The key of what digests of secrets are made with, so that nobody can try out guesses on them."""
RESERVED = tuple(
    f"{scope}{key}" for scope in ("", "user:", "app:") for key in (APPROVED, PINNED, SEAL, LABEL)
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
        self.open: dict[str, KeyWrites] = {}
        """The keys, and those of members, with writes that are not stored."""
        self.events = 0
        """How many events have held writes."""

    def seen(self, key: str) -> Any:
        """What a key, or that of a member, has with all writes; None for nothing."""
        mapping, found, name = key.partition(MEMBER)
        value = self.values.get(mapping)
        return (value or {}).get(name) if found else value

    def log(self, key: str, write: Write) -> None:
        """A write is about to be made."""
        if key not in self.open:
            value = self.seen(key)
            self.open[key] = KeyWrites(key, value, value)
        self.open[key].writes.append(write)

    def record(self, key: str, call: object, event: int) -> tuple[Any, list[Write]]:
        """Have an event hold what a call has written to a key; what the key has with that."""
        found = self.open.get(key)
        if found is None:
            return None, []
        value = found.record(call, event, self.seen(key), is_apart=key in self.members)
        held = [write for write in found.writes if write.event == event]
        if held and not key.startswith(SHARED):
            found.settle(value, held)
            self.close(key)
        return value, held

    def close(self, key: str) -> None:
        """Forget a key whose writes are all stored."""
        if all(write.is_stored for write in self.open[key].writes):
            del self.open[key]

    def follow(self, now: Mapping[str, Any]) -> set[str]:
        """Have all that is not stored follow on what the store has now; the keys that others changed."""
        with self.lock:
            changed = {key for key in now if self.open[key].stored != now[key]}
            for key in changed:
                self.open[key].follow(now[key])
                self.show(key)
        return changed

    def show(self, key: str) -> None:
        """Have the run see what the writes make of what the store has."""
        value = self.open[key].seen()
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = value
        self.versions[key] = self.versions.get(key, 0) + 1

    def names(self, key: str) -> list[str]:
        """The names in the mapping at `key`, sorted; kept, so that asking costs nothing."""
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = sorted(self.values.get(key) or {})
        return found

    def set_member(self, key: str, name: str, value: Any) -> None:
        """Change the mapping at `key` in place: copying it would cost more with each member."""
        if key not in self.members:
            self.values[key] = dict(self.values.get(key) or {})  # That one is in an event.
        mapping = self.values[key]
        if name not in mapping:
            bisect.insort(self.names(key), name)
        mapping[name] = value
        self.members.setdefault(key, set()).add(name)

    def forget_members(self, key: str) -> set[str]:
        """The mapping at `key` is replaced as a whole; says which members were stored apart."""
        self._names.pop(key, None)
        return self.members.pop(key, set())


SHARED = ("app:", "user:")
"""Begin the keys that other sessions may change at the same time."""


class SharedWrites(Sealed):
    """What one event holds of keys that other sessions share, so that it can be done once more."""

    def __init__(self, table: StateTable, event: int, writes: dict[str, list[Write]]) -> None:
        self._table = table
        self._event = event
        self._writes = writes

    def expected(self) -> dict[str, Any]:
        """What the store must have for the event to follow on it; what is written whatever was
        there is not among it."""
        return {
            key: self._table.open[key].stored
            for key, writes in self._writes.items()
            if any(write.kind != "set" for write in writes)
        }

    def follow(self, now: Mapping[str, Any]) -> set[str]:
        """Others have changed what the store has; returns the keys."""
        return self._table.follow(now)

    def failure(self) -> str:
        """Why what was written cannot be kept, if another session had changed it before the end."""
        failures = (write.failure for writes in self._writes.values() for write in writes)
        return next(filter(None, failures), "")

    def conflict(self, changed: Collection[str]) -> str:
        """Why it cannot be kept now that others have changed these keys, if one was read before."""
        found = (
            self._table.open[key].conflict(writes)
            for key, writes in self._writes.items()
            if key in changed
        )
        return next(filter(None, found), "")

    def insist(self) -> dict[str, Any]:
        """What was written after it had been read is kept whatever others have made of it."""
        with self._table.lock:
            for key, writes in self._writes.items():
                for write in writes:
                    if write.kind == "read":
                        write.kind, write.failure = "set", ""
                self._table.show(key)
        return self.again(self._writes)

    def again(self, changed: Collection[str]) -> dict[str, Any]:
        """What those keys have with this event, worked out once more; raises what a function does."""
        with self._table.lock:
            return {
                key: self._table.open[key].recorded(self._event)
                for key in self._writes
                if key in changed
            }

    def give_up(self) -> list[str]:
        """Nothing of it is kept, but what is written whatever was there; returns the keys."""
        keys = list(self.expected())
        with self._table.lock:
            for key in keys:
                found, dropped = self._table.open[key], self._writes.pop(key)
                found.writes = [write for write in found.writes if write not in dropped]
                self._table.show(key)
                self._table.close(key)
        return keys

    def settle(self, delta: Mapping[str, Any]) -> None:
        """The event is stored, with this delta."""
        with self._table.lock:
            for key, writes in self._writes.items():
                self._table.open[key].settle(delta.get(key), writes)
                self._table.close(key)


class State(MutableMapping[str, Any]):
    """One call's hold on the state: reads give copies, writes are recorded in `delta`.

    A write fails with `StateConflict` when another call has changed the key since this one read
    it; `change` reads and writes in one step and never conflicts. What is written is stored when
    the call ends; where calls that run at the same time change one key, the function given to
    `change` is called again, with what those that have ended have made of it. Of `app:` and `user:`
    keys all that holds among all sessions: that another one has changed the key shows when the call
    ends, which then fails if it had read it.
    """

    __slots__ = ("_seen", "_table", "_written", "delta", "ended", "shared")

    def __init__(self, table: StateTable, delta: dict[str, Any] | None = None) -> None:
        self._table = table
        self._seen: dict[str, int] = {}
        self.delta: dict[str, Any] = {} if delta is None else delta
        """What was written, by key; a deleted key has the value None."""
        self.shared: SharedWrites | None = None
        """What the event last taken holds of keys that other sessions share."""
        self._written: dict[str, None] = {}
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
            self._write(key, value, "read" if key in self._seen else "set")

    def __delitem__(self, key: str) -> None:
        _refuse_reserved(key)
        with self._table.lock:
            self._refuse_when_ended(key)
            self._refuse_lost_write(key)
            if key not in self._table.values:
                raise KeyError(key)
            self._log(key, "read" if key in self._seen else "set", lambda _: None)
            self._replaced(key)
            del self._table.values[key]
            self._note(key, None)

    def change(self, key: str, update: Callable[[Any], Any], default: Any = None) -> Any:
        """Set `key` to `update(its value or default)` in one step; returns the new value."""
        _refuse_reserved(key)
        with self._table.lock:
            self._refuse_when_ended(key)
            value = update(_or_default(self._table.values.get(key), default))
            self._write(
                key, value, "change", lambda now: _checked(key, update(_or_default(now, default)))
            )
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
            value, full = _checked(key, update(self.member(key, name))), member_key(key, name)
            self._log(full, "change", lambda now: _checked(key, update(copy.deepcopy(now))))
            self._table.set_member(key, name, value)
            self._bump(key)
            dict.__setitem__(self.delta, full, value)
            return value

    def note(self, key: str, value: Any) -> None:
        """Write a key that tools may not write; for the framework itself."""
        with self._table.lock:
            self._write(key, value, "set")

    def take(self) -> dict[str, Any]:
        """What the next event is to hold: all that was written and is in none yet, but `temp:`."""
        delta: dict[str, Any] = {}
        shared: dict[str, list[Write]] = {}
        with self._table.lock:
            self._table.events += 1
            for key in self._written:
                value, held = self._table.record(key, self, self._table.events)
                if held:
                    delta[key] = value
                if held and key.startswith(SHARED):
                    shared[key] = held
            self._written.clear()
            self.shared = SharedWrites(self._table, self._table.events, shared) if shared else None
        return delta

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

    def _log(self, key: str, kind: Kind, update: Callable[[Any], Any]) -> None:
        if not key.startswith("temp:"):
            self._table.log(key, Write(self, kind, update))
            self._written[key] = None

    def _refuse_lost_write(self, key: str) -> None:
        seen = self._seen.get(key)
        if seen is not None and seen != self._table.versions.get(key, 0):
            raise StateConflict(
                f"State {key!r} was changed by another call after this one had read it; "
                "read it again, or use state.change(key, update)."
            )

    def _write(
        self, key: str, value: Any, kind: Kind, update: Callable[[Any], Any] | None = None
    ) -> None:
        stored = value if str(key).startswith("temp:") else _checked(key, value)
        # What is not stored under its own key can neither be compared nor changed there.
        is_apart = update is None or key in self._table.members
        self._log(
            key,
            "set" if key in self._table.members else kind,
            (lambda _: stored) if is_apart else update,
        )
        self._replaced(key)
        self._table.values[key] = stored
        self._note(key, stored)

    def _replaced(self, key: str) -> None:
        for name in self._table.forget_members(key):
            full = member_key(key, name)
            self._log(full, "set", lambda _: None)
            dict.__setitem__(self.delta, full, None)

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


def _or_default(value: Any, default: Any) -> Any:
    """A copy that a function may change."""
    return copy.deepcopy(default if value is None else value)


def _refuse_reserved(key: str) -> None:
    """A tool that writes whatever key the model names must not be able to approve another tool."""
    if isinstance(key, str) and key.startswith(RESERVED):
        raise UsageError(f"The state key {key!r} is the framework's own; choose another one.")
    if isinstance(key, str) and MEMBER in key:
        raise UsageError(f"State keys cannot contain {MEMBER!r}: {key!r}.")


def checked_state(given: Mapping[str, Any], *, temp: bool = True) -> dict[str, Any]:
    """A copy of state that is given as a whole; `temp`: keys of that kind may hold anything.

    `UsageError` for a key that is the framework's own.
    """
    if not isinstance(given, Mapping):
        raise UsageError(f"State is given by key, such as {{'count': 1}}; got {given!r}.")
    for key in given:
        _refuse_reserved(key)
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
