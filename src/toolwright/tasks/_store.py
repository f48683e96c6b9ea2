"""The journal of tasks: what is written there moves the task along, in the same transaction."""

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Connection, Row

from toolwright.backends import Hold, OpenCall, waited_for
from toolwright.backends.sql import SqlStore, answer_text
from toolwright.errors import StoreConflict
from toolwright.messages import (
    Answered,
    Event,
    Given,
    MessageQueued,
    Pending,
    RunEnded,
    Scope,
    StoredAnswer,
    UserMessage,
    call_of,
    decode_message,
)
from toolwright.tasks import _statements as sql
from toolwright.tasks._schema import METADATA, TASKS, VERSION
from toolwright.tasks._task import APP, ENDED, PAYLOAD_SIZE, WAITING, TaskStatus, refuse_large

__all__ = ["CHILDREN", "TaskStore"]

CHILDREN = "child tasks"
"""The payload of a pending call that waits for child tasks."""
_LONGEST_PAUSE = 300.0


class TaskStore(SqlStore):
    """Sessions in which tasks run.

    Whoever writes must hold the task: a worker whose lease has run out is refused. The end of a
    run settles the task; an answer wakes it; the end of the last child answers its parent. No
    process can die between the one and the other.
    """

    def __init__(self, url: str, ring: Callable[[str], None]) -> None:
        super().__init__(url)
        self.database.add("tasks", VERSION, METADATA)
        self.holders: dict[str, str] = {}
        """The tasks that this process runs, and for whom."""
        self.max_payload = PAYLOAD_SIZE
        self._ring = ring
        self.wake: Callable[[Collection[str]], Awaitable[None]] | None = None
        """Called with tasks that are back in line, once that is stored."""
        self._woken: set[str] = set()
        self._held = sql.HELD if self.database.is_sqlite else sql.HELD.with_for_update(of=TASKS)

    async def append(
        self,
        scope: Scope,
        events: Sequence[Event],
        hold: Hold | None = None,
        *,
        expected: Mapping[str, Any] | None = None,
    ) -> None:
        """Add events, and tell those who watch.

        The session of a task that this process runs is held by the worker, not once more by the run.
        """
        by_worker = scope.session_id in self.holders
        mine = None if by_worker else hold
        await super().append(scope, events, mine, expected=expected)
        self._ring(f"task:{scope.session_id}")
        await self.tell_woken()

    async def release(self, scope: Scope, hold_id: str) -> None:
        """Release a session; that of a task goes back with the task."""
        if scope.session_id not in self.holders:
            await super().release(scope, hold_id)

    async def answer(
        self,
        app_name: str,
        session_id: str,
        call_id: str,
        answer: StoredAnswer | None,
        unless: Sequence[tuple[str, str]] = (),
        *,
        born: float | None = None,
    ) -> Answered:
        """Take an answer, exactly once; `UsageError` when it is too large."""
        if answer is not None:
            refuse_large("The answer", answer_text(answer), self.max_payload)
        answered = await super().answer(app_name, session_id, call_id, answer, unless, born=born)
        await self.tell_woken()
        return answered

    async def tell_woken(self) -> None:
        """Tell of the tasks that what was stored has put back in line; of others, at most once more."""
        woken: list[str] = []
        while self._woken:
            woken.append(
                self._woken.pop()
            )  # One at a time: transactions add to it in their threads.
        if woken and self.wake is not None:
            await self.wake(woken)

    def on_append(
        self, connection: Connection, scope: Scope, events: Sequence[Event], *, waits: bool
    ) -> None:
        """Refuse who does not hold the task; settle it when its run has ended."""
        task = self._lock(connection, scope.session_id)
        if task is None:
            return
        if task.worker != self.holders.get(task.id):
            raise StoreConflict(f"Task {task.id!r} is held by {task.worker or 'nobody'} now.")
        for event in events:
            if isinstance(event, MessageQueued):
                _take_message(connection, task.id, event.message)
        last = events[-1]
        if isinstance(last, RunEnded) and not last.path:
            calls = self.calls_in(connection, APP, task.id) if waits else []
            self._end_run(connection, task, last, calls)

    def on_take(self, connection: Connection, scope: Scope) -> None:
        """Refuse the session of a task that a worker runs: it holds the task, not the session."""
        task = self._lock(connection, scope.session_id)
        if task is not None and task.worker is not None:
            raise StoreConflict(
                f"Task {task.id!r} is run by {task.worker}; cancel it, and wait until it has ended."
            )

    def may_answer(self, connection: Connection, app_name: str, session_id: str) -> bool:
        """Not when the task is forgotten, and its session is about to be."""
        # Locked: whoever forgets it meanwhile has to come before this answer, or after what it does.
        return app_name != APP or self._lock(connection, session_id) is not None

    def on_answer(self, connection: Connection, app_name: str, session_id: str) -> None:
        """Wake the task unless it waits for more."""
        task = self._lock(connection, session_id)
        if task is None or task.status in ("QUEUED", "ACTIVE"):
            return
        # A completed task goes on when a call that it did not wait for is answered.
        calls = _unanswered(self.calls_in(connection, APP, session_id))
        is_blocked = any(pending.blocking for pending in calls)
        if not is_blocked and _wake(connection, session_id, *WAITING, "COMPLETED"):
            self._woken.add(session_id)

    async def waiting(self, task_id: str | None = None) -> list[OpenCall]:
        """The calls that an answer is still accepted for, of one task or of all."""

        def work(connection: Connection) -> list[OpenCall]:
            forgotten = set(connection.execute(sql.FORGOTTEN).scalars())
            calls = waited_for(self.calls_in(connection, APP, task_id))
            return [call for call in calls if call.scope.session_id not in forgotten]

        return await self.database.read(work)

    def conclude(
        self, connection: Connection, task_id: str, status: TaskStatus, said: str, reason: str
    ) -> None:
        """End a task without a run, if this process still holds it."""
        task = self._lock(connection, task_id)
        if task is None or task.worker != self.holders.get(task_id):
            return
        if status == "COMPLETED":
            self._complete(connection, task, self.calls_in(connection, APP, task_id), said)
        else:
            self._settle(connection, task, status, said=said, reason=reason)

    def _end_run(
        self, connection: Connection, task: Row[Any], ended: RunEnded, calls: Sequence[OpenCall]
    ) -> None:
        cancelled = ended.status == "stopped" and ended.reason == "cancelled"
        if task.cancel and ended.status != "paused":
            self._settle(connection, task, "CANCELLED", reason="cancelled")
        elif cancelled or task.cancel:
            # Its worker was shut down, or it parked just as it was to be cancelled: the next
            # worker goes on, or ends it.
            self._settle(connection, task, "QUEUED")
        elif ended.status == "paused":
            self._park(connection, task, _unanswered(calls))
        elif ended.status == "stopped":
            self._fail(connection, task, ended)
        else:
            self._complete(connection, task, calls, ended.text)

    def _complete(
        self, connection: Connection, task: Row[Any], calls: Sequence[OpenCall], said: str
    ) -> None:
        """End a task that is done, unless something has come that its run did not read."""
        # Looked for under the lock: what is read by the statement that waits for it may be older.
        steered = connection.execute(sql.STEERED, {"task": task.id}).first() is not None
        if steered or any(call.answer is not None for call in calls):
            self._settle(connection, task, "QUEUED")
        else:
            wake = _first_deadline(_unanswered(calls))
            self._settle(connection, task, "COMPLETED", said=said, wake=wake)

    def _park(self, connection: Connection, task: Row[Any], calls: Sequence[Pending]) -> None:
        """Leave the task to the outside; answers that came meanwhile, or children's ends, count."""
        wake = _first_deadline(calls)
        blocking = [call for call in calls if call.blocking]
        children = [call for call in blocking if call.payload == CHILDREN]
        waits_for_children = bool(children) and len(children) == len(blocking)
        status: TaskStatus = "PENDING_CHILD_TASKS" if waits_for_children else "PENDING_TOOL_RESULTS"
        self._settle(connection, task, status if blocking else "QUEUED", wake=wake)
        for call in children:
            self._tell_parent(connection, task.id, call_of(call.call_id))

    def _fail(self, connection: Connection, task: Row[Any], ended: RunEnded) -> None:
        failed = task.failures + 1
        if failed > task.retries:
            self._settle(
                connection, task, "FAILED", said=ended.text, reason=ended.reason, failed=failed
            )
        else:
            start = time.time() + min(_LONGEST_PAUSE, 2.0 ** (failed - 1))
            self._settle(
                connection, task, "QUEUED", reason=ended.reason, failed=failed, start=start
            )

    def _settle(
        self,
        connection: Connection,
        task: Row[Any],
        status: TaskStatus,
        *,
        said: str = "",
        reason: str = "",
        failed: int | None = None,
        wake: float | None = None,
        start: float | None = None,
    ) -> None:
        """Give the task back in its new status, and tell its parent if it has ended."""
        values = {
            "task": task.id, "to": status, "said": said, "why": reason, "wake": wake,
            "start": start, "failed": task.failures if failed is None else failed,
            "now": time.time(),
        }  # fmt: skip
        connection.execute(sql.SETTLE, values)
        if status in ENDED and task.parent_id is not None:
            self._tell_parent(connection, task.parent_id, task.parent_call)

    def _tell_parent(self, connection: Connection, parent_id: str, call_id: str) -> None:
        """Answer the call that started these children, if all of them have ended."""
        # Locked first: of two children that end at once, the second sees the first.
        self.lock_in(connection, APP, parent_id)
        self._lock(connection, parent_id)
        found = connection.execute(sql.FAMILY, {"parent": parent_id, "call": call_id}).all()
        if not found or not all(child.status in ENDED for child in found):
            return
        ends = [
            {"task_id": child.id, "status": child.status, "text": child.text or child.reason}
            for child in found
        ]
        # A call that was confirmed first waits for its children under another id than its own.
        for call in self.calls_in(connection, APP, parent_id):
            pending = call.pending
            is_theirs = pending.payload == CHILDREN and call_of(pending.call_id) == call_id
            if is_theirs and not call.answered:
                self.answer_in(connection, APP, parent_id, pending.call_id, Given(value=ends))

    def _lock(self, connection: Connection, task_id: str) -> Row[Any] | None:
        return cast("Row[Any] | None", connection.execute(self._held, {"task": task_id}).first())


def _take_message(connection: Connection, task_id: str, message: UserMessage) -> None:
    """Take the first of those that say this out of the inbox.

    Read, not compared as they are stored: a version before this one may have left it.
    """
    for row in connection.execute(sql.LETTERS, {"ids": [task_id]}).all():
        if decode_message(row.message) == message:
            connection.execute(sql.TAKE_MESSAGE, {"letter": row.id})
            return


def _unanswered(calls: Sequence[OpenCall]) -> list[Pending]:
    return [call.pending for call in waited_for(calls)]


def _first_deadline(calls: Sequence[Pending]) -> float | None:
    return min((c.deadline for c in calls if c.deadline is not None), default=None)


def _wake(connection: Connection, task_id: str, *were: str) -> bool:
    values = {"task": task_id, "were": were, "now": time.time()}
    return connection.execute(sql.WAKE, values).rowcount == 1
