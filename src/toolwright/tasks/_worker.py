"""Take tasks from the queue and run each until it ends or waits for the outside."""

import asyncio
import logging
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread

from toolwright._sealed import Sealed
from toolwright.agent import Result, Runner
from toolwright.backends.sql import BEATS_PER_LEASE, LOOKS_PER_LEASE, Heartbeat, new_name
from toolwright.errors import StoreError, UnreadableError
from toolwright.messages import decode_message, from_exact_json
from toolwright.tasks._bell import LATER, Bell
from toolwright.tasks._engine import Engine, SegmentRunner
from toolwright.tasks._line import Line
from toolwright.tasks._prune import prune_some
from toolwright.tasks._queue import Claim, Mail, Queue
from toolwright.tasks._registered import Registered, above_child
from toolwright.tasks._roll import WorkerRoll
from toolwright.tasks._schedule import Schedules
from toolwright.tasks._store import TaskStore
from toolwright.tasks._task import (
    ASKED,
    COST,
    DEFAULT_QUEUE,
    RULES,
    SUSPECT,
    UNDER,
    UNRULED,
    Task,
)

__all__ = ["Worker", "current_task"]

logger = logging.getLogger("toolwright")

current_task: ContextVar[str] = ContextVar("toolwright_task", default="")
"""The id of the task that is worked on here, for logs: its tools and threads have it too."""

LOOK_SECONDS = 5.0
"""How often a worker looks by itself, should a ring be lost."""
PRUNE_SECONDS = 60.0
"""How often a worker looks for tasks to forget."""
_AT_IT_SECONDS = 0.05
START_SECONDS = 0.02
"""How long a task that is only just starting is given before it is told something."""


