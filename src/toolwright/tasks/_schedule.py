"""Tasks that start by the clock: each tick of a schedule once, however many workers look at it."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Row, and_, delete, func, select, update

from toolwright.backends.sql import Database
from toolwright.errors import UsageError
from toolwright.messages import (
    NAME_BYTES,
    UserMessage,
    decode_message,
    from_exact_json,
    refuse_long,
)
from toolwright.tasks._enqueue import (
    enqueue_in,
    payload_of,
    refuse_unknown,
    refuse_unknown_queues,
)
from toolwright.tasks._schema import SCHEDULES, TASKS
from toolwright.tasks._task import ENDED, PAYLOAD_SIZE, NewTask

__all__ = ["Fired", "Missed", "Overlap", "Schedule", "Schedules"]

Missed = Literal["run", "skip"]
"""What becomes of a tick at which no worker was there: its task starts late, the last of several alone;
or not at all."""
Overlap = Literal["allow", "skip"]
"""Whether a tick starts a task while that of the tick before has not ended."""
_LATE = 60.0
"""From so many seconds on a tick counts as missed."""
_DAY = 86_400.0
_SETTINGS = ("owner_id", "priority", "retries", "queue", "concurrency_key", "tags")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When tasks of an agent start by themselves."""

    name: str
    agent: str
    cron: str
    timezone: str
    missed: Missed
    overlap: Overlap
    next_at: float
    """The next tick, in seconds since the epoch."""
    last_at: float | None = None
    """The last tick that was seen to."""
    last_task: str | None = None
    """The last task that it has started."""
    problem: str = ""
    """Why the last tick started none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """What became of a tick."""

    name: str
    task_id: str | None
    problem: str = ""


class Schedules:
    """The schedules of a database."""

    def __init__(
        self, database: Database, agents: Collection[str], max_payload: int = PAYLOAD_SIZE
    ) -> None:
        self._database = database
        self._agents = agents
        self._max_payload = max_payload
        self._left_to_others: list[str] = []
        """Those whose times cannot be told here: a time zone is not known, or a package is missing."""

    async def put(
        self,
        name: str,
        task: NewTask,
        *,
        cron: str,
        timezone: str,
        missed: Missed,
        overlap: Overlap,
    ) -> Schedule:
        """Add a schedule, or change the one of that name; its ticks stay what they are if its times do."""
        refuse_long("The schedule's name", name, NAME_BYTES)
        _refuse_wrong(name, task, missed, overlap)
        _refuse_times(cron, timezone)
        task = replace(task, tags=(*task.tags, f"schedule:{name}"))
        settings = {key: getattr(task, key) for key in _SETTINGS}
        values = {
            "agent": task.agent, "cron": cron, "timezone": timezone, "missed": missed,
            "overlap": overlap, "settings": json.dumps(settings),
            **payload_of(task, self._max_payload),
        }  # fmt: skip

        def work(connection: Connection) -> Schedule:
            refuse_unknown(connection, [task], self._agents)
            refuse_unknown_queues(connection, [task], set())
            row = _locked(connection, self._database, SCHEDULES.c.name == name)
            same_times = row is not None and (row.cron, row.timezone) == (cron, timezone)
            now = connection.execute(select(self._database.clock())).scalar_one()
            times = {} if same_times else {"next_at": next_tick(cron, timezone, now)}
            is_it = SCHEDULES.c.name == name
            if row is None:
                adding = self._database.insert(SCHEDULES).values(name=name, **values, **times)
                # Somebody else may add it at this moment.
                new = adding.on_conflict_do_update(
                    index_elements=["name"], set_={**values, **times}
                )
                connection.execute(new)
            else:
                connection.execute(update(SCHEDULES).where(is_it).values(**values, **times))
            return _schedule(connection.execute(select(SCHEDULES).where(is_it)).one())

        return await self._database.write(work)

    async def all(self) -> list[Schedule]:
        """All of them, the next one first."""
        query = select(SCHEDULES).order_by(SCHEDULES.c.next_at, SCHEDULES.c.name)
        rows = await self._database.read(lambda connection: list(connection.execute(query)))
        return [_schedule(row) for row in rows]

    async def remove(self, name: str) -> bool:
        """Start nothing more by it; whether there was one of that name."""
        gone = delete(SCHEDULES).where(SCHEDULES.c.name == name)
        return await self._database.write(lambda c: c.execute(gone).rowcount == 1)

    async def fire_due(self) -> tuple[list[Fired], float | None]:
        """Start the tasks whose tick has come; and in how many seconds the next one comes."""
        left = await self._seconds_left()
        fired: list[Fired] = []
        while left is not None and left <= 0:
            one = await self._database.write(self._fire_one)
            if one is None:
                break  # Another worker is at it.
            fired.append(one)
            left = await self._seconds_left()
        return fired, left

    async def _seconds_left(self) -> float | None:
        nearest = select(func.min(SCHEDULES.c.next_at) - self._database.clock())
        nearest = nearest.where(SCHEDULES.c.name.not_in(self._left_to_others))
        return await self._database.read(lambda connection: connection.execute(nearest).scalar())

    def _fire_one(self, connection: Connection) -> Fired | None:
        # By the clock that all workers share; and the tick is moved on in the transaction that
        # starts its task, so that no other worker sees it again.
        now = connection.execute(select(self._database.clock())).scalar_one()
        is_due = and_(SCHEDULES.c.next_at <= now, SCHEDULES.c.name.not_in(self._left_to_others))
        row = _locked(connection, self._database, is_due)
        if row is None:
            return None
        try:
            tick = _last_tick(row.cron, row.timezone, row.next_at, now)
            following = next_tick(row.cron, row.timezone, now)
        except (ImportError, KeyError, OSError, ValueError) as error:
            self._left_to_others.append(row.name)
            why = f"{type(error).__name__}: {error}. It is left to other workers."
            return Fired(name=row.name, task_id=None, problem=why)
        task_id, problem = self._start(connection, row, now - tick)
        seen_to = update(SCHEDULES).where(SCHEDULES.c.name == row.name)
        values = {
            "next_at": following, "last_at": tick,
            "last_task": task_id or row.last_task, "problem": problem,
        }  # fmt: skip
        connection.execute(seen_to.values(**values))
        return Fired(name=row.name, task_id=task_id, problem=problem)

    def _start(self, connection: Connection, row: Row[Any], late: float) -> tuple[str | None, str]:
        if row.missed == "skip" and late >= _LATE:
            return None, f"No worker was there at its time; {late:.0f} s later it was skipped."
        if row.overlap == "skip" and not _has_ended(connection, row.last_task):
            return None, f"Task {row.last_task} of the tick before has not ended."
        try:
            [task_id] = enqueue_in(
                connection,
                self._database,
                [_task_of(row)],
                here=self._agents,
                most=self._max_payload,
                queues=set(),
            )
        except UsageError as error:
            return None, str(error)
        return task_id, ""


def next_tick(cron: str, timezone: str, after: float) -> float:
    """The first tick after that moment."""
    return next(_ticks(cron, timezone, after))


def _last_tick(cron: str, timezone: str, first: float, now: float) -> float:
    """The last tick until now of those from `first` on."""
    for since in (max(first, now - _DAY), first):
        # Of a schedule that ticks often, yesterday's ticks need not be gone through.
        *_, last = (None, *takewhile(lambda tick: tick <= now, _ticks(cron, timezone, since - 1)))
        if last is not None:
            return last
    return first


def _ticks(cron: str, timezone: str, after: float) -> Iterator[float]:
    from cronsim import CronSim  # noqa: PLC0415 - only for who schedules something

    local = datetime.fromtimestamp(after, ZoneInfo(timezone))
    return (tick.timestamp() for tick in CronSim(cron, local))


def _refuse_times(cron: str, timezone: str) -> None:
    try:
        from cronsim import CronSim, CronSimError  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("Schedules need an extra: pip install 'toolwright[tasks]'") from error
    try:
        zone = ZoneInfo(timezone)
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(
            f"timezone is a name such as 'Europe/Berlin' or 'UTC'; there is none {timezone!r}."
        ) from error
    try:
        fields = len(cron.split())
        next(CronSim(cron if fields == 5 else "", datetime.now(zone)))
    except CronSimError as error:
        raise UsageError(
            f"cron is five fields, minute, hour, day of month, month and day of week, such as "
            f"'30 7 * * 1-5'; got {cron!r}: {error}."
        ) from error
    except StopIteration as error:
        raise UsageError(f"The times of cron {cron!r} never come.") from error


def _refuse_wrong(name: str, task: NewTask, missed: str, overlap: str) -> None:
    if not name:
        raise UsageError("A schedule needs a name.")
    if missed not in get_args(Missed) or overlap not in get_args(Overlap):
        raise UsageError(
            f"missed is 'run' or 'skip' and overlap 'allow' or 'skip'; got {missed!r}, {overlap!r}."
        )
    for setting in ("start_at", "idempotency_key", "parent_id"):
        if getattr(task, setting) is not None:
            raise UsageError(f"{setting} belongs to one task; a schedule starts many.")


def _task_of(row: Row[Any]) -> NewTask:
    prompt = decode_message(row.prompt)
    assert isinstance(prompt, UserMessage)
    return NewTask(
        agent=row.agent,
        prompt=prompt,
        state=from_exact_json(row.state),
        elsewhere=True,
        **json.loads(row.settings),
    )


def _has_ended(connection: Connection, task_id: str | None) -> bool:
    status = select(TASKS.c.status).where(TASKS.c.id == task_id)
    found = None if task_id is None else connection.execute(status).scalar()
    return found is None or found in ENDED


def _locked(connection: Connection, database: Database, which: Any) -> Row[Any] | None:
    query = select(SCHEDULES).where(which).order_by(SCHEDULES.c.next_at).limit(1)
    lock = query if database.is_sqlite else query.with_for_update(skip_locked=True)
    return connection.execute(lock).first()


def _schedule(row: Row[Any]) -> Schedule:
    return Schedule(
        name=row.name, agent=row.agent, cron=row.cron, timezone=row.timezone, missed=row.missed,
        overlap=row.overlap, next_at=row.next_at, last_at=row.last_at, last_task=row.last_task,
        problem=row.problem or "",
    )  # fmt: skip
