"""Which tasks a worker takes next: as they stand in line, within the limits, of versions that it knows."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Result,
    Row,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    text,
)

from toolwright.tasks._schema import IS_ACTIVE, IS_KEYED, IS_QUEUED, IS_SUSPECT, TASKS
from toolwright.tasks._task import DEFAULT_QUEUE, SUSPECT

__all__ = ["Line", "is_suspect", "next_in_line"]

_WINDOW = 1000
"""How far behind the head is looked for somebody who may go, before it is asked who else is in line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """How an agent's tasks are taken from a queue."""

    agent: str
    slots: int
    """How many this worker can take now."""
    queue: str = DEFAULT_QUEUE
    per_owner: int | None = None
    """How many of one owner may be active at once, on all workers together."""
    per_key: int = 1
    """How many of one concurrency key may be, likewise."""
    rate: tuple[int, float] | None = None
    """At most so many starts in so many seconds, on all workers together."""
    suspect: bool = True
    """Whether this worker may take a task that may be what kills workers."""
    version: str = ""
    goes_on_from: Collection[str] | None = None
    """The other versions whose tasks it can go on with; None: all."""
    only: str | None = None
    """The only task that is wanted, wherever it stands in line."""


def next_in_line(
    connection: Connection,
    line: Line,
    now: float,
    *,
    suspect: bool,
    but: Collection[str],
    taken: Sequence[Row[Any]] = (),
) -> list[Row[Any]]:
    """The tasks to be taken up next, but for some; suspects stand in a line of their own.

    `taken` are those that are about to be taken up from other lines.
    """
    mine = [row for row in taken if row.agent == line.agent]
    room = line.slots - len(mine)
    if room <= 0:
        return []
    looking = _Looking(connection, line, now, suspect)
    is_limited = line.per_owner is not None or looking.has_keys()
    if is_limited or line.rate is not None:
        looking.lock()
    most = min(1 if suspect else room, _starts_left(connection, line, now, len(mine)))
    if most <= 0:
        return []
    if not is_limited:
        found = looking.first(most, but)
        if all(row.concurrency_key is None for row in found):
            return found
        looking.lock()  # They have come since it was asked whether there are any with a key.
    return _within_limits(looking, most, but, mine)


def is_suspect(row: Row[Any]) -> bool:
    """Whether a task may be what kills its workers."""
    return (row.crashes or 0) >= SUSPECT


def _starts_left(connection: Connection, line: Line, now: float, taken: int) -> int:
    if line.rate is None:
        return line.slots
    most, seconds = line.rate
    recent = (TASKS.c.agent == line.agent, TASKS.c.started_at > now - seconds)
    started = connection.execute(select(func.count()).where(*recent)).scalar() or 0
    return most - started - taken


def _within_limits(
    looking: "_Looking", most: int, but: Collection[str], taken: Sequence[Row[Any]]
) -> list[Row[Any]]:
    """The first ones of whose owner and key not too many are active."""
    left_out = set(but)
    while True:
        limits = _Limits(looking.connection, looking.line, taken)
        fits = (row.id for row in looking.candidates(limits) if limits.take(row, but=left_out))
        chosen = list(islice(fits, most))
        if not chosen:
            return []
        if found := looking.take(chosen):
            return found
        # Somebody is about to change them all: others may go first.
        left_out.update(chosen)


class _Limits:
    """How many of each owner and of each concurrency key are active, and may be."""

    def __init__(self, connection: Connection, line: Line, taken: Sequence[Row[Any]]) -> None:
        self._most = {_KEY: line.per_key}
        if line.per_owner is not None:
            self._most[_OWNER] = line.per_owner
        self._active: dict[str, Counter[str]] = {column: Counter() for column in self._most}
        self.full: dict[str, set[str]] = {column: set() for column in self._most}
        for row in (*connection.execute(_ACTIVE, {"agent": line.agent}), *taken):
            self._count(row)

    def take(self, row: Any, but: Collection[str]) -> bool:
        """Count a task in, if it is not one of some and its owner and its key allow it."""
        at_limit = any(row._mapping[column] in full for column, full in self.full.items())
        if at_limit or row.id in but:
            return False
        self._count(row)
        return True

    def _count(self, row: Any) -> None:
        for column, active in self._active.items():
            name = row._mapping[column]
            if name is not None:
                active[name] += 1
                if active[name] >= self._most[column]:
                    self.full[column].add(name)


