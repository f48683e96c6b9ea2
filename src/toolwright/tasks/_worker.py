"""Take tasks from the queue and run each until it ends or waits for the outside."""

import asyncio
import logging
import os
import socket
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from toolwright.agent import Result, Runner
from toolwright.errors import StoreError, ToolwrightError
from toolwright.messages import Pending, Scope
from toolwright.tasks._bell import Bell
from toolwright.tasks._children import CHILDREN, report_to_parent
from toolwright.tasks._heartbeat import Heartbeat
from toolwright.tasks._queue import Claim, Line, Queue
from toolwright.tasks._task import Task, TaskStatus

__all__ = ["Registered", "Worker", "task_scope"]

logger = logging.getLogger("toolwright")

LOOK_SECONDS = 5.0
"""How often a worker looks by itself, should a ring be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """An agent and how many of its tasks may run."""

    runner: Runner
    workers: int
    per_owner: int | None
    rate: tuple[int, float] | None
    version: str


def task_scope(task: Task) -> Scope:
    """The session in which a task runs."""
    return Scope(app_name="tasks", user_id=task.owner_id, session_id=task.id)


class Worker:
    """One process's share of the work."""

    def __init__(
        self, queue: Queue, bell: Bell, agents: Mapping[str, Registered], lease: float
    ) -> None:
        self.name = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._queue = queue
        self._bell = bell
        self._agents = agents
        self._lease = lease
        self._running: dict[str, Task] = {}
        self._draining = False
        self._again = asyncio.Event()
        self._heartbeat: Heartbeat | None = None

    async def run(self) -> None:
        """Work until `drain` is called; then finish what is running."""
        loop = asyncio.get_running_loop()

        def lost(task_id: str) -> None:
            loop.call_soon_threadsafe(self._stop_lost, task_id)

        await self._bell.open()
        self._heartbeat = Heartbeat(self._queue, self.name, self._lease, lost)
        self._heartbeat.start()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._listen)
                group.start_soon(self._watch_clock)
                while not self._draining:
                    if not await self._take(group):
                        await self._next_change()
                while self._running:
                    await self._next_change()
                group.cancel_scope.cancel()
        finally:
            self._heartbeat.stop()
            with anyio.CancelScope(shield=True):
                await self._bell.close()

    def drain(self) -> None:
        """Take nothing new; `run` returns when what is running has ended or parked."""
        self._draining = True
        self._again.set()

    # -- taking ------------------------------------------------------------------------------

    async def _take(self, group: anyio.abc.TaskGroup) -> bool:
        lines = [line for name in self._agents if (line := self._line(name)).slots > 0]
        claims = await self._queue.claim(lines, self.name, self._lease, "") if lines else []
        for claim in claims:
            self._running[claim.task.id] = claim.task
            if self._heartbeat is not None:
                self._heartbeat.held.add(claim.task.id)
            group.start_soon(self._work_on, claim)
        return bool(claims)

    def _line(self, name: str) -> Line:
        registered = self._agents[name]
        busy = sum(1 for task in self._running.values() if task.agent == name)
        return Line(
            agent=name,
            slots=registered.workers - busy,
            per_owner=registered.per_owner,
            rate=registered.rate,
        )

    async def _next_change(self) -> None:
        await self._again.wait()
        self._again = asyncio.Event()

    async def _watch_clock(self) -> None:
        """Wake up for what is due by itself: deadlines, scheduled starts, leases that ran out."""
        while True:
            moment = await self._queue.next_moment()
            now = time.time()
            due = LOOK_SECONDS if moment is None else min(LOOK_SECONDS, max(0.01, moment - now))
            await anyio.sleep(due)
            for task in await self._queue.parked(due=time.time()):
                await self._queue.wake(task.id)
            self._again.set()

    # -- running -----------------------------------------------------------------------------

    async def _work_on(self, claim: Claim) -> None:
        task, registered = claim.task, self._agents[claim.task.agent]
        try:
            await self._run_segment(claim, registered)
        except StoreError as error:
            # Another worker has the task now, or the database is away: whoever is next goes on.
            logger.warning("task %s was given up by %s: %s", task.id, self.name, error)
        finally:
            self._running.pop(task.id, None)
            if self._heartbeat is not None:
                self._heartbeat.held.discard(task.id)
            self._again.set()
            self._bell.ring(f"task:{task.id}")

    async def _run_segment(self, claim: Claim, registered: Registered) -> None:
        task, runner = claim.task, registered.runner
        if claim.cancel:
            await self._let_go(task, "CANCELLED", reason="cancelled")
            return
        try:
            result = await self._go(claim, runner)
        except StoreError:
            raise
        except ToolwrightError as error:
            await self._let_go(task, "FAILED", reason=str(error))
            return
        except Exception as error:
            logger.exception("task %s failed", task.id)
            await self._let_go(task, "FAILED", reason=f"{type(error).__name__}: {error}")
            return
        await self._settle(task, runner, result)

    async def _go(self, claim: Claim, runner: Runner) -> Result:
        task = claim.task
        if await self._is_new(task, runner):
            return await runner.run(
                claim.prompt,
                user_id=task.owner_id,
                session_id=task.id,
                state=claim.state,
                task_id=task.id,
            )
        return await runner.resume(task.id, task_id=task.id)

    async def _is_new(self, task: Task, runner: Runner) -> bool:
        if task.attempts == 0:
            return True
        known = await runner.store.find("tasks", task.id)
        return known is None or known.last_seq == 0

    async def _settle(self, task: Task, runner: Runner, result: Result) -> None:
        if result.status == "paused":
            await self._park(task, runner, result)
        elif result.status == "done":
            await self._let_go(task, "COMPLETED", text=result.text)
        elif result.reason == "cancelled":
            await self._let_go(task, "CANCELLED", reason=result.reason)
        else:
            await self._let_go(task, "FAILED", text=result.text, reason=result.reason)

    async def _park(self, task: Task, runner: Runner, result: Result) -> None:
        """Leave the task to the outside, and look once more: an answer may just have come."""
        await self._queue.let_go(
            task.id, self.name, _waiting_status(result.pending), wake_at=_nearest(result.pending)
        )
        rows = await runner.store.open_calls("tasks", task.id)
        if not any(row.pending.blocking and not row.answered for row in rows):
            await self._queue.wake(task.id)

    async def _let_go(
        self, task: Task, status: TaskStatus, *, text: str = "", reason: str = ""
    ) -> None:
        kept = await self._queue.let_go(task.id, self.name, status, text=text, reason=reason)
        if kept and task.parent_id is not None:
            await report_to_parent(
                self._queue, self._agents[task.agent].runner.store, self._bell, task
            )

    # -- what reaches running tasks ----------------------------------------------------------

    async def _listen(self) -> None:
        while True:
            topics = await self._bell.wait(LOOK_SECONDS)
            for task_id in list(self._running):
                if f"steer:{task_id}" in topics or not topics or "reconnected" in topics:
                    await self._look_at_inbox(task_id)
            if topics:
                self._again.set()

    async def _look_at_inbox(self, task_id: str) -> None:
        task = self._running.get(task_id)
        if task is None:
            return
        runner = self._agents[task.agent].runner
        cancel, messages = await self._queue.take_inbox(task_id)
        for message in messages:
            runner.steer(task_id, message)
        if cancel:
            runner.cancel(task_id)

    def _stop_lost(self, task_id: str) -> None:
        task = self._running.get(task_id)
        if task is not None:
            self._agents[task.agent].runner.cancel(task_id)


def _waiting_status(pending: tuple[Pending, ...]) -> TaskStatus:
    children = bool(pending) and all(p.payload == CHILDREN for p in pending if p.blocking)
    return "PENDING_CHILD_TASKS" if children else "PENDING_TOOL_RESULTS"


def _nearest(pending: tuple[Pending, ...]) -> float | None:
    return min((p.deadline for p in pending if p.deadline is not None), default=None)
