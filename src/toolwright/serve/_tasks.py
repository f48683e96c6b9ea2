"""What the routes need of durable tasks; the orchestrator behind it is another unit's."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, Protocol

from pydantic import BaseModel, JsonValue

from toolwright.messages import Answered
from toolwright.serve._answers import OpenCallInfo
from toolwright.serve.live import Shown

__all__ = ["TaskInfo", "TaskStatus", "Tasks"]

TaskStatus = Literal["queued", "running", "waiting", "done", "stopped", "failed", "cancelled"]


class TaskInfo(BaseModel):
    """A task as a list shows it."""

    id: str
    agent: str
    owner_id: str
    title: str
    status: TaskStatus
    created_at: float
    updated_at: float
    attempts: int
    reason: str


class Tasks(Protocol):
    """Tasks that outlive the process."""

    async def all(self) -> list[TaskInfo]:
        """The tasks, the latest first."""
        ...

    async def find(self, task_id: str) -> TaskInfo:
        """One task, or a 404."""
        ...

    async def enqueue(self, agent: str, message: str, owner_id: str) -> TaskInfo:
        """A new task."""
        ...

    async def cancel(self, task_id: str) -> bool:
        """Stop it; whether it was going."""
        ...

    async def steer(self, task_id: str, message: str) -> bool:
        """Put a message into it; whether it was going."""
        ...

    async def retry(self, task_id: str) -> bool:
        """Try a failed one again; whether it had failed."""
        ...

    async def answer(self, task_id: str, call_id: str, value: Any) -> Answered:
        """Answer a pending call."""
        ...

    async def waiting(self) -> list[OpenCallInfo]:
        """The calls that wait for an answer."""
        ...

    def follow(self, task_id: str, since: int) -> AsyncGenerator[list[Shown], None]:
        """A task's events, stored and live."""
        ...

    async def queue(self) -> Mapping[str, JsonValue]:
        """Numbers about the queue and its workers."""
        ...
