"""Make a database itself refuse to write, and to work longer than it may.

Nothing here decides by looking at a query: SQLite asks an authorizer while it compiles a statement,
Postgres runs a cursor in a read-only transaction, MySQL an expression in a read-only transaction.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolwright.backends import sqlite_path
from toolwright.errors import UsageError

try:
    from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
    from sqlalchemy.exc import ArgumentError
    from sqlalchemy.pool import NullPool, StaticPool
except ImportError as error:
    raise ImportError("SQL tools need an extra: pip install 'toolwright[sql]'") from error

__all__ = ["open_engine", "query_options", "query_text", "transaction"]

_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
_KNOWN = ("sqlite", "postgresql", "mysql", "mariadb")
_MAX_VALUE_BYTES = 50_000_000
_CHECK_EVERY = 10_000  # SQLite's own instructions, some tenths of a millisecond

_READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
    sqlite3.SQLITE_TRANSACTION,
}
_HARMLESS_PRAGMAS = {
    "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo",
    "foreign_key_list", "database_list",
}  # fmt: skip


def open_engine(url: str, *, read_only: bool) -> Engine:
    """An engine for `url`; with `read_only` its connections cannot change anything."""
    address = _address(url)
    kind = address.get_backend_name()
    if read_only and kind not in _KNOWN:
        raise UsageError(
            f"Read-only is known for {', '.join(_KNOWN)}; got {kind!r}. Use an account that cannot "
            "write, and pass read_only=False."
        )
    if kind != "sqlite":
        return create_engine(address, pool_pre_ping=True, hide_parameters=True)
    engine = _sqlite_engine(address, read_only=read_only)
    if read_only:
        event.listen(engine, "connect", _restrict)
    return engine


def query_options(engine: Engine, *, read_only: bool) -> dict[str, Any]:
    """How a query from outside is executed.

    Postgres declares a cursor for it, which takes one statement and only one that reads: no COPY,
    no second statement behind a semicolon that would end the read-only transaction first.
    """
    return {"stream_results": read_only and engine.dialect.name == "postgresql"}


def query_text(engine: Engine, query: str, *, read_only: bool) -> str:
    """A query from outside as it is sent.

    What MySQL finds between parentheses can by its grammar only be a query. Without them a
    statement could end the read-only transaction (as any `DROP` does) or set it aside.
    """
    if read_only and engine.dialect.name in ("mysql", "mariadb"):
        return f"({query.rstrip().rstrip(';')}\n)"
    return query


@contextmanager
def transaction(
    engine: Engine, *, read_only: bool, seconds: float, max_rows: int
) -> Iterator[Connection]:
    """A transaction that the database ends after `seconds`, and that cannot write if it must not."""
    kind = engine.dialect.name
    with engine.connect() as connection:
        if kind == "postgresql":
            connection.execution_options(postgresql_readonly=read_only)
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
        elif kind == "sqlite":
            _stop_after(connection, seconds)
        elif kind in ("mysql", "mariadb"):
            _begin_mysql(connection, read_only, seconds, max_rows)
        yield connection
        if not read_only:
            connection.commit()


def _address(url: str) -> URL:
    try:
        address = make_url(url)
    except ArgumentError as error:
        raise UsageError(
            "The database address cannot be read; wanted one like 'sqlite:///shop.db' or "
            "'postgresql://user:password@host/name'."
        ) from error
    if address.drivername == "sqlite" and address.database not in (None, "", ":memory:"):
        # SQLAlchemy's versions read quoted characters differently; the options are its own.
        return address.set(
            database=str(sqlite_path(url.partition("?")[0] if address.query else url))
        )
    return address.set(drivername=_DRIVERS.get(address.drivername, address.drivername))


def _sqlite_engine(address: URL, *, read_only: bool) -> Engine:
    path = address.database
    if not path or path == ":memory:":
        # One connection for all threads: another one would see another, empty database.
        return create_engine(
            address, poolclass=StaticPool, connect_args={"check_same_thread": False}
        )
    if not read_only:
        return create_engine(address, poolclass=NullPool)
    if not Path(path).is_file():
        raise UsageError(f"There is no SQLite database {path!r} to read.")
    opened = address.set(database=Path(path).resolve().as_uri()).update_query_dict(
        {"mode": "ro", "uri": "true"}
    )
    return create_engine(opened, poolclass=NullPool)


def _restrict(connection: Any, record: Any) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.set_authorizer(_authorize)


def _authorize(action: int, first: str | None, second: str | None, *rest: Any) -> int:
    """SQLite's question about one step of a statement: reading is fine, all else is not."""
    if action == sqlite3.SQLITE_FUNCTION and second == "load_extension":
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA:
        known = (first or "").lower() in _HARMLESS_PRAGMAS
        return sqlite3.SQLITE_OK if known else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


def _stop_after(connection: Connection, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(lambda: time.monotonic() > deadline, _CHECK_EVERY)


def _begin_mysql(connection: Connection, read_only: bool, seconds: float, max_rows: int) -> None:
    # Its driver fetches whole results, so the server has to stop in time.
    connection.exec_driver_sql(f"SET SESSION sql_select_limit = {max_rows + 1}")
    if getattr(connection.dialect, "is_mariadb", False):
        connection.exec_driver_sql(f"SET SESSION max_statement_time = {seconds:.3f}")
    else:
        connection.exec_driver_sql(f"SET SESSION max_execution_time = {int(seconds * 1000)}")
    if read_only:
        connection.exec_driver_sql("SET SESSION TRANSACTION READ ONLY")
        connection.exec_driver_sql("START TRANSACTION READ ONLY")
