"""Open a database by its address, so that statements on it do no more than they may."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Protocol

from sqlalchemy import URL, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool, StaticPool

from toolwright.backends import sqlite_path
from toolwright.errors import UsageError
from toolwright.sources.sql._engine import EngineDatabase, any_session, run_statement
from toolwright.sources.sql._limits import QueryLimits
from toolwright.sources.sql._mysql import mysql_engine, mysql_session, read_mysql
from toolwright.sources.sql._sqlite import SqliteReader

__all__ = ["Database", "open_database"]

_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}


class Database(Protocol):
    """What the tools need of a database."""

    @property
    def kind(self) -> str:
        """SQLAlchemy's name for what it is."""
        ...

    async def query(self, query: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Run one statement from outside; raises `ToolError` when it is refused."""
        ...

    async def inspect(self, table: str | None, schema: str | None) -> dict[str, Any]:
        """The names of the tables and views, or what `table` is made of."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


def open_database(
    url: str,
    limits: QueryLimits,
    *,
    read_only: bool,
    allow_superuser: bool,
    functions: Collection[str],
) -> Database:
    """The database at `url`; nothing is connected to yet."""
    address = _address(url)
    driver = address.drivername
    if read_only and driver not in _DRIVERS.values():
        raise UsageError(
            f"Read-only is known for {', '.join(_DRIVERS)}; got {driver!r}. Use an account that "
            "cannot write, and pass read_only=False."
        )
    if functions and not (read_only and driver == "postgresql+psycopg"):
        raise UsageError("allow_functions is for reading from Postgres; leave it out here.")
    if driver == "postgresql+psycopg":
        return _postgres(address, limits, read_only, allow_superuser, functions)
    if driver in ("mysql+pymysql", "mariadb+pymysql"):
        session = partial(mysql_session, read_only=read_only)
        run = read_mysql if read_only else run_statement
        return EngineDatabase(mysql_engine(address), limits, session, run)
    if read_only:
        return SqliteReader(address, limits)
    return EngineDatabase(_engine(address), limits, any_session, run_statement)


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
        path = sqlite_path(url.partition("?")[0] if address.query else url)
        address = address.set(database=str(path))
    return address.set(drivername=_DRIVERS.get(address.drivername, address.drivername))


def _postgres(
    address: URL,
    limits: QueryLimits,
    read_only: bool,
    allow_superuser: bool,
    functions: Collection[str],
) -> Database:
    from toolwright.sources.sql._postgres import read_postgres  # noqa: PLC0415 - needs its extra
    from toolwright.sources.sql._postgres_session import (  # noqa: PLC0415
        postgres_engine,
        postgres_session,
    )

    session = partial(postgres_session, read_only=read_only, allow_superuser=allow_superuser)
    run = partial(read_postgres, functions=functions) if read_only else run_statement
    return EngineDatabase(postgres_engine(address), limits, session, run)


def _engine(address: URL) -> Engine:
    if address.get_backend_name() != "sqlite":
        return create_engine(address, pool_pre_ping=True, hide_parameters=True)
    if address.database in (None, "", ":memory:"):
        # One connection for all threads: another one would see another, empty database.
        return create_engine(
            address, poolclass=StaticPool, connect_args={"check_same_thread": False}
        )
    return create_engine(address, poolclass=NullPool)
