"""What a run came to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwright.messages import Event, Message, Pending, RunStatus, Usage

__all__ = ["Outcome", "Result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an agent's part of a run ended."""

    status: RunStatus
    text: str = ""
    output: Any = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of a run: done, paused until its pending calls are answered, or stopped."""

    status: RunStatus
    text: str = ""
    """The agent's final text."""
    output: Any = None
    """The final text validated against `output_schema`, or the text itself without one."""
    pending: tuple[Pending, ...] = ()
    usage: Usage = field(default_factory=Usage)
    events: Sequence[Event] = ()
    """The stored events of this run, in order."""
    history: Sequence[Message] = ()
    reason: str = ""
    """Why it stopped."""
    agent: str = ""
    """The agent that has the conversation now."""
    session_id: str = ""
    run_id: str = ""
    escalated: bool = False
    state: dict[str, Any] = field(default_factory=dict)
    """The state at the end, without `temp:` keys."""
