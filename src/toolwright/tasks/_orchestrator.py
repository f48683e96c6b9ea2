"""Tasks that outlive the process: enqueue them anywhere, run them on any worker."""

import contextlib
import os
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import timedelta
from typing import Any, Literal, Self, get_args

import anyio

from toolwright._expected import shown_address_of
from toolwright._sealed import Sealed
from toolwright._settings import explained
from toolwright.agent import RETRY_SECONDS, Agent, BaseAgent, Hooks, Runner
from toolwright.backends import sqlite_path
from toolwright.backends._own_paths import unless_refused
from toolwright.concurrency import close_all
from toolwright.errors import StoreError, UsageError
from toolwright.messages import Answered, Event, Pending, Prompt, user_message
from toolwright.tasks._bell import LATER, Ear, open_bell
from toolwright.tasks._children import child_tasks_tool
from toolwright.tasks._engine import Codec, Engine, EngineAddress, LineEngine
from toolwright.tasks._prune import prune_some, seconds_of
from toolwright.tasks._queue import Queue, Search
from toolwright.tasks._registered import Registered
from toolwright.tasks._schedule import Missed, Overlap, Schedule, Schedules
from toolwright.tasks._store import TaskStore
from toolwright.tasks._task import (
    APP,
    DEFAULT_QUEUE,
    PAYLOAD_SIZE,
    NewTask,
    ParentClose,
    Task,
    TaskStatus,
    task_scope,
)
from toolwright.tasks._worker import Worker
from toolwright.tools import Artifacts, AuthFlows, Credentials, Memory, Policy, Tool

__all__ = ["Orchestrator"]

_LOOK_SECONDS = 1.0


