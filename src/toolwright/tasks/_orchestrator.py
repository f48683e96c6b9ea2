"""Tasks that outlive the process: enqueue them anywhere, run them on any worker."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio

from toolwright.agent import Agent, Runner
from toolwright.backends import open_store
from toolwright.errors import UsageError
from toolwright.messages import Answered, Event, Pending, Prompt, user_message
from toolwright.tasks._bell import open_bell
from toolwright.tasks._children import child_tasks_tool, report_to_parent
from toolwright.tasks._queue import Queue
from toolwright.tasks._task import NewTask, Task, TaskStatus
from toolwright.tasks._worker import Registered, Worker, task_scope
from toolwright.tools import Tool

__all__ = ["Orchestrator"]

_WAIT_SECONDS = 1.0


class Orchestrator:
    """A queue of tasks, the agents that work on them, and what can be done to a task from outside.

    The address is all that differs between one machine (`sqlite:///tasks.db`) and many
    (`postgresql://…`).
    """

    def __init__(self, url: str = "sqlite:///tasks.db", *, lease: float = 30.0) -> None:
        if not url.startswith(("sqlite", "postgres")):
            raise UsageError(f"Tasks need 'sqlite:///file.db' or 'postgresql://…'; got {url!r}.")
        if lease <= 0:
            raise UsageError(f"The lease must be positive; got {lease!r} seconds.")
        self.url = url
        self.lease = lease
        self.store = open_store(url)
        self.queue = Queue(url)
        self.bell = open_bell(url)
        self.agents: dict[str, Registered] = {}
        self._opened = False

    def register(
        self,
        agent: Agent,
        *,
        workers: int = 10,
        per_owner: int | None = None,
        rate: tuple[int, float] | None = None,
        version: str = "",
        **services: Any,
    ) -> None:
        """Work on tasks of `agent`, at most `workers` at once in each process.

        `per_owner` and `rate` (so many starts in so many seconds) hold for all processes together.
        Further settings (`artifacts`, `memory`, `credentials`, `deps`) are `Runner`'s.
        """
        if agent.name in self.agents:
            raise UsageError(f"An agent named {agent.name!r} is already registered.")
        runner = Runner(agent, app_name="tasks", store=self.store, **services)
        self.agents[agent.name] = Registered(
            runner=runner, workers=workers, per_owner=per_owner, rate=rate, version=version
        )

    # -- starting ----------------------------------------------------------------------------

    async def enqueue(self, agent: str | Agent, prompt: Prompt, **settings: Any) -> str:
        """Add a task and return its id; the settings are `NewTask`'s."""
        name = agent if isinstance(agent, str) else agent.name
        [task_id] = await self.enqueue_many([NewTask(agent=name, prompt=prompt, **settings)])
        return task_id

    async def enqueue_many(self, tasks: Sequence[NewTask]) -> Sequence[str]:
        """Add tasks in one step; their ids in the same order."""
        ids = await self.queue.enqueue(tasks)
        await self._ring("work")
        return ids

    def child_tasks(self, agent: str | Agent, *, name: str = "", description: str = "") -> Tool:
        """A tool for other agents: start tasks of `agent` side by side and wait for all."""
        target = agent if isinstance(agent, str) else agent.name
        known = self.agents.get(target)
        about = description or (known.runner.agent.description if known else "")
        said = f"Start one task per prompt and wait for all of them. {about}".strip()
        return child_tasks_tool(
            self.queue, self.bell, target, name or f"start_{target}_tasks", said
        )

    # -- from outside ------------------------------------------------------------------------

    async def complete_deferred_tool(
        self, *, task_id: str, tool_call_id: str, result: Any
    ) -> Answered:
        """Answer a call that a task waits for; the first answer wins. Says what became of it."""
        registered = await self._registered(task_id)
        if registered is None:
            return "unknown"
        task, runner = registered
        rows = await self.store.open_calls("tasks", task_id)
        answered = await runner.answer(task_id, tool_call_id, result)
        if answered == "accepted":
            late = any(not r.pending.blocking for r in rows if r.pending.call_id == tool_call_id)
            await self._wake_if_ready(task, late=late)
        return answered

    answer = complete_deferred_tool

    async def pending(self, task_id: str | None = None) -> Sequence[tuple[str, Pending]]:
        """The calls that wait for an answer, with their task ids."""
        rows = await self.store.open_calls("tasks", task_id)
        return [(row.scope.session_id, row.pending) for row in rows if not row.answered]

    async def cancel(self, task_id: str) -> bool:
        """End a task: at once if nobody runs it, else its worker stops it. False if it had ended."""
        before = await self.queue.request_cancel(task_id)
        if before == "ACTIVE":
            await self._ring(f"steer:{task_id}")
        elif before in ("QUEUED", "PENDING_TOOL_RESULTS", "PENDING_CHILD_TASKS"):
            await self._abandon(task_id)
        else:
            return False
        return True

    async def steer(self, task_id: str, prompt: Prompt) -> TaskStatus:
        """Put a message into a task; it is read before the next turn."""
        status = await self.queue.steer(task_id, user_message(prompt))
        await self._ring(f"steer:{task_id}")
        return status

    async def retry(self, task_id: str) -> bool:
        """Go on with a failed or cancelled task where it stopped; False if it is neither."""
        again = await self.queue.retry(task_id)
        await self._ring("work")
        return again

    # -- looking -----------------------------------------------------------------------------

    async def status(self, task_id: str) -> Task:
        """What is known of a task."""
        task = await self.queue.get(task_id)
        if task is None:
            raise UsageError(f"There is no task {task_id!r}.")
        return task

    async def list(
        self,
        *,
        status: TaskStatus | None = None,
        agent: str | None = None,
        owner_id: str | None = None,
        limit: int = 100,
    ) -> Sequence[Task]:
        """Tasks, newest first."""
        given = {"status": status, "agent": agent, "owner_id": owner_id}
        return await self.queue.find({k: v for k, v in given.items() if v is not None}, limit)

    async def wait(self, task_id: str, timeout: float | None = None) -> Task:
        """The task when it has ended; `TimeoutError` when that takes too long."""
        with anyio.fail_after(timeout):
            await self.open()
            while not (task := await self.status(task_id)).ended:
                await self.bell.wait(_WAIT_SECONDS)
            return task

    async def events(self, task_id: str, since: int = 0) -> AsyncIterator[Event]:
        """A task's events from `since` on, then live, until it has ended."""
        task = await self.status(task_id)
        await self.open()
        while True:
            found = await self.store.events(task_scope(task), since)
            for event in found:
                since = event.seq
                yield event
            if (await self.status(task_id)).ended and not found:
                return
            if not found:
                await self.bell.wait(_WAIT_SECONDS)

    async def stored_events(self, task_id: str, since: int = 0) -> Sequence[Event]:
        """A task's events so far, after sequence number `since`."""
        return await self.store.events(task_scope(await self.status(task_id)), since)

    async def changed(self, seconds: float) -> None:
        """Return when something has happened in the queue, at the latest after `seconds`."""
        await self.open()
        await self.bell.wait(seconds)

    # -- working -----------------------------------------------------------------------------

    async def open(self) -> None:
        """Begin to listen for changes made by other processes; done by itself when needed."""
        if not self._opened:
            self._opened = True
            await self.bell.open()

    def worker(self) -> Worker:
        """A worker for the registered agents; `run` it."""
        if not self.agents:
            raise UsageError("Register at least one agent before you start a worker.")
        return Worker(self.queue, open_bell(self.url), self.agents, self.lease)

    async def close(self) -> None:
        """Let go of connections."""
        if self._opened:
            self._opened = False
            await self.bell.close()
        await self.queue.close()
        await self.store.close()

    # -- inside ------------------------------------------------------------------------------

    async def _ring(self, topic: str) -> None:
        await self.open()
        self.bell.ring(topic)

    async def _registered(self, task_id: str) -> tuple[Task, Runner] | None:
        task = await self.queue.get(task_id)
        if task is None:
            return None
        known = self.agents.get(task.agent)
        bare = Runner(Agent(name="nobody"), app_name="tasks", store=self.store)
        return task, known.runner if known else bare

    async def _wake_if_ready(self, task: Task, *, late: bool) -> None:
        rows = await self.store.open_calls("tasks", task.id)
        if any(row.pending.blocking and not row.answered for row in rows):
            return
        if await self.queue.wake(task.id, completed=late):
            await self._ring("work")

    async def _abandon(self, task_id: str) -> None:
        registered = await self._registered(task_id)
        if registered is None:
            return
        task, runner = registered
        if await self.store.find("tasks", task_id) is not None:
            await runner.abandon(task_id)
        await report_to_parent(self.queue, self.store, self.bell, task)
        await self._ring(f"task:{task_id}")
