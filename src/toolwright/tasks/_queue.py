"""The queue: every change of a task's status is one atomic step in the database."""

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from toolwright.backends.sql import Database
from toolwright.errors import UsageError
from toolwright.messages import UserMessage, decode_message, encode_message, user_message
from toolwright.tasks._schema import INBOX, METADATA, TASKS, VERSION
from toolwright.tasks._task import ENDED, NewTask, Task, TaskStatus

__all__ = ["Claim", "Line", "Queue"]

_WAITING = ("PENDING_TOOL_RESULTS", "PENDING_CHILD_TASKS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How an agent's tasks are taken from the queue."""

    agent: str
    slots: int
    """How many this worker can take now."""
    per_owner: int | None = None
    """How many of one owner may be active at once, on all workers together."""
    rate: tuple[int, float] | None = None
    """At most so many starts in so many seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A task that a worker has taken up."""

    task: Task
    prompt: UserMessage
    state: dict[str, Any]
    cancel: bool


class Queue:
    """Tasks in SQLite or Postgres. Workers hold them by a lease that they must renew."""

    def __init__(self, url: str) -> None:
        self.database = Database(url, "tasks", VERSION, METADATA)

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[str]:
        """Add tasks in one step; one that was enqueued before under its key is not added again."""
        return await self.database.write(lambda connection: [_add(connection, t) for t in tasks])

    async def claim(
        self, lines: Sequence[Line], worker: str, lease: float, version: str
    ) -> list[Claim]:
        """Take up tasks: free ones, and those whose worker has let its lease run out."""
        now = time.time()

        def work(connection: Connection) -> list[Claim]:
            _free_lost(connection, now)
            rows = [row for line in lines for row in self._next(connection, line, now)]
            for row in rows:
                connection.execute(
                    update(TASKS).where(TASKS.c.id == row.id).values(
                        status="ACTIVE", worker=worker, lease_until=now + lease, started_at=now,
                        updated_at=now, attempts=row.attempts + 1, version=version, wake_at=None,
                    )
                )  # fmt: skip
            return [_claim(row) for row in rows]

        return await self.database.write(work)

    def _next(self, connection: Connection, line: Line, now: float) -> Sequence[Row[Any]]:
        limit = min(line.slots, _starts_left(connection, line, now))
        if limit <= 0:
            return ()
        query = (
            select(TASKS)
            .where(TASKS.c.status == "QUEUED", TASKS.c.agent == line.agent, TASKS.c.start_at <= now)
            .order_by(TASKS.c.priority.desc(), TASKS.c.place)
            .limit(limit)
        )
        if not self.database.is_sqlite:
            query = query.with_for_update(skip_locked=True)
        if line.per_owner is None:
            return connection.execute(query).all()
        return _within_owner_limit(connection, query.limit(None), line, limit)

    def renew_now(self, worker: str, lease: float, held: Sequence[str]) -> set[str]:
        """Renew the leases of `held`, from any thread; those that are still held."""

        def work(connection: Connection) -> set[str]:
            mine = (TASKS.c.id.in_(held), TASKS.c.worker == worker, TASKS.c.status == "ACTIVE")
            connection.execute(update(TASKS).where(*mine).values(lease_until=time.time() + lease))
            return set(connection.execute(select(TASKS.c.id).where(*mine)).scalars())

        return self.database.write_now(work) if held else set()

    async def let_go(
        self,
        task_id: str,
        worker: str,
        status: TaskStatus,
        *,
        text: str = "",
        reason: str = "",
        wake_at: float | None = None,
    ) -> bool:
        """Give a task back in its new status; False when the lease was lost meanwhile."""

        def work(connection: Connection) -> bool:
            changed = connection.execute(
                update(TASKS)
                .where(TASKS.c.id == task_id, TASKS.c.worker == worker, TASKS.c.status == "ACTIVE")
                .values(
                    status=status, text=text, reason=reason, wake_at=wake_at, worker=None,
                    lease_until=None, updated_at=time.time(),
                )
            )  # fmt: skip
            return changed.rowcount == 1

        return await self.database.write(work)

    async def wake(self, task_id: str, *, completed: bool = False) -> bool:
        """Put a parked task (or a completed one, if wanted) back in line; whether it was there."""
        states = (*_WAITING, "COMPLETED") if completed else _WAITING

        def work(connection: Connection) -> bool:
            return _requeue(connection, TASKS.c.id == task_id, TASKS.c.status.in_(states)) == 1

        return await self.database.write(work)

    async def parked(self, due: float | None = None) -> list[Task]:
        """Tasks that wait for the outside; with `due`, those with a deadline before it."""
        query = select(TASKS).where(TASKS.c.status.in_(_WAITING))
        if due is not None:
            query = query.where(TASKS.c.wake_at <= due)
        return [_task(row) for row in await self._rows(query)]

    async def next_moment(self) -> float | None:
        """When something is due by itself: a deadline, a scheduled start, a lease."""
        query = select(
            select(func.min(TASKS.c.wake_at)).where(TASKS.c.status.in_(_WAITING)).scalar_subquery(),
            select(func.min(TASKS.c.start_at)).where(TASKS.c.status == "QUEUED").scalar_subquery(),
            select(func.min(TASKS.c.lease_until))
            .where(TASKS.c.status == "ACTIVE")
            .scalar_subquery(),
        )
        [row] = await self._rows(query)
        return min((moment for moment in row if moment is not None), default=None)

    async def request_cancel(self, task_id: str) -> TaskStatus:
        """Ask for an end: at once for a task that nobody runs, else by its worker. Its old status."""

        def work(connection: Connection) -> TaskStatus:
            row = _must_exist(connection, task_id)
            if row.status not in ENDED:
                values: dict[str, Any] = {"cancel": True, "updated_at": time.time()}
                if row.status != "ACTIVE":
                    values |= {"status": "CANCELLED", "reason": "cancelled"}
                connection.execute(update(TASKS).where(TASKS.c.id == task_id).values(**values))
            return row.status

        return await self.database.write(work)

    async def retry(self, task_id: str) -> bool:
        """Put a failed or cancelled task back in line; whether it was one."""

        def work(connection: Connection) -> bool:
            _must_exist(connection, task_id)
            ended = (TASKS.c.id == task_id, TASKS.c.status.in_(("FAILED", "CANCELLED")))
            connection.execute(update(TASKS).where(*ended).values(cancel=False))
            return _requeue(connection, *ended) == 1

        return await self.database.write(work)

    async def steer(self, task_id: str, message: UserMessage) -> TaskStatus:
        """Leave a message for a task; its status."""

        def work(connection: Connection) -> TaskStatus:
            row = _must_exist(connection, task_id)
            values = {"task_id": task_id, "message": encode_message(message)}
            connection.execute(insert(INBOX).values(**values))
            return row.status

        return await self.database.write(work)

    async def take_inbox(self, task_id: str) -> tuple[bool, list[UserMessage]]:
        """Whether the task is to be cancelled, and the messages left for it, taken out."""

        def look(connection: Connection) -> tuple[bool, int]:
            cancel = connection.execute(
                select(TASKS.c.cancel).where(TASKS.c.id == task_id)
            ).scalar()
            count = select(func.count()).where(INBOX.c.task_id == task_id)
            return bool(cancel), connection.execute(count).scalar() or 0

        def take(connection: Connection) -> list[UserMessage]:
            query = select(INBOX).where(INBOX.c.task_id == task_id).order_by(INBOX.c.id)
            rows = connection.execute(query).all()
            connection.execute(delete(INBOX).where(INBOX.c.id.in_([row.id for row in rows])))
            return [decode_message(row.message) for row in rows]

        cancel, waiting = await self.database.read(look)
        return cancel, await self.database.write(take) if waiting else []

    async def get(self, task_id: str) -> Task | None:
        """One task."""
        rows = await self._rows(select(TASKS).where(TASKS.c.id == task_id))
        return _task(rows[0]) if rows else None

    async def find(self, where: Mapping[str, Any], limit: int) -> list[Task]:
        """Tasks whose columns have these values, newest first."""
        query = select(TASKS).order_by(TASKS.c.created_at.desc(), TASKS.c.id).limit(limit)
        for column, value in where.items():
            query = query.where(TASKS.c[column] == value)
        return [_task(row) for row in await self._rows(query)]

    async def counts(self) -> dict[tuple[str, str], int]:
        """How many tasks each agent has in each status."""
        query = select(TASKS.c.agent, TASKS.c.status, func.count()).group_by(
            TASKS.c.agent, TASKS.c.status
        )
        return {(row[0], row[1]): row[2] for row in await self._rows(query)}

    async def family(self, task_id: str) -> list[tuple[str, Task]]:
        """The tasks that were started by the same call as this one, itself included, with the call."""
        own = select(TASKS.c.parent_id, TASKS.c.parent_call).where(TASKS.c.id == task_id)
        rows = await self._rows(own)
        if not rows or rows[0].parent_id is None:
            return []
        same = (TASKS.c.parent_id == rows[0].parent_id, TASKS.c.parent_call == rows[0].parent_call)
        found = await self._rows(select(TASKS).where(*same).order_by(TASKS.c.idempotency_key))
        return [(row.parent_call, _task(row)) for row in found]

    async def close(self) -> None:
        """Let go of connections."""
        await self.database.close()

    async def _rows(self, query: Any) -> list[Any]:
        return await self.database.read(lambda connection: list(connection.execute(query)))


def _add(connection: Connection, new: NewTask) -> str:
    if new.idempotency_key is not None:
        same = select(TASKS.c.id).where(TASKS.c.idempotency_key == new.idempotency_key)
        found = connection.execute(same).scalar()
        if found is not None:
            return found
    now, task_id = time.time(), uuid.uuid4().hex
    connection.execute(
        insert(TASKS).values(
            id=task_id, agent=new.agent, owner_id=new.owner_id, status="QUEUED", priority=new.priority,
            place=_place(connection, new), start_at=new.start_at or now, created_at=now, updated_at=now,
            attempts=0, cancel=False, prompt=encode_message(user_message(new.prompt)),
            state=json.dumps(new.state), text="", reason="", version="",
            idempotency_key=new.idempotency_key, parent_id=new.parent_id, parent_call=new.parent_call,
        )
    )  # fmt: skip
    return task_id


def _place(connection: Connection, new: NewTask) -> int:
    queued = (
        TASKS.c.status == "QUEUED",
        TASKS.c.agent == new.agent,
        TASKS.c.priority == new.priority,
    )
    head = select(func.min(TASKS.c.place)).where(*queued)
    own = select(func.max(TASKS.c.place)).where(*queued, TASKS.c.owner_id == new.owner_id)
    first, last = connection.execute(select(head.scalar_subquery(), own.scalar_subquery())).one()
    return max(first or 0, last or 0) + 1


def _free_lost(connection: Connection, now: float) -> None:
    """Put tasks back in line whose worker has not renewed its lease."""
    _requeue(connection, TASKS.c.status == "ACTIVE", TASKS.c.lease_until < now)


def _requeue(connection: Connection, *where: Any) -> int:
    # A request to cancel stays: whoever takes the task up next will see to it.
    values = {
        "status": "QUEUED", "worker": None, "lease_until": None, "wake_at": None,
        "updated_at": time.time(),
    }  # fmt: skip
    return connection.execute(update(TASKS).where(*where).values(**values)).rowcount


def _starts_left(connection: Connection, line: Line, now: float) -> int:
    if line.rate is None:
        return line.slots
    most, seconds = line.rate
    recent = (TASKS.c.agent == line.agent, TASKS.c.started_at > now - seconds)
    return most - (connection.execute(select(func.count()).where(*recent)).scalar() or 0)


def _within_owner_limit(
    connection: Connection, query: Any, line: Line, limit: int
) -> list[Row[Any]]:
    active = (TASKS.c.status == "ACTIVE", TASKS.c.agent == line.agent)
    counting = select(TASKS.c.owner_id, func.count()).where(*active).group_by(TASKS.c.owner_id)
    busy: dict[str, int] = dict(connection.execute(counting).tuples())
    taken: list[Row[Any]] = []
    for row in connection.execute(query):
        if len(taken) == limit:
            break
        if busy.get(row.owner_id, 0) < (line.per_owner or limit):
            busy[row.owner_id] = busy.get(row.owner_id, 0) + 1
            taken.append(row)
    return taken


def _must_exist(connection: Connection, task_id: str) -> Row[Any]:
    row = connection.execute(select(TASKS).where(TASKS.c.id == task_id)).one_or_none()
    if row is None:
        raise UsageError(f"There is no task {task_id!r}.")
    return row


def _claim(row: Row[Any]) -> Claim:
    return Claim(
        task=_task(row),
        prompt=decode_message(row.prompt),
        state=json.loads(row.state),
        cancel=bool(row.cancel),
    )


def _task(row: Row[Any]) -> Task:
    return Task(
        id=row.id, agent=row.agent, owner_id=row.owner_id, status=row.status, priority=row.priority,
        attempts=row.attempts, created_at=row.created_at, updated_at=row.updated_at,
        start_at=row.start_at, text=row.text, reason=row.reason, worker=row.worker,
        parent_id=row.parent_id, version=row.version,
    )  # fmt: skip
