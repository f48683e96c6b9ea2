"""The writes of a run's calls to each state key, in the order they were made, until they are stored.

What a call has written is stored when the call ends, and only that: what other calls have written
before it and have not ended is not in it. So whatever order calls end in, and whichever of them is
interrupted and repeated, each write is in the store once, and once all have ended the store has
what the run has seen.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["KeyWrites", "Kind", "Write"]

Kind = Literal["change", "read", "set"]
"""By a function; after the key was read; or whatever it had."""

_STALE = (
    "State {!r} was changed by another session after this call had read it, and what this call wrote "
    "there was not kept; all else that it did is done. Read it again."
)


@dataclass(slots=True, eq=False)
class Write:
    """One write of one call to one key."""

    call: object
    kind: Kind
    update: Callable[[Any], Any]
    """From what the key has, None for nothing, to what it is to have, as the store will give it."""
    event: int = 0
    """Which event of the run has it, counted; 0 while none has."""
    is_stored: bool = False
    failure: str = ""
    """Why it cannot be kept, as another session has changed the key."""


@dataclass(slots=True)
class KeyWrites:
    """The writes to one key that are not stored, and those that came after one of them."""

    key: str
    base: Any
    """What the key had before them; None for nothing."""
    stored: Any
    """What the store has, as far as this run knows."""
    writes: list[Write] = field(default_factory=list)

    def record(self, call: object, event: int, seen: Any, *, is_apart: bool) -> Any:
        """Have the event `event` hold what `call` has written; returns what the key has with that.

        `seen`: what the key has with the writes of all calls; `is_apart`: and with members that are
        stored under keys of their own.
        """
        for write in self.writes:
            if write.call is call and not write.event:
                write.event = event
        if not is_apart and all(write.event for write in self.writes):
            return seen
        try:
            return self.recorded(event)
        except Exception:  # noqa: BLE001 - whatever the function that changes it raises
            # It works on what another call has written, so it cannot be kept without that.
            for write in self.writes:
                write.event = write.event or event
            return seen

    def recorded(self, event: int) -> Any:
        """What the key has with the writes of all events up to `event`."""
        held = [write for write in self.writes if 0 < write.event <= event and not write.failure]
        latest = next((i for i, write in enumerate(held) if not write.is_stored), len(held))
        if not any(write.is_stored for write in held[latest:]):
            # All that is stored came before: no need to begin at the beginning.
            return _applied(self.stored, held[latest:])
        return _applied(self.base, held)

    def settle(self, value: Any, writes: list[Write]) -> None:
        """These are stored now, by an event after which the store has `value`."""
        self.stored = value
        for write in writes:
            write.is_stored = True

    def follow(self, now: Any) -> None:
        """The store has `now`: what others have written, on all that is stored of these."""
        self.base = self.stored = now
        self.writes = [write for write in self.writes if not write.is_stored]
        for write in self.writes:
            if write.kind == "read" and not write.event:
                write.failure = _STALE.format(self.key)

    def conflict(self, writes: list[Write]) -> str:
        """Why one of these cannot be kept now that another session has changed the key, if so."""
        is_stale = any(write.kind == "read" for write in writes)
        return _STALE.format(self.key) if is_stale else ""

    def seen(self) -> Any:
        """What the key has with all writes; one that cannot be made once more is left out."""
        value = self.base
        for write in self.writes:
            try:
                value = value if write.failure else write.update(value)
            except Exception as error:  # noqa: BLE001 - whatever the function raises
                write.failure = f"State could not be changed once more: {error!r}."
        return value


def _applied(value: Any, writes: list[Write]) -> Any:
    for write in writes:
        value = write.update(value)
    return value
