"""One SQL database, SQLite or Postgres: connections, transactions, the schema, its errors.

Each transaction is one function that runs in a thread: measured, that is five times as fast as
awaiting every statement, nothing can be cancelled halfway, and no connection is bound to a loop.
"""

import asyncio
import math
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    Table,
    Text,
    cast,
    create_engine,
    event,
    func,
    inspect,
    literal,
    select,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateColumn

from toolwright._private import demand_own_way
from toolwright.backends._own_paths import hide_database, make_database, make_directory_of_records
from toolwright.backends.sql._address import driver_url, shown
from toolwright.backends.sql._group import GroupWriter
from toolwright.concurrency import begin_anew_after_fork, outlast
from toolwright.errors import StoreError, UnreadableError
from toolwright.messages import redact

__all__ = ["GONE", "Database"]

T = TypeVar("T")

_BUSY_SECONDS = 30
_LOG_BYTES = 8 * 1024 * 1024
"""Length of SQLite's write-ahead log from which on it is emptied at once."""
_LOG_WAIT_MS = 50
"""How long that waits for those who read; if in vain, the next writer tries again."""
_NORMAL, _FULL = "NORMAL", "FULL"
"""How SQLite writes ahead: what the system has, which a killed process cannot take back but a power
cut can, or what is on the disk."""
_READERS = 4
_POSTGRES_CONNECTIONS = 20
_OF_ONE_MOMENT = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
"""Of transactions that read, on Postgres; on SQLite it is so by itself."""
_VERSIONS = Table(
    "toolwright_schema",
    MetaData(),
    Column("component", Text, primary_key=True),
    Column("version", Integer, nullable=False),
)


GONE = "gone"
"""The key, in what tables are told of, of the names of indexes that older versions had."""
_INHERITED: list[tuple[Engine, Engine]] = []
"""Of the process that this one was forked off from."""