@dataclass(frozen=True, slots=True)
class _Looking:
    """Who is ready to go in a line."""

    connection: Connection
    line: Line
    now: float
    suspect: bool

    @property
    def is_sqlite(self) -> bool:
        return self.connection.dialect.name == "sqlite"

    def lock(self) -> None:
        """Let no other worker count at the same time: both would find room."""
        if not self.is_sqlite:
            self._ask(_LOCK)

    def has_keys(self) -> bool:
        """Whether a task in line has a concurrency key."""
        return self._ask(_HAS_KEYS).first() is not None

    def first(self, most: int, but: Collection[str]) -> list[Row[Any]]:
        """The first ones, without waiting for those that another worker is about to take."""
        query = _first(self._kind)
        return list(self._ready(self._unlocked(query), most=most, but=list(but)))

    def take(self, ids: Sequence[str]) -> list[Row[Any]]:
        """These, as they are, unless somebody else is about to change them."""
        rows = {
            row.id: row for row in self.connection.execute(self._unlocked(_THESE), {"ids": ids})
        }
        return [rows[i] for i in ids if i in rows]

    def candidates(self, limits: _Limits) -> Iterator[Any]:
        """Those near the head; then of each who is not at a limit by then, the first ones."""
        seen = 0
        for row in self._ready(_briefly(self._kind), most=_WINDOW):
            seen += 1
            yield row
        if seen < _WINDOW:
            return
        # Thousands may be of a few who are at their limit: rather than look at each of them, it is
        # asked who else is in line, by key if any is full, since each task has one or none.
        column = _KEY if limits.full[_KEY] else _OWNER
        if not limits.full.get(column):
            return
        for priority, name in self._turns(column, limits):
            query = _of_one(column, name is None, self._kind)
            full = {f"full_{at}": list(limits.full.get(at, ())) for at in (_OWNER, _KEY)}
            only = {_PRIORITY: priority, column: name, "most": self.line.slots}
            yield from self._ready(query, **only, **full).all()

    def _turns(self, column: str, limits: _Limits) -> Iterator[tuple[int, str | None]]:
        """Those who have something in line, by priority, but for the full ones; None for no key."""
        priority = self._ask(_HIGHEST).scalar()
        while priority is not None:
            only = {_PRIORITY: priority, "full": list(limits.full[column])}
            names = self._ready(_turns(column, self._kind), **only)
            for name in (*names.scalars().all(), *([None] if column == _KEY else [])):
                yield priority, name
            priority = self._ask(_NEXT_LOWER, priority=priority).scalar()

    @property
    def _kind(self) -> "_Kind":
        line = self.line
        return _Kind(self.suspect, line.goes_on_from is not None, line.only is not None)

    def _unlocked(self, query: Any) -> Any:
        return query if self.is_sqlite else query.with_for_update(skip_locked=True)

    def _ready(self, query: Any, **more: Any) -> Result[Any]:
        if self.line.goes_on_from is not None:
            more["versions"] = [self.line.version, *self.line.goes_on_from]
        if self.line.only is not None:
            more["only"] = self.line.only
        return self._ask(query, now=self.now, **more)

    def _ask(self, query: Any, **more: Any) -> Result[Any]:
        where = {"agent": self.line.agent, "queue": self.line.queue, **more}
        return self.connection.execute(query, where)


