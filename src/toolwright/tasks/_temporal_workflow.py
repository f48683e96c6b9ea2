"""The workflow of a task on Temporal: its segments, one after the other, and the waits between them.

It knows the task's id and nothing of its contents. What it does is replayed from histories that older
versions have written: tests hold some, and every change here has to replay them.
"""

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, is_cancelled_exception

__all__ = ["Order", "Outcome", "TaskWorkflow"]

_NOT_NOW = RetryPolicy(
    initial_interval=timedelta(seconds=0.1),
    backoff_coefficient=1.5,
    maximum_interval=timedelta(seconds=10),
)
"""A segment that may not run now (another worker has the task, its owner is at a limit, this worker's code
is of another version) is tried again, here or elsewhere; tries are not in the history."""
_FOR_EVER = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Order:
    """A task, and who runs it."""

    task_id: str
    task_queue: str
    lease: float
    """A worker that showed no life for so many seconds is taken to be gone."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a task stands after a segment."""

    ended: bool
    seconds: float | None
    """When it goes on by itself: a deadline, a later start, a pause after a failure; 0 is at once."""


@workflow.defn(name="toolwright.task")
class TaskWorkflow:
    """Runs segments until the task has ended."""

    def __init__(self) -> None:
        self._woken = False

    @workflow.signal
    def wake(self) -> None:
        """Something was stored for the task."""
        self._woken = True

    @workflow.run
    async def run(self, order: Order) -> None:
        """Go on with the task whenever there is something to do."""
        while not workflow.info().is_continue_as_new_suggested():
            try:
                if await self._has_ended(order):
                    return
            except (asyncio.CancelledError, ActivityError) as error:
                if not is_cancelled_exception(error):
                    raise
                # Cancelled in Temporal: so is the task, and it ends as one does.
                await self._do("cancel", order)
        workflow.continue_as_new(order)

    async def _has_ended(self, order: Order) -> bool:
        # Before the segment: what is stored from now on may be too late for it.
        self._woken = False
        outcome = await self._do("segment", order)
        if not self._woken and outcome.seconds != 0:
            if outcome.ended and outcome.seconds is None:
                return True
            with contextlib.suppress(asyncio.TimeoutError):
                await workflow.wait_condition(lambda: self._woken, timeout=outcome.seconds)
        return False

    async def _do(self, activity: str, order: Order) -> Outcome:
        return await workflow.execute_activity(
            activity,
            order.task_id,
            result_type=Outcome,
            task_queue=order.task_queue,
            start_to_close_timeout=_FOR_EVER,
            heartbeat_timeout=timedelta(seconds=order.lease),
            retry_policy=_NOT_NOW,
        )
