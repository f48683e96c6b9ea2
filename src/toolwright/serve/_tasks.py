"""Durable tasks as the routes show them."""

import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, JsonValue

from toolwright.backends import PAGE
from toolwright.errors import UsageError
from toolwright.messages import Answered
from toolwright.serve._answers import OpenCallInfo, call_info, refusal_is_a_problem
from toolwright.serve._problems import ProblemError
from toolwright.serve.live import Replayed

if TYPE_CHECKING:  # tasks need a database library, which a server without them can do without
    from toolwright.tasks import Orchestrator, Task

__all__ = ["Status", "TaskInfo", "Tasks"]

Status = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]
_STATUS: dict[str, Status] = {
    "QUEUED": "queued",
    "ACTIVE": "running",
    "PENDING_TOOL_RESULTS": "waiting",
    "PENDING_CHILD_TASKS": "waiting",
    "COMPLETED": "done",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
}
_COUNTED: tuple[Status, ...] = ("running", "queued", "waiting", "done", "failed")
_SHOWN = 300
_MINUTE = 60.0


class TaskInfo(BaseModel):
    """A task as a list shows it."""

    id: str
    agent: str
    owner_id: str
    title: str
    status: Status
    created_at: float
    updated_at: float
    attempts: int
    reason: str


class Tasks:
    """What people do with the tasks of an orchestrator."""

    def __init__(self, orchestrator: "Orchestrator") -> None:
        self.orchestrator = orchestrator

    async def all(self) -> list[TaskInfo]:
        """The tasks, the latest first."""
        titles = await self._titles()
        found = await self.orchestrator.list(limit=_SHOWN)
        return [_info(task, titles.get(task.id, "")) for task in found]

    async def find(self, task_id: str) -> TaskInfo:
        """One task, or a 404."""
        try:
            task = await self.orchestrator.status(task_id)
        except UsageError as error:
            raise ProblemError(404, str(error)) from error
        row = await self.orchestrator.store.find("tasks", task_id)
        return _info(task, row.title if row else "")

    async def enqueue(self, agent: str, message: str, owner_id: str) -> TaskInfo:
        """A new task of a registered agent."""
        if agent not in self.orchestrator.agents:
            known = ", ".join(sorted(self.orchestrator.agents)) or "none"
            raise ProblemError(422, f"No agent {agent!r} works on tasks here; known: {known}.")
        task_id = await self.orchestrator.enqueue(agent, message, owner_id=owner_id)
        return await self.find(task_id)

    async def cancel(self, task_id: str) -> bool:
        """Stop it; whether it was going."""
        return await self.orchestrator.cancel(task_id)

    async def steer(self, task_id: str, message: str) -> None:
        """Put a message into it."""
        await self.orchestrator.steer(task_id, message)

    async def retry(self, task_id: str) -> bool:
        """Go on with a failed or cancelled one; whether it was one."""
        return await self.orchestrator.retry(task_id)

    async def answer(self, task_id: str, call_id: str, value: Any) -> Answered:
        """Answer a pending call; `ProblemError` when the answer does not fit it."""
        with refusal_is_a_problem():
            return await self.orchestrator.complete_deferred_tool(
                task_id=task_id, tool_call_id=call_id, result=value
            )

    async def waiting(self) -> list[OpenCallInfo]:
        """The calls that wait for an answer."""
        calls = await self.orchestrator.store.waiting()
        titles = await self._titles() if calls else {}
        return [call_info("task", call, titles) for call in calls]

    async def event(self, task_id: str, seq: int) -> Replayed | None:
        """A task's stored event by its number."""
        page = await self._page(task_id, seq - 1, 1)
        return next((shown for shown in page if shown.at == seq), None)

    async def follow(self, task_id: str, since: int) -> AsyncGenerator[Sequence[Replayed], None]:
        """A task's events, stored and live, from whichever process works on it."""
        while True:
            found = await self._page(task_id, since)
            if found:
                since = found[-1].at
                yield found
            else:
                await self.orchestrator.changed(1.0)

    async def _page(self, task_id: str, since: int, limit: int = PAGE) -> list[Replayed]:
        store = self.orchestrator.store
        row = await store.find("tasks", task_id)
        page = [] if row is None else await store.encoded_events(row.scope, since, limit)
        return [Replayed(one.text, one.seq) for one in page]

    async def queue(self) -> dict[str, JsonValue]:
        """Numbers about the queue and its workers."""
        counts: Counter[Status] = Counter()
        for (_, status), number in (await self.orchestrator.queue.counts()).items():
            counts[_STATUS[status]] += number
        active = await self.orchestrator.list(status="ACTIVE", limit=_SHOWN)
        ended = await self.orchestrator.list(status="COMPLETED", limit=_SHOWN)
        recent = [task for task in ended if task.updated_at > time.time() - _MINUTE]
        return {
            **{status: counts[status] for status in _COUNTED},
            "busy_workers": len({task.worker for task in active if task.worker}),
            "done_last_minute": len(recent),
        }

    async def _titles(self) -> dict[str, str]:
        rows = await self.orchestrator.store.sessions("tasks")
        return {row.scope.session_id: row.title for row in rows}


def _info(task: "Task", title: str) -> TaskInfo:
    return TaskInfo(
        id=task.id,
        agent=task.agent,
        owner_id=task.owner_id,
        title=title or f"Task of {task.agent}",
        status=_STATUS[task.status],
        created_at=task.created_at,
        updated_at=task.updated_at,
        attempts=task.attempts,
        reason=task.reason,
    )
