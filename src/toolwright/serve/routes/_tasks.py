"""Durable tasks: enqueue, list, follow, answer, steer, stop, try again."""

from functools import partial

from pydantic import Field, JsonValue

from toolwright.serve._answers import (
    AnswerOutcome,
    GiveAnswer,
    answer_value,
    refuse_unless_accepted,
)
from toolwright.serve._endpoint import Ask, Fields, Nothing, Routes, route
from toolwright.serve._problems import ProblemError
from toolwright.serve._tasks import TaskInfo, Tasks
from toolwright.serve._workbench import Workbench
from toolwright.serve.live import EventStream
from toolwright.serve.routes._events import Since, event_frames, position

__all__ = ["TaskRoutes"]

_ONE = "/api/tasks/{task_id}"


class NewTask(Fields):
    """A message for an agent, to be worked on by whichever worker is free."""

    agent: str
    message: str = Field(min_length=1)
    owner_id: str | None = None


class Say(Fields):
    """A message into a task."""

    message: str = Field(min_length=1)


class TaskRoutes(Routes):
    """The operations below `/api/tasks`; there are none where the server was given no tasks."""

    tag = "tasks"

    def __init__(self, bench: Workbench, tasks: Tasks) -> None:
        self.tasks = tasks
        self.streams = bench.streams
        self.default_owner = bench.settings.user_id

    @route("GET", "/api/tasks", returns=list[TaskInfo])
    async def list_tasks(self, ask: Ask[Nothing, Nothing]) -> list[TaskInfo]:
        """Tasks, the latest first."""
        return await self.tasks.all()

    @route("POST", "/api/tasks", body=NewTask, status=202, returns=TaskInfo)
    async def enqueue_task(self, ask: Ask[NewTask, Nothing]) -> TaskInfo:
        """Put a task into the queue."""
        body = ask.body
        return await self.tasks.enqueue(
            body.agent, body.message, body.owner_id or self.default_owner
        )

    @route("GET", "/api/queue", returns=dict[str, JsonValue])
    async def get_queue(self, ask: Ask[Nothing, Nothing]) -> dict[str, JsonValue]:
        """Numbers about the queue and its workers."""
        return dict(await self.tasks.queue())

    @route("GET", _ONE, returns=TaskInfo, errors=(404,))
    async def get_task(self, ask: Ask[Nothing, Nothing]) -> TaskInfo:
        """One task."""
        return await self.tasks.find(ask.path["task_id"])

    @route("GET", f"{_ONE}/stream", query=Since, media_type="text/event-stream", errors=(404, 503))
    async def follow_task(self, ask: Ask[Nothing, Since]) -> EventStream:
        """A task's events: first the stored ones, then live."""
        task = await self.tasks.find(ask.path["task_id"])
        find = partial(self.tasks.event, task.id)
        since, reset = await position(ask.request, ask.query, find)
        return self.streams.response(event_frames(self.tasks.follow(task.id, since), reset=reset))

    @route(
        "POST", f"{_ONE}/answers", body=GiveAnswer, returns=AnswerOutcome, errors=(404, 409, 410)
    )
    async def answer_task_call(self, ask: Ask[GiveAnswer, Nothing]) -> AnswerOutcome:
        """Answer a pending call; the first answer wins."""
        task = await self.tasks.find(ask.path["task_id"])
        outcome = await self.tasks.answer(task.id, ask.body.call_id, answer_value(ask.body))
        return refuse_unless_accepted(outcome)

    @route("POST", f"{_ONE}/cancel", status=204, errors=(404, 409))
    async def cancel_task(self, ask: Ask[Nothing, Nothing]) -> None:
        """Stop a task."""
        task = await self.tasks.find(ask.path["task_id"])
        if not await self.tasks.cancel(task.id):
            raise ProblemError(409, f"This task is {task.status}; there is nothing to stop.")

    @route("POST", f"{_ONE}/steer", body=Say, status=204, errors=(404, 409))
    async def steer_task(self, ask: Ask[Say, Nothing]) -> None:
        """Put a message into a task."""
        task = await self.tasks.find(ask.path["task_id"])
        if task.status in ("done", "failed", "cancelled"):
            raise ProblemError(409, f"This task is {task.status}; it cannot be steered.")
        await self.tasks.steer(task.id, ask.body.message)

    @route("POST", f"{_ONE}/retry", status=204, errors=(404, 409))
    async def retry_task(self, ask: Ask[Nothing, Nothing]) -> None:
        """Go on with a failed or cancelled task where it stopped."""
        task = await self.tasks.find(ask.path["task_id"])
        if not await self.tasks.retry(task.id):
            raise ProblemError(
                409, f"This task is {task.status}; only failed and cancelled ones are tried again."
            )
