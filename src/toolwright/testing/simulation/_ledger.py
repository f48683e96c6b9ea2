"""What really happened in the simulated world, kept where no process can lose or change it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Accepted", "Entry", "Ledger"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One effect that took place."""

    at: float
    process: str
    name: str
    key: str
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer whose sender was told that it counts."""

    session_id: str
    call_id: str
    value: Any


class Ledger:
    """The outside world's own list of effects, and of answers that were accepted."""

    def __init__(self, whose: Callable[[], str], clock: Callable[[], float]) -> None:
        self.entries: list[Entry] = []
        self.accepted: list[Accepted] = []
        self._whose = whose
        self._clock = clock

    def record(self, name: str, key: str, *, repeatable: bool = False) -> None:
        """An effect takes place now; it must do so once unless it is `repeatable`.

        Raises when the process that asks for it is dead.
        """
        self.entries.append(Entry(self._clock(), self._whose(), name, key, repeatable))

    def accept(self, session_id: str, call_id: str, value: Any) -> None:
        """The answer `value` was accepted: it must be the one that the call gets."""
        self.accepted.append(Accepted(session_id, call_id, value))

    def count(self, name: str, key: str | None = None) -> int:
        """How often an effect took place."""
        return sum(e.name == name and key in (None, e.key) for e in self.entries)

    def twice(self) -> list[str]:
        """The effects that took place more often than they may."""
        counts = Counter((e.name, e.key) for e in self.entries if not e.repeatable)
        return [f"{name}({key!r}) happened {n} times" for (name, key), n in counts.items() if n > 1]
