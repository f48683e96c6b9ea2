"""SQLite databases in memory, one per address, whose transactions fail when the seed says so."""

import sqlite3
from collections.abc import Callable, Collection
from typing import Literal

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import StaticPool

__all__ = ["Databases", "Verdict"]

Verdict = Literal["works", "fail_before", "fail_after"]
Judge = Callable[[bool], Verdict]
"""What becomes of a transaction that begins now; told whether it writes."""


class _Connection(sqlite3.Connection):
    """A connection that may lose the acknowledgement of a commit."""

    loses_next = False

    def commit(self) -> None:
        """Commit, and say that it failed if the seed wants that."""
        super().commit()
        if self.loses_next:
            self.loses_next = False
            raise sqlite3.OperationalError("simulated: the connection was lost after the commit")

    def close(self) -> None:
        """It stays open: the database lives as long as its connection."""


class _Database:
    """One address. Processes share the connection, because transactions run one at a time anyway.

    It is kept from seed to seed with its compiled statements; only its content is put back.
    """

    def __init__(self) -> None:
        self.connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, factory=_Connection
        )
        self.connection.execute("PRAGMA foreign_keys = ON")
        self.judge: Judge = lambda write: "works"
        self._tables: list[str] = []
        self._empty = b""
        self.components: frozenset[str] = frozenset()
        """Those whose tables each seed finds there."""
        self.engine = create_engine(
            "sqlite://", creator=lambda: self.connection, poolclass=StaticPool
        )
        event.listen(self.engine, "begin", self._begin)

    def _begin(self, connection: Connection) -> None:
        write = bool(connection.get_execution_options().get("write"))
        verdict = self.judge(write)
        if verdict == "fail_before":
            lost = sqlite3.OperationalError("simulated: the connection was lost")
            raise OperationalError("BEGIN", {}, lost)
        self.connection.loses_next = verdict == "fail_after"
        # Not by way of SQLAlchemy, which takes ten times as long for it.
        self.connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")

    def reset(self) -> None:
        """Put back the empty tables; whenever there are new ones, that copy is made anew."""
        if self.connection.in_transaction:
            self.connection.rollback()
        tables = _tables(self.connection)
        if tables != self._tables:
            self._tables = tables
            self._empty = _emptied(self.connection, tables)
            if "toolwright_schema" in tables:
                made = self.connection.execute("SELECT component FROM toolwright_schema")
                self.components = frozenset(name for (name,) in made)
        self.connection.deserialize(self._empty)
        self.connection.execute("PRAGMA foreign_keys = ON")


def _tables(connection: sqlite3.Connection) -> list[str]:
    """The tables, but for full-text indexes and what those are made of: triggers empty them."""
    made = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    indexes = tuple(name for name, sql in made if (sql or "").startswith("CREATE VIRTUAL TABLE"))
    return [name for name, _ in made if not name.startswith(indexes)]


def _emptied(connection: sqlite3.Connection, tables: list[str]) -> bytes:
    connection.execute("PRAGMA foreign_keys = OFF")
    for name in tables:
        if name != "toolwright_schema":
            connection.execute(f'DELETE FROM "{name}"')
    return connection.serialize()


class Databases:
    """All databases of a simulation, by address."""

    _kept: dict[str, _Database] = {}  # noqa: RUF012 - shared by all seeds on purpose

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._used: set[str] = set()

    def make_engine(self, url: URL) -> Engine:
        """The engine of an address; nothing else than SQLite can take part."""
        name = str(url.database)
        database = self._kept.get(name)
        if database is None:
            database = self._kept[name] = _Database()
        self._used.add(name)
        database.judge = self._judge
        return database.engine

    def has_tables(self, url: URL, components: Collection[str]) -> bool:
        """Whether these components' tables are part of what each seed begins with."""
        database = self._kept.get(str(url.database))
        return database is not None and database.components.issuperset(components)

    def close(self) -> None:
        """Forget what the seed has written."""
        for name in self._used:
            self._kept[name].judge = lambda write: "works"
            self._kept[name].reset()
