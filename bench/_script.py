"""The conversation that every framework plays: which calls the model makes, turn by turn."""

import json
import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field

__all__ = ["FINAL", "Call", "Cursor", "Script", "calls"]

FINAL = "done"
"""What the model says when its calls are answered."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call as a model writes it: the arguments are a JSON text."""

    call_id: str
    name: str
    arguments: str


@dataclass(slots=True)
class Cursor:
    """How far one run is, and the processor time at which each of its turns was asked for."""

    turn: int = 0
    asked_at: list[float] = field(default_factory=list)


class Script:
    """Turns of calls, then `FINAL`. Any number of runs may play it side by side."""

    def __init__(self, turns: Sequence[Sequence[Call]]) -> None:
        self.turns = turns
        # A run's own, also in the threads and tasks it starts: they inherit the context.
        self._cursor: ContextVar[Cursor] = ContextVar("cursor")

    def begin(self) -> Cursor:
        """Start from the first turn, in the run of the current context."""
        cursor = Cursor()
        self._cursor.set(cursor)
        return cursor

    def next_turn(self) -> Sequence[Call]:
        """The calls of the next turn; none means that the model says `FINAL`."""
        cursor = self._cursor.get(None) or self.begin()
        cursor.asked_at.append(time.process_time())
        cursor.turn += 1
        return self.turns[cursor.turn - 1] if cursor.turn <= len(self.turns) else ()


def calls(turns: int, *, each: int = 1, name: str = "add", arguments: dict | None = None) -> Script:
    """A script of so many turns, with so many calls in each."""
    raw = json.dumps(arguments or {"a": 1, "b": 2})
    return Script(
        [
            [Call(f"call-{turn}-{index}", name, raw) for index in range(each)]
            for turn in range(turns)
        ]
    )
