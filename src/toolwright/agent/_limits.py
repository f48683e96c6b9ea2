"""How far a run may go, how long its history may grow, and the meter that watches it."""

import time
from dataclasses import dataclass

from toolwright.errors import LimitError
from toolwright.messages import Usage
from toolwright.models import Model

__all__ = ["Compaction", "Limits", "Meter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ends a run cleanly when one is reached; None means no limit."""

    turns: int | None = 500
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    """US dollars."""
    seconds: float | None = None
    concurrency: int = 32
    """How many calls of one turn run at the same time."""
    depth: int = 8
    """How many agents deep a call may go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """When the last request had more than `max_tokens` input tokens, keep `keep_messages` or a few
    more (never a result without its call) and replace what came before by a summary."""

    max_tokens: int
    keep_messages: int = 10
    model: Model | None = None
    """Writes the summary; the agent's own model unless another is given."""


class Meter:
    """Counts what a run and the agents inside it use; an inner one's counts for the `outer` too."""

    __slots__ = ("limits", "outer", "started", "tool_calls", "turns", "usage")

    def __init__(self, limits: Limits, outer: "Meter | None" = None) -> None:
        self.limits = limits
        self.outer = outer
        self.started = time.monotonic()
        self.turns = 0
        self.tool_calls = 0
        self.usage = Usage()

    def start_turn(self) -> None:
        """Count a turn; `LimitError` when there must not be another one."""
        if self.outer is not None:
            self.outer.start_turn()
        limits = self.limits
        self._check("turns", self.turns, limits.turns)
        if limits.tool_calls is not None:
            # One more than allowed was asked for and refused; the last allowed one may be answered.
            self._check("tool_calls", self.tool_calls - 1, limits.tool_calls)
        self._check("tokens", self.usage.total_tokens, limits.tokens)
        self._check("cost", self.usage.cost, limits.cost)
        if limits.seconds is not None:
            self._check("seconds", time.monotonic() - self.started, limits.seconds)
        self.turns += 1

    def count_call(self) -> int | None:
        """Count a tool call; the limit, when this one is beyond it."""
        self.tool_calls += 1
        limit = self.limits.tool_calls
        outer = None if self.outer is None else self.outer.count_call()
        return limit if limit is not None and self.tool_calls > limit else outer

    def spend(self, usage: Usage) -> None:
        """Count what a reply of the model has used."""
        self.usage += usage
        if self.outer is not None:
            self.outer.spend(usage)

    def seconds_left(self) -> float | None:
        """Wall time until the run must end."""
        left = None if self.outer is None else self.outer.seconds_left()
        if self.limits.seconds is None:
            return left
        own = max(0.0, self.limits.seconds - (time.monotonic() - self.started))
        return own if left is None else min(own, left)

    def _check(self, name: str, used: float, limit: float | None) -> None:
        if limit is not None and used >= limit:
            raise LimitError(
                f"The run reached its limit of {limit:g} {name} (used {used:g}); "
                f"raise it with Limits({name}=…).",
                limit=name,
            )