class Worker(Sealed):
    """One process's share of the work."""

    def __init__(
        self,
        store: TaskStore,
        queue: Queue,
        schedules: Schedules,
        engine: Engine,
        bell: Bell,
        agents: Mapping[str, Registered],
        lease: float,
        queues: Sequence[str] = (DEFAULT_QUEUE,),
    ) -> None:
        self.queues = queues
        """From which it takes tasks: of those that are ready, the first one's first."""
        self.name = new_name()
        self._store = store
        self._queue = queue
        self._schedules = schedules
        self._engine = engine
        self._bell = bell
        self._agents = agents
        self._lease = lease
        self._pause = min(LOOK_SECONDS, lease / LOOKS_PER_LEASE)
        """Between two looks at the other workers."""
        self._roll = WorkerRoll(store.database, self._pause)
        self._running: dict[str, Claim] = {}
        self._busy: Counter[str] = Counter()
        self._read: dict[str, int] = {}
        """The last letter that each running task has been given."""
        self._undelivered: set[str] = set()
        """Tasks that were only just starting when something came for them."""
        self._owes = False
        """Whether it holds tasks that it does not run."""
        self._given_up: dict[str, str] = {}
        """Why it does not run some of them any more."""
        self._holding = anyio.Lock()
        """Held while it changes which tasks are its own: one just claimed must not be given back."""
        self._group: anyio.abc.TaskGroup | None = None
        """In which segments run, while it takes any."""
        self._draining = anyio.Event()
        self._drain_seconds: float | None = None
        self._again = asyncio.Event()
        self._alarm = asyncio.Event()
        self._heartbeat: Heartbeat | None = None
        self._missed: defaultdict[str, list[str]] = defaultdict(list)
        """The versions of each agent that it has said it cannot go on with."""
        self._failing: dict[str, tuple[float, str]] = {}
        """The looks that the database refuses: since when, and why the last time."""

    @property
    def problem(self) -> str:
        """Why it has not reached its database for its lease or longer; empty while it does."""
        late = time.monotonic() - self._lease
        return next((why for since, why in self._failing.values() if since <= late), "")

    async def run(self) -> None:
        """Work until `drain` is called; then finish what is running.

        Cancelled, it stops what is running and gives it back.
        """
        await self._bell.open()
        try:
            await self._join()
        except BaseException:
            await self._bell.close()
            raise
        try:
            async with self._engine.feed(self._lent()) as take, anyio.create_task_group() as group:
                self._group = group
                group.start_soon(self._listen)
                group.start_soon(self._watch)
                group.start_soon(self._prune)
                while not self._draining.is_set():
                    if not await take():
                        await self._next_change()
                self._group = None
                with anyio.move_on_after(self._drain_seconds):
                    while self._running:
                        await self._next_change()
                if self._running:
                    said = "worker %s has drained for %g s and gives %d tasks back"
                    self._say(logging.WARNING, "drained", said, self.name, self._drain_seconds,
                              len(self._running))  # fmt: skip
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._leave()
                await self._bell.close()

    def drain(self, seconds: float | None = None) -> None:
        """Take nothing new; `run` returns when what is running has ended or parked.

        What still runs after so many `seconds` is stopped and given back.
        """
        self._drain_seconds = seconds
        self._draining.set()
        self._again.set()

    def _lent(self) -> SegmentRunner:
        return SegmentRunner(
            agents=self._agents,
            queues=self.queues,
            take_next=self._take,
            run_segment=self._run_only,
            look=self._again.set,
            draining=self._draining,
        )

    def _say(
        self, level: int, event: str, text: str, *values: object, task: Task | None = None
    ) -> None:
        """Log what happened, in words and as fields."""
        about = {} if task is None else {"task": task.id, "agent": task.agent}
        logger.log(level, text, *values, extra={"event": event, "worker": self.name, **about})

    # -- being one of the workers --------------------------------------------------------------

    async def _join(self) -> None:
        loop = asyncio.get_running_loop()
        # A new one each time: of a worker made before a fork, each process runs one of its own.
        self.name = name = new_name()
        await self._queue.announce(self.queues)
        await self._roll.join(name, self._lease)

        def beat() -> bool:
            alive = self._roll.beat_now(name, within=self._lease / BEATS_PER_LEASE)
            if not alive:
                loop.call_soon_threadsafe(self._alarm.set)
                loop.call_soon_threadsafe(self._stop_all)
            return alive

        self._heartbeat = Heartbeat(f"worker {name}", beat, self._lease / BEATS_PER_LEASE)
        self._heartbeat.start()

    async def _leave(self) -> None:
        if self._heartbeat is not None:
            await anyio.to_thread.run_sync(self._heartbeat.stop)
        with _given_up("the database could not be told that worker %s leaves", self.name):
            await self._roll.leave(self.name)
            self._bell.ring("work")

    def _stop_all(self) -> None:
        """This worker was taken for dead: others have its tasks, and it must begin anew."""
        self._say(
            logging.WARNING, "expired", "worker %s was taken for dead and begins anew", self.name
        )
        self._heartbeat, self.name = None, new_name()
        for task_id, claim in self._running.items():
            self._agents[claim.task.agent].runner.cancel(task_id)

    # -- taking --------------------------------------------------------------------------------

    async def _take(self) -> bool:
        if not any(line.slots > 0 for line in self._lines()):
            return False
        claims = await self._claim(self._lines)
        for claim in claims:
            self._start(self._work_on, claim)
        return bool(claims)

    async def _run_only(self, agent: str, queue: str, task_id: str) -> bool:
        """Take up this task and run its next segment; False when it may not be taken up now."""
        ended = asyncio.get_running_loop().create_future()
        # In a task of the worker's own: when whoever waits is cancelled, what was claimed must not
        # be forgotten, nor what runs be stopped.
        if not self._start(self._take_only, agent, queue, task_id, ended):
            return False
        return await asyncio.shield(ended)

    async def _take_only(
        self, agent: str, queue: str, task_id: str, ended: "asyncio.Future[bool]"
    ) -> None:
        def lines() -> list[Line]:
            mine = [line for line in self._lines() if (line.agent, line.queue) == (agent, queue)]
            return [replace(line, only=task_id) for line in mine]

        has_run = False
        try:
            for claim in await self._claim(lines):
                has_run = True
                await self._work_on(claim)
        finally:
            ended.set_result(has_run)

    def _start(self, work: Callable[..., Any], *args: Any) -> bool:
        if self._group is not None:
            self._group.start_soon(work, *args)
        return self._group is not None

    async def _claim(self, lines: Callable[[], list[Line]]) -> list[Claim]:
        if self._heartbeat is None:
            return []
        async with self._holding:
            # Taken for dead meanwhile, it has another name: the claim is still under this one.
            name = self.name
            claims = await self._claim_from(lines)
            for claim in claims:
                self._running[claim.task.id] = claim
                self._busy[claim.task.agent] += 1
                self._store.holders[claim.task.id] = name
        return claims

    async def _claim_from(self, lines: Callable[[], list[Line]]) -> list[Claim]:
        with self._looking("for tasks"):
            return await self._queue.claim(lines, self.name)
        # They may be claimed all the same, when only the acknowledgement was lost. Seen to at
        # the next look: at once would be again and again while the database is away.
        self._owes = True
        return []

    @contextmanager
    def _looking(self, what: str) -> Iterator[None]:
        """Go on without what the database refuses, and remember since when it has."""
        try:
            yield
        except StoreError as error:
            event = "database_away" if self._failing else "database_lost"
            said = "worker %s could not look %s: %s"
            self._say(logging.WARNING, event, said, self.name, what, error)
            since, _ = self._failing.get(what, (time.monotonic(), ""))
            self._failing[what] = (since, f"{type(error).__name__}: {error}")
        else:
            since, _ = self._failing.pop(what, (0.0, ""))
            if since and not self._failing:
                seconds = time.monotonic() - since
                said = "worker %s has reached its database again, after %.1f s"
                self._say(logging.INFO, "database_found", said, self.name, seconds)

    def _lines(self) -> list[Line]:
        runs_suspect = any(claim.task.crashes >= SUSPECT for claim in self._running.values())
        return [
            Line(
                agent=name,
                queue=queue,
                slots=registered.workers - self._busy[name],
                per_owner=registered.per_owner,
                per_key=registered.per_key,
                rate=registered.rate,
                suspect=not runs_suspect,
                version=registered.version,
                goes_on_from=registered.goes_on_from,
            )
            for name, registered in self._agents.items()
            for queue in self.queues
        ]

    async def _next_change(self) -> None:
        await self._again.wait()
        self._again.clear()

    # -- running -------------------------------------------------------------------------------

    async def _work_on(self, claim: Claim) -> None:
        task_id = claim.task.id
        current_task.set(task_id)
        try:
            await self._run_segment(claim)
        except UnreadableError as error:
            await self._refuse(task_id, str(error))
        except StoreError as error:
            # Another worker has the task now, or the database is away: whoever is next goes on.
            said = "task %s was given up by %s: %s"
            self._say(logging.WARNING, "given_up", said, task_id, self.name, error, task=claim.task)
            self._given_up[task_id] = str(error)
            self._owes = True
        except Exception as error:
            about = {"event": "failed", "worker": self.name, "task": task_id}
            logger.warning("task %s failed", task_id, exc_info=True, extra=about)
            # Most have failed with their journal already; then there is nothing to refuse.
            await self._refuse(task_id, f"{type(error).__name__}: {error}")
            await self._say_if_retried(claim.task)
            self._alarm.set()
        finally:
            self._forget(claim)

    async def _say_if_retried(self, task: Task) -> None:
        with _given_up("worker %s could not look what becomes of a failed task", self.name):
            now = await self._queue.get(task.id)
            if now is not None and now.failures and now.status == "QUEUED":
                said = "task %s (%s) is tried again in %.0f s, after %d failures"
                pause = max(0.0, now.start_at - time.time())
                self._say(
                    logging.INFO, "retried", said, task.id, task.agent, pause, now.failures,
                    task=task,
                )  # fmt: skip

    async def _refuse(self, task_id: str, reason: str) -> None:
        try:
            await self._queue.conclude(task_id, "FAILED", reason=reason)
        except StoreError as error:
            logger.warning("task %s could not be refused: %s", task_id, error)
            self._owes = True

    def _forget(self, claim: Claim) -> None:
        task_id = claim.task.id
        del self._running[task_id]
        self._busy[claim.task.agent] -= 1
        self._read.pop(task_id, None)
        self._undelivered.discard(task_id)
        self._store.holders.pop(task_id, None)
        self._again.set()
        if self._owes:
            self._alarm.set()

    async def _run_segment(self, claim: Claim) -> None:
        """Run the task to its end or to where it waits; the journal settles it."""
        task, registered = claim.task, self._agents[claim.task.agent]
        if claim.mail.cancel:
            await registered.runner.abandon(task.id)
            said = "task %s (%s) is cancelled"
            self._say(logging.INFO, "cancelled", said, task.id, task.agent, task=task)
        elif (reason := registered.refusal(task)) is not None:
            await self._queue.conclude(task.id, "FAILED", reason=reason)
            said = "task %s (%s) is refused: %s"
            self._say(logging.WARNING, "refused", said, task.id, task.agent, reason, task=task)
        else:
            self._say(logging.INFO, "taken", "task %s (%s) begins", task.id, task.agent, task=task)
            result = await self._go(claim, registered.runner)
            event, ended = _ended(result)
            self._say(logging.INFO, event, "task %s (%s) %s", task.id, task.agent, ended, task=task)
            if event == "failed":
                await self._say_if_retried(task)
            if not result.events:
                # Nothing was left to do, so nothing was written that could have settled it.
                await self._queue.conclude(task.id, "COMPLETED", said=result.text)
            elif result.status != "done":
                self._alarm.set()

    async def _go(self, claim: Claim, runner: Runner) -> Result:
        task, letters = claim.task, claim.mail.letters
        self._read[task.id] = letters[-1].id if letters else 0
        state = from_exact_json(claim.state)
        path, unruled = state.pop(UNDER, ()), state.pop(UNRULED, ())
        records = state.pop(RULES, ())
        asked, cost = state.pop(ASKED, None), state.pop(COST, 0.0)
        above = replace(above_child(path, asked, self._agents, unruled, records), cost=cost)
        return await runner.begin_or_resume(
            decode_message(claim.prompt),
            user_id=task.owner_id,
            session_id=task.id,
            state=state,
            above=above,
            task_id=task.id,
            steered=[letter.message for letter in letters],
        )

    # -- what happens meanwhile ----------------------------------------------------------------

    async def _listen(self) -> None:
        with self._bell.listen() as ear:
            while True:
                topics = await ear.wait(START_SECONDS if self._undelivered else LOOK_SECONDS)
                if "work" in topics:
                    self._again.set()
                if LATER in topics:
                    self._alarm.set()
                named = {t for t in self._running if f"steer:{t}" in topics}
                await self._look_at_mail(named | self._undelivered)

    async def _watch(self) -> None:
        """See to what is due by itself: deadlines, scheduled starts, workers that have died."""
        looked = 0.0
        while True:
            pause = min([self._pause, *self._rate_pauses()])
            with self._looking("what is due"):
                if time.monotonic() - looked >= pause:
                    looked = time.monotonic()
                    await self._look_around()
                if self._owes:
                    await self._give_back()
                pause = min(pause, await self._start_scheduled())
                moment = await self._queue.wake_due()
                if moment is not None:
                    pause = min(pause, max(0.0, moment - time.time()) + 0.001)
            self._again.set()
            with anyio.move_on_after(pause):
                await self._alarm.wait()
            self._alarm.clear()

    async def _start_scheduled(self) -> float:
        """Start what is due by a schedule; in how many seconds the next is."""
        fired, seconds = await self._schedules.fire_due()
        for one in fired:
            if one.task_id is None:
                said = "schedule %s started nothing: %s"
                self._say(logging.WARNING, "schedule_skipped", said, one.name, one.problem)
            else:
                said = "schedule %s has started task %s"
                self._say(logging.INFO, "scheduled", said, one.name, one.task_id)
        if started := [one.task_id for one in fired if one.task_id is not None]:
            await self._engine.wake(started)
        # Not at once when it has come: then another worker is at it.
        return math.inf if seconds is None else max(_AT_IT_SECONDS, seconds + 0.001)

    async def _give_back(self) -> None:
        """Put back in line what it holds but does not run."""
        async with self._holding:
            # Cleared first: a task that is given up meanwhile is still among those that run.
            self._owes, why = False, self._given_up
            self._given_up = {}
            try:
                await self._queue.give_back(self.name, set(self._running), why)
            except BaseException:
                self._owes, self._given_up = True, {**why, **self._given_up}
                raise

    async def _look_around(self) -> None:
        if self._heartbeat is None:
            await self._join()
        await self._roll.cross_out_dead(self.name)
        await self._look_at_mail(self._running)
        await self._look_at_versions()

    async def _look_at_versions(self) -> None:
        """Say of which versions a worker is missed, or at least is not this one."""
        for name, registered in self._agents.items():
            if registered.goes_on_from is None:
                continue
            known = [registered.version, *registered.goes_on_from, *self._missed[name]]
            for version in await self._queue.versions_waiting(name, known):
                self._missed[name].append(version)
                said = "tasks of %s that ran under version %r are left to workers of that version"
                self._say(logging.WARNING, "other_version", said, name, version)

    async def _prune(self) -> None:
        """Forget what ended long ago: a step at a time, and seldom when there is little."""
        kept = {name: r.retention for name, r in self._agents.items() if r.retention is not None}
        while kept:
            pruned = 0
            with self._looking("for tasks to forget"):
                for name, seconds in kept.items():
                    where = {"agent": name}
                    pruned += await prune_some(self._queue, self._runner_of, where, seconds)
            await anyio.sleep(1.0 if pruned else PRUNE_SECONDS)

    def _runner_of(self, agent: str) -> Runner:
        return self._agents[agent].runner

    def _rate_pauses(self) -> Iterator[float]:
        for registered in self._agents.values():
            if registered.rate is not None:
                starts, seconds = registered.rate
                yield seconds / starts

    async def _look_at_mail(self, task_ids: Collection[str]) -> None:
        if not task_ids:
            return
        found: dict[str, Mail] = {}
        with _given_up("worker %s could not look what was left for its tasks", self.name):
            found = await self._queue.mail(list(task_ids))
        for task_id, mail in found.items():
            if task_id in self._running:
                await self._deliver(task_id, mail)

    async def _deliver(self, task_id: str, mail: Mail) -> None:
        runner = self._agents[self._running[task_id].task.agent].runner
        self._undelivered.discard(task_id)
        new = [letter for letter in mail.letters if letter.id > self._read.get(task_id, 0)]
        if not runner.is_going(task_id):
            if new or mail.cancel:
                self._undelivered.add(task_id)
            return
        for letter in new:
            # Noted first: others may look at the mail while this one is being stored.
            self._read[task_id] = letter.id
            with _given_up("worker %s could not hand over a message", self.name):
                await runner.steer(task_id, letter.message)
        if mail.cancel:
            runner.cancel(task_id, abandon=True)


def _ended(result: Result) -> tuple[str, str]:
    """What happened to a run, as one word and as several."""
    if result.status == "paused":
        waiting = ", ".join(f"{pending.name} ({pending.kind})" for pending in result.pending)
        return "parked", f"parks: it waits for {waiting or 'an answer'}"
    if result.status == "done":
        return "done", "is done"
    return "stopped" if result.reason == "cancelled" else "failed", f"stopped: {result.reason}"


@contextmanager
def _given_up(said: str, name: str) -> Iterator[None]:
    """Go on without what the database refuses; it will be tried again."""
    try:
        yield
    except StoreError as error:
        logger.warning(f"{said}: %s", name, error)
