"""How far a run may go, how long its history may grow, and the meter that watches it."""

import time
from dataclasses import dataclass, field, fields

from toolwright._sealed import sealed
from toolwright.errors import LimitError, UsageError
from toolwright.messages import Usage
from toolwright.models import Model

__all__ = ["Compaction", "Limits", "Meter", "Spent"]


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ends a run cleanly when one is reached; None means no limit.

    A budget belongs to the session or task: turns, calls, tokens, cost and seconds count over all
    its runs, resumed ones included.
    """

    turns: int | None = None
    turns_per_run: int | None = 500
    """A guard against loops without end, which counts anew in every run."""
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    """US dollars."""
    seconds: float | None = None
    """Time spent running; waiting for the outside does not count."""
    concurrency: int = 32
    """How many calls of one turn run at the same time."""
    depth: int = 8
    """How many agents deep a call may go."""

    def __post_init__(self) -> None:
        for f in fields(self):
            value, least = getattr(self, f.name), 1 if f.name == "concurrency" else 0
            if value is not None and not value >= least:  # which NaN is not either
                raise UsageError(f"Limits({f.name}=…) must be at least {least}; got {value!r}.")


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """When the last request had more than `max_tokens` input tokens, keep `keep_messages` or a few
    more (never a result without its call) and replace what came before by a summary.

    It is not done again before the requests are a quarter longer than after the last time."""

    max_tokens: int
    keep_messages: int = 10
    model: Model | None = None
    """Writes the summary from a short transcript. Without one the agent's own model does, which is
    asked in the conversation itself: all of that is in the provider's cache."""
    clear_results: bool = False
    """First clear old results, all at once, where that frees a quarter of `max_tokens`; a summary
    is then made only when it does not."""


@dataclass(slots=True, kw_only=True)
class Spent:
    """What earlier runs of a session, or of an agent inside it, have used up."""

    turns: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            turns=self.turns + other.turns,
            tool_calls=self.tool_calls + other.tool_calls,
            usage=self.usage + other.usage,
            seconds=self.seconds + other.seconds,
        )


class Meter:
    """Counts what a run and the agents inside it use, on top of what was spent `before`.

    What an inner one counts is counted by the `outer` too.
    """

    __slots__ = ("before", "limits", "outer", "started", "tool_calls", "turns", "usage")

    def __init__(
        self, limits: Limits, outer: "Meter | None" = None, before: Spent | None = None
    ) -> None:
        self.limits = limits
        self.outer = outer
        self.before = before or Spent()
        self.started = time.monotonic()
        self.turns = 0
        self.tool_calls = 0
        self.usage = Usage()
        """What this run has used, without what was spent before."""

    @property
    def spent(self) -> Spent:
        """What was used up until now; time is counted by whoever reads the log."""
        own = Spent(turns=self.turns, tool_calls=self.tool_calls, usage=self.usage)
        return self.before + own

    def start_turn(self) -> None:
        """Count a turn; `LimitError` when there must not be another one."""
        if self.outer is not None:
            self.outer.start_turn()
        limits = self.limits
        before = self.before
        self._check("turns", before.turns + self.turns, limits.turns)
        self._check("turns_per_run", self.turns, limits.turns_per_run)
        if limits.tool_calls is not None:
            # One more than allowed was asked for and refused; the last allowed one may be answered.
            self._check("tool_calls", before.tool_calls + self.tool_calls - 1, limits.tool_calls)
        self._check_spent()
        self.turns += 1

    def start_sample(self, max_tokens: int) -> int:
        """How many of `max_tokens` a model may answer with outside the conversation; `LimitError`
        when it must not be asked any more."""
        if self.outer is not None:
            max_tokens = self.outer.start_sample(max_tokens)
        self._check_spent()
        if self.limits.tokens is None:
            return max_tokens
        return min(max_tokens, self.limits.tokens - self.spent.usage.total_tokens)

    def count_call(self) -> int | None:
        """Count a tool call; the limit, when this one is beyond it."""
        self.tool_calls += 1
        limit = self.limits.tool_calls
        outer = None if self.outer is None else self.outer.count_call()
        beyond = limit is not None and self.before.tool_calls + self.tool_calls > limit
        return limit if beyond else outer

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
        own = max(0.0, self.limits.seconds - self._seconds())
        return own if left is None else min(own, left)

    def _check_spent(self) -> None:
        limits, used = self.limits, self.spent.usage
        self._check("tokens", used.total_tokens, limits.tokens)
        if limits.cost is not None:
            self._check("cost", used.cost, limits.cost)
        if limits.seconds is not None:
            self._check("seconds", self._seconds(), limits.seconds)

    def _seconds(self) -> float:
        return self.before.seconds + time.monotonic() - self.started

    def _check(self, name: str, used: float, limit: float | None) -> None:
        if limit is not None and used >= limit:
            raise LimitError(
                f"The run reached its limit of {limit:g} {name} (used {used:g}); "
                f"raise it with Limits({name}=…).",
                limit=name,
            )
