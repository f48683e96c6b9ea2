"""The queue: every change of a task's status is one atomic step in the database."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
    tuple_,
)

from toolwright.backends.sql import WORKERS, Database
from toolwright.errors import UsageError
from toolwright.messages import UserMessage, decode_message, encode_message
from toolwright.tasks import _statements as sql
from toolwright.tasks._enqueue import enqueue_in
from toolwright.tasks._line import Line, is_suspect, next_in_line
from toolwright.tasks._schema import (
    AGENTS,
    HAS_RUN,
    INBOX,
    IS_ACTIVE,
    IS_ENDED,
    IS_FAILED,
    IS_QUEUED,
    PROMPTS,
    PRUNED,
    QUEUES,
    TAGS,
    TASKS,
    TEXTS,
    has_words,
)
from toolwright.tasks._store import TaskStore
from toolwright.tasks._task import (
    ENDED,
    PAYLOAD_SIZE,
    NewTask,
    Task,
    TaskStatus,
    refuse_large,
    task_scope,
)

__all__ = ["Claim", "LeftOver", "Letter", "Mail", "Queue", "Search", "Standing"]

_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 300.0


@dataclass(frozen=True, slots=True)
class Letter:
    """A message left for a task."""

    id: int
    message: UserMessage


@dataclass(slots=True)
class Mail:
    """What has been left for a running task."""

    cancel: bool = False
    letters: list[Letter] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A task that a worker has taken up."""

    task: Task
    """As it was before: its version is that of the code it ran under last."""
    prompt: str
    """Encoded: a task that cannot be read must not be in the way of others."""
    state: str
    mail: Mail


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Which tasks are looked for, besides the values of their columns."""

    tag: str | None = None
    text: str | None = None
    """Words of the prompt; of the last one, its beginning is enough."""
    since: float | None = None
    until: float | None = None
    """When they were enqueued, in seconds since the epoch."""
    after: str | None = None
    """The last task of the page before."""


ANY = Search()


class Standing(NamedTuple):
    """Where a task stands: what an engine needs to know of it."""

    id: str
    agent: str
    queue: str
    owner_id: str
    priority: int
    status: TaskStatus
    updated_at: float
    start_at: float
    wake_at: float | None
    """The nearest deadline of what it waits for."""


class LeftOver(NamedTuple):
    """What remains of a task that was forgotten."""

    task_id: str
    agent: str
    owner_id: str


class Queue:
    """Tasks in SQLite or Postgres, beside the sessions in which they run."""

    def __init__(
        self,
        store: TaskStore,
        agents: Collection[str] = (),
        max_payload: int = PAYLOAD_SIZE,
    ) -> None:
        self._store = store
        self._agents = agents
        """The names of those that are registered here, now or later."""
        self._max_payload = max_payload
        self._known_queues: set[str] = set()
        self._database = store.database
        signed_in = select(WORKERS.c.name).where(WORKERS.c.name == bindparam("worker"))
        # Shared, so that it is not taken for dead until its claim is written.
        self._signed_in = signed_in if self._is_sqlite else signed_in.with_for_update(read=True)

    def _skipping(self, query: Any, of: Any = None) -> Any:
        """The query, without waiting for those that another worker is about to take."""
        return query if self._is_sqlite else query.with_for_update(skip_locked=True, of=of)

    @property
    def _is_sqlite(self) -> bool:
        return self._database.is_sqlite

    @property
    def database(self) -> Database:
        """Where it is."""
        return self._database

    async def versions_waiting(self, agent: str, but: Collection[str]) -> list[str]:
        """The versions, other than these, whose workers tasks of an agent wait for."""
        has_run = (IS_QUEUED, HAS_RUN, TASKS.c.agent == agent)
        query = select(TASKS.c.version).where(*has_run, TASKS.c.version.not_in(but))
        return sorted({row.version for row in await self._rows(query.limit(100))})

    # -- in and out of the line ----------------------------------------------------------------

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[str]:
        """Add tasks in one step; one that was enqueued before under its key is not added again."""

        def work(connection: Connection) -> list[str]:
            most = self._max_payload
            known = self._known_queues
            return enqueue_in(
                connection, self._database, tasks, here=self._agents, most=most, queues=known
            )

        return await self._database.write(work, synced=True)

    async def announce(self, queues: Collection[str]) -> None:
        """Let everybody know for which agents a worker works here, and from which queues."""
        known = ((AGENTS, self._agents), (QUEUES, queues))

        def work(connection: Connection) -> None:
            for table, names in known:
                new = self._database.insert(table).on_conflict_do_nothing()
                connection.execute(new, [{"name": name} for name in sorted(names)])

        await self._database.write(work)

    async def claim(self, lines: Callable[[], Sequence[Line]], worker: str) -> list[Claim]:
        """Take up tasks. `lines` is asked when the transaction begins: more may be free by then."""

        def work(connection: Connection) -> list[Claim]:
            if connection.execute(self._signed_in, {"worker": worker}).first() is None:
                return []  # Taken for dead: nobody would look after what it claims.
            now = time.time()
            but = list(self._store.holders)
            found: list[Row[Any]] = []
            codes: list[str] = []
            for line in lines():
                for suspect in (True, False):
                    if suspect and (not line.suspect or any(is_suspect(row) for row in found)):
                        continue
                    left_out = [*but, *(row.id for row in found)]
                    found += next_in_line(
                        connection, line, now, suspect=suspect, but=left_out, taken=found
                    )
                codes += [line.version] * (len(found) - len(codes))
            if not found:
                return []
            claiming = [
                {"task": row.id, "by": worker, "now": now, "code": code}
                for row, code in zip(found, codes, strict=True)
            ]
            connection.execute(sql.CLAIM, claiming)
            for row in found:
                if row.attempts == 0:
                    self._store.open_in(connection, task_scope(row.id, row.owner_id))
            return _claims(connection, found)

        return await self._database.write(work)

    async def conclude(
        self, task_id: str, status: TaskStatus, *, said: str = "", reason: str = ""
    ) -> None:
        """End a task that this process holds: it cannot be run, or nothing is left to do."""
        await self._database.write(lambda c: self._store.conclude(c, task_id, status, said, reason))
        await self._store.tell_woken()

    async def give_back(
        self, worker: str, but: Collection[str], why: Mapping[str, str] | None = None
    ) -> None:
        """Put back in line what `worker` holds but does not run, each after a longer pause; `why` says
        of some what became of them."""
        mine = (IS_ACTIVE, TASKS.c.worker == worker, TASKS.c.id.not_in(but))

        def work(connection: Connection) -> None:
            now = time.time()
            for row in connection.execute(select(TASKS.c.id, TASKS.c.crashes).where(*mine)).all():
                start = now + min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (row.crashes or 0))
                values = {"start_at": start, "reason": (why or {}).get(row.id, "")}
                again = sql.REQUEUE.where(*mine, TASKS.c.id == row.id).values(**values)
                connection.execute(again, {"now": now})

        await self._database.write(work)

    async def wake_due(self) -> float | None:
        """Wake the tasks whose deadline has come; when the next is, or the next scheduled start."""
        moments = await self._moments()
        if moments and moments[0] <= time.time():
            await self._database.write(lambda c: c.execute(sql.WAKE_DUE, {"now": time.time()}))
            moments = await self._moments()
        return moments[0] if moments else None

    async def _moments(self) -> list[float]:
        def work(connection: Connection) -> list[float]:
            row = connection.execute(sql.MOMENTS, {"now": time.time()}).one()
            return sorted(moment for moment in row if moment is not None)

        return await self._database.read(work)

    # -- from outside --------------------------------------------------------------------------

    async def request_cancel(self, task_id: str) -> list[Task]:
        """Note that a task is to end, and with it the children that its end ends; those that had not
        ended, the task first, as they were. Their workers, or the next, see to it."""

        def work(connection: Connection) -> list[Task]:
            if not self._is_sqlite:
                # Children before parents, as those lock them who end: the other way round, two
                # would wait for each other.
                family = _descendants(connection, task_id)
                for level in sorted({depth for _, depth in family}, reverse=True):
                    ids = [child_id for child_id, depth in family if depth == level]
                    connection.execute(sql.LOCK_ALL, {"ids": ids})
            if _must_exist(connection, task_id, lock=not self._is_sqlite).ended:
                return []
            # Read again: until it was locked it could start more of them.
            ids = [task_id, *(child_id for child_id, _ in _descendants(connection, task_id))]
            found = {row.id: _task(row) for row in connection.execute(sql.ALL_OF, {"ids": ids})}
            going = [found[i] for i in ids if not found[i].ended]
            connection.execute(sql.CANCEL, {"ids": [task.id for task in going]})
            return going

        return await self._database.write(work, synced=True)

    async def retry(self, task_id: str) -> bool:
        """Put a failed or cancelled task back in line; whether it was one."""
        ended = (TASKS.c.id == task_id, TASKS.c.status.in_(("FAILED", "CANCELLED")))

        def work(connection: Connection) -> bool:
            _must_exist(connection, task_id)
            again = sql.TRY_AGAIN.where(*ended)
            return connection.execute(again, {"now": time.time()}).rowcount == 1

        return await self._database.write(work)

    async def retry_dead(self, where: Mapping[str, Any]) -> list[str]:
        """Put all failed tasks whose columns have these values back in line; which there were."""
        again = sql.TRY_AGAIN.where(IS_FAILED, *_has(where)).returning(TASKS.c.id)
        values = {"now": time.time()}
        return await self._database.write(lambda c: list(c.execute(again, values).scalars()))

    async def steer(self, task_id: str, message: UserMessage) -> bool:
        """Leave a message for a task; False when it has ended."""
        values = {"task_id": task_id, "message": encode_message(message)}
        refuse_large("The message", values["message"], self._max_payload)

        def work(connection: Connection) -> bool:
            task = _must_exist(connection, task_id, lock=not self._is_sqlite)
            if not task.ended:
                connection.execute(insert(INBOX).values(**values))
            return not task.ended

        return await self._database.write(work, synced=True)

    async def mail(self, task_ids: Collection[str]) -> dict[str, Mail]:
        """What has been left for these tasks; it stays there until their journals have it."""
        return await self._database.read(lambda connection: _mail(connection, task_ids))

    # -- forgetting ----------------------------------------------------------------------------

    async def prune(self, where: Mapping[str, Any], before: float, most: int) -> int:
        """Forget some tasks that ended before that time; how many. Their sessions are `left_over`.

        Children whose parent has not ended are kept: it will read how they ended.
        """
        parent = TASKS.alias()
        unread = exists().where(parent.c.id == TASKS.c.parent_id, parent.c.status.not_in(ENDED))
        due = (IS_ENDED, TASKS.c.updated_at < before, TASKS.c.wake_at.is_(None), ~unread)
        query = self._skipping(select(TASKS.c.id, TASKS.c.agent, TASKS.c.owner_id), of=TASKS)
        query = query.where(*due, *_has(where)).order_by(TASKS.c.updated_at).limit(most)

        def work(connection: Connection) -> int:
            found = connection.execute(query).all()
            gone = [{"task_id": row.id, "agent": row.agent, "owner_id": row.owner_id,
                     "at": time.time()} for row in found]  # fmt: skip
            if gone:
                connection.execute(PRUNED.insert(), gone)
                ids = [row.id for row in found]
                of_tasks = (PROMPTS, INBOX, TAGS, TEXTS)
                for column in (TASKS.c.id, *(table.c.task_id for table in of_tasks)):
                    connection.execute(delete(column.table).where(column.in_(ids)))
            return len(gone)

        return await self._database.write(work)

    async def left_over(self, agent: str | None, most: int) -> list[LeftOver]:
        """Sessions of tasks that are forgotten, of one agent or of all."""
        query = select(PRUNED.c.task_id, PRUNED.c.agent, PRUNED.c.owner_id)
        if agent is not None:
            query = query.where(PRUNED.c.agent == agent)
        rows = await self._rows(query.order_by(PRUNED.c.at).limit(most))
        return [LeftOver(*row) for row in rows]

    async def forget(self, task_id: str) -> None:
        """The session of a forgotten task is gone as well."""
        gone = delete(PRUNED).where(PRUNED.c.task_id == task_id)
        await self._database.write(lambda connection: connection.execute(gone))

    # -- looking -------------------------------------------------------------------------------

    async def get(self, task_id: str) -> Task | None:
        """One task."""
        rows = await self._rows(select(TASKS).where(TASKS.c.id == task_id))
        return _task(rows[0]) if rows else None

    async def beginning_with(self, start: str, limit: int) -> list[str]:
        """The ids that begin so, in order: the one that is no longer than `start` first."""
        begins = TASKS.c.id.startswith(start, autoescape=True)
        rows = await self._rows(select(TASKS).where(begins).order_by(TASKS.c.id).limit(limit))
        return [row.id for row in rows]

    async def find(self, where: Mapping[str, Any], limit: int, search: Search = ANY) -> list[Task]:
        """Tasks whose columns have these values, newest first; `UsageError` when `after` is unknown."""
        query = select(TASKS).where(*_has(where)).limit(limit)
        if search.since is not None:
            query = query.where(TASKS.c.created_at >= search.since)
        if search.until is not None:
            query = query.where(TASKS.c.created_at < search.until)
        if search.tag is not None:
            tagged = select(TAGS.c.task_id).where(TAGS.c.tag == search.tag)
            query = query.where(TASKS.c.id.in_(tagged))
        if search.text is not None:
            words = has_words(search.text, is_sqlite=self._is_sqlite)
            if words is None:
                return []
            query = query.where(words)
        newest_first = query.order_by(TASKS.c.created_at.desc(), TASKS.c.id.desc())

        def work(connection: Connection) -> list[Task]:
            page = newest_first
            if search.after is not None:
                last = _must_exist(connection, search.after)
                place = tuple_(literal(last.created_at), literal(last.id, TASKS.c.id.type))
                page = page.where(tuple_(TASKS.c.created_at, TASKS.c.id) < place)
            return [_task(row) for row in connection.execute(page)]

        return await self._database.read(work)

    async def standing(self, task_ids: Collection[str]) -> list[Standing]:
        """Where these tasks stand; those that are forgotten are left out."""
        return [
            Standing(*row) for row in await self._rows(_STANDING.where(TASKS.c.id.in_(task_ids)))
        ]

    async def ready(self, after: tuple[float, str], before: float, limit: int) -> list[Standing]:
        """Tasks in line that could start between the one of `after` and that time, by when they could."""
        place = tuple_(TASKS.c.start_at, TASKS.c.id) > tuple_(literal(after[0]), literal(after[1]))
        query = _STANDING.where(IS_QUEUED, TASKS.c.start_at < before, place)
        rows = await self._rows(query.order_by(TASKS.c.start_at, TASKS.c.id).limit(limit))
        return [Standing(*row) for row in rows]

    async def dead(self, where: Mapping[str, Any], limit: int) -> list[Task]:
        """Failed tasks whose columns have these values, the latest failure first."""
        query = select(TASKS).where(IS_FAILED, *_has(where)).limit(limit)
        latest_first = query.order_by(TASKS.c.updated_at.desc(), TASKS.c.id)
        return [_task(row) for row in await self._rows(latest_first)]

    async def counts(self) -> dict[tuple[str, str], int]:
        """How many tasks each agent has in each status."""
        query = select(TASKS.c.agent, TASKS.c.status, func.count()).group_by(
            TASKS.c.agent, TASKS.c.status
        )
        return {(row[0], row[1]): row[2] for row in await self._rows(query)}

    async def _rows(self, query: Any) -> list[Any]:
        return await self._database.read(lambda connection: list(connection.execute(query)))


_STANDING = select(*(TASKS.c[name] for name in Standing._fields))


def _claims(connection: Connection, rows: Sequence[Row[Any]]) -> list[Claim]:
    ids = [row.id for row in rows]
    mail = _mail(connection, ids)
    asked = connection.execute(sql.PROMPTED, {"ids": ids})
    prompts = {row.task_id: row for row in asked}
    return [
        Claim(
            task=_task(row),
            prompt=prompts[row.id].prompt,
            state=prompts[row.id].state,
            mail=mail[row.id],
        )
        for row in rows
    ]


def _mail(connection: Connection, task_ids: Collection[str]) -> dict[str, Mail]:
    found = {task_id: Mail() for task_id in task_ids}
    for task_id in connection.execute(sql.CANCELLED, {"ids": list(found)}).scalars():
        found[task_id].cancel = True
    for row in connection.execute(sql.LETTERS, {"ids": list(found)}).all():
        found[row.task_id].letters.append(Letter(row.id, decode_message(row.message)))
    return found


def _descendants(connection: Connection, task_id: str) -> list[tuple[str, int]]:
    """The tasks that end when this one is cancelled and how deep each is, parents first."""
    return [(row.id, row.depth) for row in connection.execute(sql.DESCENDANTS, {"task": task_id})]


def _has(where: Mapping[str, Any]) -> list[ColumnElement[bool]]:
    return [TASKS.c[column] == value for column, value in where.items()]


def _must_exist(connection: Connection, task_id: str, *, lock: bool = False) -> Task:
    query = select(TASKS).where(TASKS.c.id == task_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise UsageError(f"There is no task {task_id!r}.")
    return _task(row)


def _task(row: Row[Any]) -> Task:
    return Task(
        id=row.id, agent=row.agent, owner_id=row.owner_id, status=row.status, priority=row.priority,
        attempts=row.attempts, failures=row.failures, created_at=row.created_at,
        updated_at=row.updated_at, start_at=row.start_at, text=row.text, reason=row.reason,
        worker=row.worker, parent_id=row.parent_id, version=row.version,
        crashes=row.crashes or 0, queue=row.queue, concurrency_key=row.concurrency_key,
    )  # fmt: skip