_OWNER, _KEY = TASKS.c.owner_id.name, TASKS.c.concurrency_key.name
_PRIORITY = TASKS.c.priority.name
_IN_ORDER = (TASKS.c.priority.desc(), TASKS.c.place, TASKS.c.created_at)
_IN_LINE = (IS_QUEUED, TASKS.c.agent == bindparam("agent"), TASKS.c.queue == bindparam("queue"))
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('toolwright'), hashtext(:agent))")
_HAS_KEYS = select(1).where(*_IN_LINE, IS_KEYED).limit(1)
_HIGHEST = select(func.max(TASKS.c.priority)).where(*_IN_LINE)
_NEXT_LOWER = _HIGHEST.where(TASKS.c.priority < bindparam("priority"))
# SQLite would look at all of an agent's tasks, since most are not active.
_ACTIVE = (
    select(TASKS.c.owner_id, TASKS.c.concurrency_key)
    .where(IS_ACTIVE, TASKS.c.agent == bindparam("agent"))
    .with_hint(TASKS, "INDEXED BY toolwright_tasks_active", "sqlite")
)
# Asked once more, since a row that is locked may have changed meanwhile.
_THESE = select(TASKS).where(TASKS.c.id.in_(bindparam("ids", expanding=True)), IS_QUEUED)


class _Kind(NamedTuple):
    """Which conditions a statement has."""

    suspect: bool = False
    choosy: bool = False
    alone: bool = False


def _ready(kind: _Kind) -> Iterator[ColumnElement[bool]]:
    yield from _IN_LINE
    if kind.alone:
        yield TASKS.c.id == bindparam("only")
    yield TASKS.c.start_at <= bindparam("now")
    crashes = func.coalesce(TASKS.c.crashes, 0)
    yield IS_SUSPECT if kind.suspect else crashes < literal_column(str(SUSPECT))
    if kind.choosy:
        known = TASKS.c.version.in_(bindparam("versions", expanding=True))
        # To end what is cancelled, no version is needed.
        yield or_(TASKS.c.attempts == 0, TASKS.c.cancel.is_(True), known)


@cache
def _first(kind: _Kind) -> Any:
    but = TASKS.c.id.not_in(bindparam("but", expanding=True))
    query = select(TASKS).where(*_ready(kind), but)
    return query.order_by(*_IN_ORDER).limit(bindparam("most"))


@cache
def _briefly(kind: _Kind) -> Any:
    query = select(TASKS.c.id, TASKS.c.owner_id, TASKS.c.concurrency_key)
    query = query.where(*_ready(kind))
    return query.order_by(*_IN_ORDER).limit(bindparam("most"))


@cache
def _of_one(name: str, without: bool, kind: _Kind) -> Any:
    """The first of a priority that have a value in a column, or none, and are not at another limit."""
    is_one = TASKS.c[name].is_(None) if without else TASKS.c[name] == bindparam(name)
    query = _briefly(kind).where(is_one, TASKS.c.priority == bindparam(_PRIORITY))
    for column in (TASKS.c.owner_id, TASKS.c.concurrency_key):
        is_full = column.in_(bindparam(f"full_{column.name}", expanding=True))
        query = query.where(or_(column.is_(None), ~is_full))
    return query


@cache
def _turns(name: str, kind: _Kind) -> Any:
    """The names in a column of those who are ready, each found by one step into the index."""
    column = TASKS.c[name]
    ready = (*_ready(kind), TASKS.c.priority == bindparam(_PRIORITY))
    least = select(func.min(column).label("name")).where(*ready, column.is_not(None))
    turns = least.cte("turns", recursive=True)
    after = least.where(column > turns.c.name).correlate(turns).scalar_subquery()
    turns = turns.union_all(select(after).where(turns.c.name.is_not(None)))
    wanted = turns.c.name.not_in(bindparam("full", expanding=True))
    return select(turns.c.name).where(turns.c.name.is_not(None), wanted).limit(_WINDOW)
