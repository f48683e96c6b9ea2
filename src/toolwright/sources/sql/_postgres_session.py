"""Sessions with Postgres: watched while they are used, reset before the next use, of a modest role."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types.json import set_json_loads
from psycopg.types.string import TextLoader
from sqlalchemy import URL, Connection, Engine, create_engine, event

from toolwright.errors import ToolError
from toolwright.sources.sql._limits import QueryLimits
from toolwright.sources.sql._postgres_wire import CountedConnection, Watch

__all__ = ["driver_of", "postgres_engine", "postgres_session"]

_SLACK = 5.0
"""Seconds the server has to end a statement by itself before its session is given up."""
_OVERHEAD = 200_000
"""Bytes for what is asked besides, and for the names of columns."""
_CONNECT_SECONDS = 10
_CLEAN = (TransactionStatus.IDLE, TransactionStatus.INTRANS, TransactionStatus.INERROR)
_TIMES = ("date", "time", "timetz", "timestamp", "timestamptz", "interval")
"""Shown as the server writes them: Python has no infinity, no year 10000 and no months."""
_PRIVILEGED = [
    "pg_checkpoint", "pg_create_subscription", "pg_execute_server_program", "pg_maintain",
    "pg_read_server_files", "pg_signal_autovacuum_worker", "pg_signal_backend",
    "pg_use_reserved_connections", "pg_write_server_files",
    "alloydbsuperuser", "azure_pg_admin", "cloudsqlsuperuser", "rds_superuser",
]  # fmt: skip
"""Roles whose members can reach files, programs or other sessions of the server."""
_ROLE = """
SELECT session_user, pg_catalog.array_agg(DISTINCT
         CASE WHEN r.rolsuper THEN 'a superuser'
              WHEN r.rolreplication THEN 'able to replicate'
              WHEN r.rolcreaterole THEN 'able to make roles'
              ELSE 'a member of ' || r.rolname END)
FROM pg_catalog.pg_roles r
WHERE (r.rolsuper OR r.rolreplication OR r.rolcreaterole OR r.rolname = ANY(%s::name[]))
  AND (pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER')
       OR pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER'))
"""


def postgres_engine(address: URL) -> Engine:
    """An engine whose sessions keep nothing from one use to the next."""
    engine = create_engine(
        address, pool_pre_ping=True, pool_reset_on_return=None, hide_parameters=True
    )
    event.listen(engine, "do_connect", _connect)
    event.listen(engine, "reset", _reset)
    return engine


@contextmanager
def postgres_session(
    engine: Engine,
    limits: QueryLimits,
    abandoned: threading.Event,
    *,
    read_only: bool,
    allow_superuser: bool,
) -> Iterator[Connection]:
    """A transaction that ends with the block; it is committed only if it may write."""
    with engine.connect() as connection:
        driver = driver_of(connection)
        deadline = time.monotonic() + limits.seconds + _SLACK
        driver.watch = Watch(deadline, limits.bytes + _OVERHEAD, abandoned)
        try:
            connection.execution_options(postgresql_readonly=read_only)
            _begin(connection, limits.seconds)
            if not allow_superuser:
                _check_role(connection)
            yield connection
            if not read_only:
                connection.commit()
        finally:
            driver.watch = None
            if driver.pgconn.transaction_status not in _CLEAN:
                _give_up(connection, driver)


def driver_of(connection: Connection) -> CountedConnection:
    """The driver's own connection."""
    return cast(CountedConnection, connection.connection.driver_connection)


def _connect(dialect: Any, record: Any, args: Any, settings: dict[str, Any]) -> Any:
    given: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, **settings}
    given |= {"client_encoding": "utf8", "prepare_threshold": None}
    connection = CountedConnection.connect(*args, **given)
    connection.interpose()
    set_json_loads(_loads, context=connection)
    for name in _TIMES:
        connection.adapters.register_loader(name, TextLoader)
    return connection


def _loads(text: str | bytes) -> Any:
    """The value, or its text where Python has no room for it: too deep, or too many digits."""
    try:
        return json.loads(text)
    except (RecursionError, ValueError):
        return text.decode() if isinstance(text, bytes) else text


def _reset(driver: Any, record: Any, state: Any) -> None:
    """Locks, settings, subscriptions, cursors and temporary tables end with the use they are from."""
    if not driver.closed:
        driver.rollback()
        driver.autocommit = True
        driver.execute("DISCARD ALL")
        driver.autocommit = False


def _check_role(connection: Connection) -> None:
    """Raise `ToolError` if the account can do what no statement should be able to."""
    if "modest" in connection.info:
        return
    name, found = driver_of(connection).execute(_ROLE, [_PRIVILEGED]).fetchone() or ("", None)
    if found:
        reasons = ["a superuser"] if "a superuser" in found else found
        raise ToolError(
            f"The database account {name!r} is {', '.join(reasons)}, which no agent's account needs "
            "to be. Give SqlToolset an account that can only read what it should, or pass "
            "allow_superuser=True."
        )
    connection.info["modest"] = True


def _begin(connection: Connection, seconds: float) -> None:
    # Strings as the standard has them: statements are told apart from their strings by that rule.
    connection.exec_driver_sql(
        "SELECT pg_catalog.set_config('statement_timeout', %s, true),"
        " pg_catalog.set_config('standard_conforming_strings', 'on', true),"
        " pg_catalog.set_config('datestyle', 'ISO', true)",
        (str(max(1, int(seconds * 1000))),),
    )


def _give_up(connection: Connection, driver: CountedConnection) -> None:
    """End a statement that is still running, and the session with it."""
    with suppress(psycopg.Error):
        driver.cancel_safe(timeout=_SLACK)
    connection.invalidate()
