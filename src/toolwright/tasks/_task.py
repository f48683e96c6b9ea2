"""A durable task as its owner sees it."""

from dataclasses import dataclass, field
from typing import Any, Literal

from toolwright.messages import Prompt

__all__ = ["ENDED", "NewTask", "Task", "TaskStatus"]

TaskStatus = Literal[
    "QUEUED",
    "ACTIVE",
    "PENDING_TOOL_RESULTS",
    "PENDING_CHILD_TASKS",
    "COMPLETED",
    "FAILED",
    "CANCELLED",
]
ENDED = ("COMPLETED", "FAILED", "CANCELLED")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """What to enqueue."""

    agent: str
    prompt: Prompt
    owner_id: str = "owner"
    priority: int = 0
    """Higher runs first."""
    idempotency_key: str | None = None
    """Enqueued again under the same key, it is the same task."""
    start_at: float | None = None
    """Seconds since the epoch; not before then."""
    state: dict[str, Any] = field(default_factory=dict)
    parent_id: str | None = None
    parent_call: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is known of a task."""

    id: str
    agent: str
    owner_id: str
    status: TaskStatus
    priority: int
    attempts: int
    """How often a worker has taken it up."""
    created_at: float
    updated_at: float
    start_at: float
    text: str = ""
    """The agent's final text."""
    reason: str = ""
    """Why it failed or was cancelled."""
    worker: str | None = None
    parent_id: str | None = None
    version: str = ""
    """The version of the code it last ran under."""

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        return self.status in ENDED
