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
    """Counts what a run and the agents inside it use."""

    __slots__ = ("limits", "started", "tool_calls", "turns", "usage")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.started = time.monotonic()
        self.turns = 0
        self.tool_calls = 0
        self.usage = Usage()

    def start_turn(self) -> None:
        """Count a turn; `LimitError` when there must not be another one."""
        limits = self.limits
        self._check("turns", self.turns, limits.turns)
        self._check("tool_calls", self.tool_calls, limits.tool_calls)
        self._check("tokens", self.usage.total_tokens, limits.tokens)
        self._check("cost", self.usage.cost, limits.cost)
        if limits.seconds is not None:
            self._check("seconds", time.monotonic() - self.started, limits.seconds)
        self.turns += 1

    def seconds_left(self) -> float | None:
        """Wall time until the run must end."""
        if self.limits.seconds is None:
            return None
        return max(0.0, self.limits.seconds - (time.monotonic() - self.started))

    def _check(self, name: str, used: float, limit: float | None) -> None:
        if limit is not None and used >= limit:
            raise LimitError(
                f"The run reached its limit of {limit:g} {name} (used {used:g}); "
                f"raise it with Limits({name}=…).",
                limit=name,
            )