class Database:
    """Opens `url` on first use and makes the tables of `metadata` there.

    `component` and `version` name what the tables are for: a database written by a newer version
    is refused rather than misread.
    """

    def __init__(self, url: str, component: str, version: int, metadata: MetaData) -> None:
        self._url = driver_url(url)
        if self.is_sqlite and not self._is_in_memory:
            hide_database(str(self._url.database))
        self._components = [(component, version, metadata)]
        self._engines: tuple[Engine, Engine] | None = None
        """One for reading and one for writing, over the same connections."""
        self._threads = _Threads(_READERS if self.is_sqlite else _POSTGRES_CONNECTIONS)
        self._begin()
        begin_anew_after_fork(self)

    def _begin(self) -> None:
        self._opening = threading.Lock()
        # SQLite has one writer at a time: waiting here costs nothing, waiting there polls.
        self._one_writer = GroupWriter(partial(self._transact, write=True))
        # In memory there is one connection, whichever thread asks.
        self._alone = threading.Lock() if self._is_in_memory else nullcontext()

    def after_fork(self) -> None:
        """Open it anew: the connections are the parent's, and its writer's thread is not here."""
        self._begin()
        if self._engines is not None and not self._is_in_memory:
            # Kept for ever: to close them would end the parent's sessions.
            _INHERITED.append(self._engines)
            self._engines = None

    @property
    def _is_in_memory(self) -> bool:
        return self._url.database == ":memory:"

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite; otherwise it is Postgres."""
        return self._url.get_backend_name() == "sqlite"

    @property
    def insert(self) -> Callable[[Table], Any]:
        """`insert` with the database's own `on_conflict_…`."""
        if self.is_sqlite:
            return sqlite.insert
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - slow to load

        return postgresql.insert

    def clock(self) -> ColumnElement[float]:
        """Seconds since the epoch by the one clock that all who use the database share."""
        if self.is_sqlite:
            return literal(time.time())
        return cast(func.extract("epoch", func.clock_timestamp()), Float(53))

    def add(self, component: str, version: int, metadata: MetaData) -> None:
        """Make these tables in the same database; to be said before the first use."""
        self._components.append((component, version, metadata))

    async def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns; it runs in a thread, in a transaction that changes nothing, and all its
        statements see the database of one moment."""
        return await self._threads.run(lambda: self._transact(work, write=False))

    async def write(self, work: Callable[[Connection], T], *, synced: bool = False) -> T:
        """What `work` returns; it runs in a thread, in a transaction undone if it raises.

        On SQLite nobody else writes meanwhile. On Postgres each statement sees what others have
        committed before it: what must not change after it was read has to be locked.

        `synced`: a power cut loses neither this nor anything written before it. Without it SQLite may
        lose the last moments; Postgres does not, unless its `synchronous_commit` is off.
        """
        if self.is_sqlite:
            return await self._one_writer.run(work, synced=synced)
        return await self._threads.run_whole(lambda: self._transact(work, write=True))

    def write_now(self, work: Callable[[Connection], T], within: float | None = None) -> T:
        """`write` for threads that have no event loop: it blocks the caller.

        `within`: how many seconds Postgres may take for each answer.
        """
        return self._transact(lambda c: work(self._bounded(c, within)), write=True)

    def _bounded(self, connection: Connection, seconds: float | None) -> Connection:
        if seconds is not None and not self.is_sqlite:
            from toolwright.backends.sql._postgres import give_up_after  # noqa: PLC0415 - an extra

            give_up_after(connection.connection.driver_connection, seconds)
        return connection

    async def close(self) -> None:
        """Let go of all connections; the next use opens it again.

        Of one in memory the connection is all there is: it goes when nobody has the database any
        more, so that one of several who share it can close it.
        """
        if self._is_in_memory:
            return
        with self._opening:
            engines, self._engines = self._engines, None
        if engines is not None:
            await anyio.to_thread.run_sync(engines[0].dispose)

    def _transact(self, work: Callable[[Connection], T], synced: bool = False, *, write: bool) -> T:
        with self._told(), self._alone:
            reader, writer = self._opened()
            with (writer if write else reader).connect() as connection:
                if write and self.is_sqlite:
                    _sync(connection, _FULL if synced else _NORMAL)
                with connection.begin():
                    done = work(connection)
            if write and self.is_sqlite and not self._is_in_memory:
                _shorten_log(reader, str(self._url.database))
            return done

    def _opened(self) -> tuple[Engine, Engine]:
        if self._engines is not None:
            return self._engines
        with self._opening:
            if self._engines is None:
                engine = _make_engine(self._url)
                reader = engine if self.is_sqlite else engine.execution_options(**_OF_ONE_MOMENT)
                writer = engine.execution_options(write=True)
                try:
                    with writer.begin() as connection:
                        self._prepare(connection)
                except BaseException:
                    engine.dispose()
                    raise
                if self._is_in_memory:
                    weakref.finalize(self, engine.dispose)
                self._engines = reader, writer
            return self._engines

    def _prepare(self, connection: Connection) -> None:
        if not self.is_sqlite:
            # New columns and indexes of a large table take as long as they take.
            self._bounded(connection, math.inf)
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            # Two processes that start at once would otherwise both make the tables.
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('toolwright_schema'))"))
        _VERSIONS.metadata.create_all(connection)
        for component, version, metadata in self._components:
            self._make_tables(connection, component, version, metadata)

    def _make_tables(
        self, connection: Connection, component: str, version: int, metadata: MetaData
    ) -> None:
        row = select(_VERSIONS.c.version).where(_VERSIONS.c.component == component)
        found = connection.execute(row).scalar()
        if found is None:
            metadata.create_all(connection)
            new = {"component": component, "version": version}
            connection.execute(_VERSIONS.insert(), new)
        elif found > version:
            raise UnreadableError(
                f"The {component} tables in {self} have version {found}; this program knows "
                f"versions up to {version}. Upgrade toolwright, or use another database."
            )
        elif found < version:
            _add_columns(connection, metadata)
            metadata.create_all(connection)
            newer = _VERSIONS.update().where(_VERSIONS.c.component == component)
            connection.execute(newer.values(version=version))

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            cause = getattr(error, "orig", None) or error
            raise StoreError(f"The database {self} failed: {redact(str(cause))}") from error

    def __str__(self) -> str:
        return shown(self._url)

    def __repr__(self) -> str:
        return f"Database({str(self)!r})"


def _add_columns(connection: Connection, metadata: MetaData) -> None:
    """Give tables that an older version has made the columns and indexes that are new since, and take
    away those indexes that are gone."""
    found = inspect(connection)
    for table in metadata.sorted_tables:
        if not found.has_table(table.name):
            continue
        has = {column["name"] for column in found.get_columns(table.name)}
        for column in table.columns:
            if column.name not in has:
                definition = CreateColumn(column).compile(dialect=connection.dialect)
                connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {definition}"))
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    for name in metadata.info.get(GONE, ()):
        connection.execute(text(f"DROP INDEX IF EXISTS {name}"))


class _Threads:
    """So many threads at once, in each event loop."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._limiters = RunVar[anyio.CapacityLimiter]("database threads")

    async def run(self, work: Callable[[], T]) -> T:
        try:
            limiter = self._limiters.get()
        except LookupError:
            limiter = anyio.CapacityLimiter(self._number)
            self._limiters.set(limiter)
        return await anyio.to_thread.run_sync(work, limiter=limiter)

    async def run_whole(self, work: Callable[[], T]) -> T:
        """`run`, but cancelled it returns only when `work` has ended, or will never begin.

        What the caller does next must not overtake what the thread still writes.
        """
        turn = _Turn(work)
        task = asyncio.create_task(self.run(turn.take))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if turn.withdraw():
                task.cancel()
            await outlast(task)
            if not task.cancelled():
                task.exception()  # seen: the caller is told that it was cancelled, nothing else
            raise