class Orchestrator(Sealed):
    """A queue of tasks, the agents that work on them, and what can be done to a task from outside.

    The address is all that differs between one machine (`sqlite:///tasks.db`) and many
    (`postgresql://…`). With `temporal://host:7233/namespace` Temporal decides when and where tasks run,
    and `store` is the address of the database that keeps them; `codec`, a `PayloadCodec` of Temporal's,
    encrypts the ids that Temporal stores. A prompt, a state, a message and an answer may take
    `max_payload` characters each.
    """

    @unless_refused()
    def __init__(
        self,
        url: str = "sqlite:///tasks.db",
        *,
        store: str | None = None,
        codec: Codec | None = None,
        lease: float = 30.0,
        max_payload: int = PAYLOAD_SIZE,
    ) -> None:
        address = _temporal_address(url, store, codec)
        database = url if address is None else address.store
        if sqlite_path(database) is None and not database.startswith("postgres"):
            got = shown_address_of(database)
            raise UsageError(f"Tasks need 'sqlite:///file.db' or 'postgresql://…'; got {got!r}.")
        if lease <= 0:
            raise UsageError(f"The lease must be positive; got {lease!r} seconds.")
        if max_payload < 1:
            raise UsageError(f"max_payload must be at least 1; got {max_payload!r}.")
        self.url = url
        self.lease = lease
        self.database_url = database
        """Where tasks are stored, whatever runs them."""
        self.bell = open_bell(database, "task")
        self.store = TaskStore(database, self.bell.ring)
        self.store.max_payload = max_payload
        self.agents: dict[str, Registered] = {}
        self.queue = Queue(self.store, self.agents, max_payload)
        self.engine: Engine = LineEngine(self.bell.ring)
        if address is not None:
            self.engine = address.open_engine(self.queue, lease, codec)
        self.store.wake = self.engine.wake
        self._schedules = Schedules(self.store.database, self.agents, max_payload)
        self._opened_in = 0
        """The process that listens: a forked one has to begin by itself."""

    @unless_refused()
    @explained
    def register(
        self,
        agent: BaseAgent,
        *,
        workers: int = 10,
        per_owner: int | None = None,
        per_key: int = 1,
        rate: tuple[int, float] | None = None,
        max_crashes: int | None = 5,
        retention: timedelta | float | None = None,
        version: str = "",
        goes_on_from: Collection[str] | None = None,
        artifacts: str | Artifacts | None = None,
        memory: str | Memory | None = None,
        credentials: str | Credentials | None = None,
        auth: AuthFlows | None = None,
        deps: Any = None,
        hooks: Hooks | None = None,
        policy: Policy | None = None,
        retry_writes: float = RETRY_SECONDS,
    ) -> None:
        """Work on tasks of `agent`, at most `workers` at once in each process.

        `per_owner`, `per_key` (of those with the same `concurrency_key`) and `rate` (so many starts in
        so many seconds) hold for all processes together.
        A task that was lost with its worker, or could not be stored, `max_crashes` times in a row
        fails with the reason; None tries it for ever. Workers forget tasks that ended longer than
        `retention` (seconds, or a timedelta) ago, as `prune` does.
        A task that ran under another `version` of the code is gone on with; where `goes_on_from`
        names the versions for which that is possible, others are left to workers that can.
        `artifacts`, `memory`, `credentials`, `auth`, `deps`, `hooks`, `policy` and
        `retry_writes` are `Runner`'s.
        """
        if agent.name in self.agents:
            raise UsageError(f"An agent named {agent.name!r} is already registered.")
        runner = Runner(
            agent,
            app_name=APP,
            store=self.store,
            artifacts=artifacts,
            memory=memory,
            credentials=credentials,
            auth=auth,
            deps=deps,
            hooks=hooks,
            policy=policy,
            retry_writes=retry_writes,
        )
        self.agents[agent.name] = Registered(
            runner=runner,
            workers=workers,
            per_owner=per_owner,
            per_key=per_key,
            rate=rate,
            max_crashes=max_crashes,
            retention=None if retention is None else seconds_of(retention, "retention"),
            version=version,
            goes_on_from=goes_on_from,
        )

    # -- starting ----------------------------------------------------------------------------

    async def enqueue(self, agent: str | BaseAgent, prompt: Prompt, **settings: Any) -> str:
        """Add a task and return its id; the settings are `NewTask`'s."""
        name = agent if isinstance(agent, str) else agent.name
        [task_id] = await self.enqueue_many([NewTask(agent=name, prompt=prompt, **settings)])
        return task_id

    async def enqueue_many(self, tasks: Sequence[NewTask]) -> Sequence[str]:
        """Add tasks in one step; their ids in the same order."""
        ids = await self.queue.enqueue(tasks)
        await self.engine.wake(ids)
        if any(task.start_at is not None for task in tasks):
            self.bell.ring(LATER)
        return ids

    async def schedule(
        self,
        agent: str | BaseAgent,
        prompt: Prompt,
        *,
        cron: str,
        timezone: str = "UTC",
        name: str = "",
        missed: Missed = "run",
        overlap: Overlap = "allow",
        **settings: Any,
    ) -> Schedule:
        """Start a task at each time that `cron` names (minute, hour, day, month, day of week), by the
        clocks of `timezone`; each once, however many workers there are.

        A schedule is known by its `name`, the agent's unless given, and replaced by another of that
        name. Of ticks that no worker was there for, the last one's task starts late (`missed="run"`)
        or none does ("skip"); with `overlap="skip"` a tick starts none while the last task has not
        ended. Its tasks have the tag `schedule:NAME`; the settings are `NewTask`'s.
        """
        known = agent if isinstance(agent, str) else agent.name
        made = await self._schedules.put(
            name or known, NewTask(agent=known, prompt=prompt, **settings), cron=cron,
            timezone=timezone, missed=missed, overlap=overlap,
        )  # fmt: skip
        self.bell.ring(LATER)
        return made

    async def schedules(self) -> Sequence[Schedule]:
        """All schedules, the next one first."""
        return await self._schedules.all()

    async def unschedule(self, name: str) -> bool:
        """Start nothing more by the schedule of that name; False when there is none."""
        return await self._schedules.remove(name)

    def child_tasks(
        self,
        agent: str | BaseAgent,
        *,
        name: str = "",
        description: str = "",
        parent_close: ParentClose = "cancel",
        queue: str | None = None,
    ) -> Tool:
        """A tool for other agents: start tasks of `agent` side by side and wait for all.

        They wait in `queue`, or in that of the task that starts them.

        They run under the rules of the agent that starts them; register `agent` first when those
        name tools of it. When their parent is cancelled, so are they, unless `parent_close` is
        "abandon".
        """
        if parent_close not in get_args(ParentClose):
            raise UsageError(f"parent_close is 'cancel' or 'abandon'; got {parent_close!r}.")
        target = agent if isinstance(agent, str) else agent.name
        known = self.agents.get(target)
        about = description or (known.runner.agent.description if known else "")
        said = f"Start one task per prompt and wait for all of them. {about}".strip()
        made = child_tasks_tool(
            self.queue, self.engine.wake, target,
            name=name or f"start_{target}_tasks", description=said, parent_close=parent_close,
            where=queue,
        )  # fmt: skip
        return made.replace(inside=(known.runner.agent,)) if known else made

    # -- from outside ------------------------------------------------------------------------

    async def complete_deferred_tool(
        self, *, task_id: str, tool_call_id: str, result: Any
    ) -> Answered:
        """Answer a call that a task waits for; the first answer wins. Says what became of it."""
        task = await self.queue.get(task_id)
        if task is None:
            return "unknown"
        return await self._runner(task).answer(task_id, tool_call_id, result)

    answer = complete_deferred_tool

    async def pending(self, task_id: str | None = None) -> Sequence[tuple[str, Pending]]:
        """The calls that wait for an answer, with their task ids."""
        rows = await self.store.waiting(task_id)
        return [(row.scope.session_id, row.pending) for row in rows if not row.problem]

    async def cancel(self, task_id: str) -> bool:
        """End a task: at once if nobody runs it, else its worker stops it. False if it had ended.

        The child tasks that it has started end with it, and theirs, unless they were started with
        `parent_close="abandon"`.
        """
        cancelled = await self.queue.request_cancel(task_id)
        for task in cancelled:
            if task.status != "ACTIVE":
                await self._abandon(task)
            self.bell.ring(f"steer:{task.id}")
        await self.engine.wake([task.id for task in cancelled])
        return bool(cancelled)

    async def steer(self, task_id: str, prompt: Prompt) -> bool:
        """Put a message into a task; it is read before the next turn. False if it has ended."""
        taken = await self.queue.steer(task_id, user_message(prompt))
        self.bell.ring(f"steer:{task_id}")
        return taken

    async def retry(self, task_id: str) -> bool:
        """Go on with a failed or cancelled task where it stopped; False if it is neither."""
        again = await self.queue.retry(task_id)
        await self.engine.wake([task_id])
        return again

    async def retry_dead_letters(
        self, *, agent: str | None = None, owner_id: str | None = None
    ) -> int:
        """`retry` all of `dead_letters`; how many there were."""
        tried = await self.queue.retry_dead(_given(agent=agent, owner_id=owner_id))
        await self.engine.wake(tried)
        return len(tried)

    async def prune(
        self,
        older: timedelta | float,
        *,
        agent: str | None = None,
        status: Literal["COMPLETED", "FAILED", "CANCELLED"] | None = None,
    ) -> int:
        """Forget tasks that ended longer ago than `older` (seconds, or a timedelta); how many.

        With a task go its journal, artifacts and long outputs; its idempotency key is free again.
        Children are kept until their parent has ended. The artifacts of agents that are not
        registered here stay.
        """
        seconds, pruned = seconds_of(older, "older"), 0
        where = _given(agent=agent, status=status)
        while step := await prune_some(self.queue, self._runner_of, where, seconds):
            pruned += step
        return pruned

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
        queue: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        since: float | None = None,
        until: float | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[Task]:
        """Tasks, newest first, of which all that is given is true.

        `text` are words of the prompt (of the last one, its beginning is enough), `since` and `until`
        say when they were enqueued, in seconds since the epoch. The next page begins `after` the id
        of the last task of this one.
        """
        where = _given(status=status, agent=agent, owner_id=owner_id, queue=queue)
        search = Search(tag=tag, text=text, since=since, until=until, after=after)
        return await self.queue.find(where, limit, search)

    async def dead_letters(
        self, *, agent: str | None = None, owner_id: str | None = None, limit: int = 100
    ) -> Sequence[Task]:
        """Failed tasks with their reasons, the latest failure first; kept until they are retried."""
        return await self.queue.dead(_given(agent=agent, owner_id=owner_id), limit)

    async def wait(self, task_id: str, timeout: float | None = None) -> Task:
        """The task when it has ended; `TimeoutError` when that takes too long."""
        with anyio.fail_after(timeout):
            await self.open()
            with self.bell.listen() as ear:
                while not (task := await self.status(task_id)).ended:
                    await _until(ear, f"task:{task_id}")
                return task

    async def events(self, task_id: str, since: int = 0) -> AsyncIterator[Event]:
        """A task's events from `since` on, then live, until it has ended."""
        task = await self.status(task_id)
        scope = task_scope(task_id, task.owner_id)
        await self.open()
        with self.bell.listen() as ear:
            while True:
                ended = (await self.status(task_id)).ended
                found = await self.store.events(scope, since)
                for event in found:
                    since = event.seq
                    yield event
                if ended:
                    return
                if not found:
                    await _until(ear, f"task:{task_id}")

    async def stored_events(self, task_id: str, since: int = 0) -> Sequence[Event]:
        """A task's events so far, after sequence number `since`."""
        task = await self.status(task_id)
        return await self.store.events(task_scope(task_id, task.owner_id), since)

    async def changed(self, seconds: float) -> None:
        """Return when a task has moved, at the latest after `seconds`."""
        await self.open()
        with self.bell.listen() as ear:
            await ear.wait(seconds)

    # -- working -----------------------------------------------------------------------------

    async def open(self) -> None:
        """Begin to listen for changes made by other processes; done by itself when needed."""
        if self._opened_in != os.getpid():
            self._opened_in = os.getpid()
            await self.bell.open()

    def worker(self, *, queues: Sequence[str] = (DEFAULT_QUEUE,)) -> Worker:
        """A worker for the registered agents; `run` it.

        It takes tasks from `queues` alone, and of those that are ready, the first one's first.
        """
        if isinstance(queues, str) or not queues or not all(queues):
            raise UsageError(f"queues are one or more names of queues; got {queues!r}.")
        if len(queues) > 1 and "several queues" not in self.engine.offers:
            raise UsageError(
                f"On Temporal a worker takes tasks from one queue; got {list(queues)!r}. "
                "Run one worker for each."
            )
        if not self.agents:
            raise UsageError("Register at least one agent before you start a worker.")
        bell = open_bell(self.database_url, "work", "steer")
        return Worker(
            self.store, self.queue, self._schedules, self.engine, bell, self.agents, self.lease,
            tuple(queues),
        )  # fmt: skip

    async def close(self) -> None:
        """Close the registered agents and what their runners opened, then the connections."""
        self._opened_in = 0
        runners = [registered.runner.close for registered in self.agents.values()]
        await close_all([self.engine.close, self.store.close, self.bell.close, *runners])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    # -- inside ------------------------------------------------------------------------------

    def _runner(self, task: Task) -> Runner:
        return self._runner_of(task.agent)

    def _runner_of(self, agent: str) -> Runner:
        known = self.agents.get(agent)
        return (
            known.runner if known else Runner(Agent(name="nobody"), app_name=APP, store=self.store)
        )

    async def _abandon(self, task: Task) -> None:
        """End a task that nobody runs; if a worker has just taken it up, that sees to it."""
        scope = task_scope(task.id, task.owner_id)
        await self.store.database.write(lambda connection: self.store.open_in(connection, scope))
        with contextlib.suppress(StoreError):
            await self._runner(task).abandon(task.id)


def _temporal_address(url: str, store: str | None, codec: Codec | None) -> EngineAddress | None:
    if url.startswith("temporal:"):
        from toolwright.tasks._temporal import TemporalAddress  # noqa: PLC0415 - optional dependency

        return TemporalAddress.read(url, store)
    if store is not None or codec is not None:
        raise UsageError(
            "store and codec belong to 'temporal://…'; any other address is where tasks are stored."
        )
    return None


def _given(**filters: str | None) -> dict[str, str]:
    return {column: value for column, value in filters.items() if value is not None}


async def _until(ear: Ear, topic: str) -> None:
    """Wait for a ring about `topic`; look now and then in case it was lost."""
    with anyio.move_on_after(_LOOK_SECONDS):
        while topic not in await ear.wait(_LOOK_SECONDS):
            pass