class _Turn:
    """Work that is either taken up by a thread or withdrawn."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._free = threading.Lock()

    def take(self) -> Any:
        """Do it, unless it was withdrawn."""
        return self._work() if self._free.acquire(blocking=False) else None

    def withdraw(self) -> bool:
        """Whether nobody had taken it up."""
        return self._free.acquire(blocking=False)


def _make_engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        from toolwright.backends.sql._postgres import bound_waits  # noqa: PLC0415 - an extra

        engine = create_engine(url, pool_size=_POSTGRES_CONNECTIONS, pool_pre_ping=True)
        bound_waits(engine)
        event.listen(engine, "connect", _limit_waits)
        return engine
    options = {"timeout": _BUSY_SECONDS, "isolation_level": None}
    if url.database == ":memory:":
        options["check_same_thread"] = False
        engine = create_engine(url, connect_args=options, poolclass=StaticPool)
    else:
        _make_file(Path(str(url.database)))
        engine = create_engine(url, connect_args=options, pool_size=_READERS + 1)
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _make_file(file: Path) -> None:
    """Make what is missing of a database's file and directory, for this user alone."""
    demand_own_way(file)  # Before anything is made where its links lead.
    make_directory_of_records(file.resolve().parent)
    make_database(file)


def _limit_waits(connection: Any, _record: Any) -> None:
    # A process that is stopped in the middle of a transaction must not keep its locks for ever, and
    # whoever waits for another's lock must come to an end: a cancelled caller waits for it too.
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{_BUSY_SECONDS}s'")
        cursor.execute(f"SET statement_timeout = '{_BUSY_SECONDS}s'")
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{_BUSY_SECONDS}s'")
    connection.commit()


def _set_pragmas(connection: Any, _record: Any) -> None:
    _write_ahead(connection)
    connection.execute("PRAGMA foreign_keys = ON")


def _write_ahead(connection: Any) -> None:
    """Turn a new file to WAL. Of two that do, SQLite refuses one at once instead of having it wait."""
    ends = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.01)


def _shorten_log(engine: Engine, file: str) -> None:
    """Empty the write-ahead log when it is long; SQLite itself gives up while anybody reads."""
    # What was written is written: nothing that goes wrong here is the writer's to hear.
    with suppress(OSError, sqlite3.Error, SQLAlchemyError):
        if os.stat(f"{file}-wal").st_size < _LOG_BYTES:
            return
        raw = engine.raw_connection()
        try:
            raw.execute(f"PRAGMA busy_timeout = {_LOG_WAIT_MS}")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            raw.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000}")
            raw.close()


def _begin(connection: Connection) -> None:
    """Take the write lock at the start: a read lock that grows may fail without waiting."""
    write = connection.get_execution_options().get("write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _sync(connection: Connection, level: str) -> None:
    """Choose how the next transaction is kept; inside it, SQLite takes no word of that."""
    if connection.info.get("synchronous") != level:
        # Not by way of SQLAlchemy, which takes ten times as long for it.
        raw: Any = connection.connection.driver_connection
        raw.execute(f"PRAGMA synchronous = {level}")
        connection.info["synchronous"] = level
