"""Reading from MySQL and MariaDB: which statements are taken, and a transaction that cannot write."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine
from sqlalchemy.pool import NullPool

from toolwright.errors import ToolError
from toolwright.sources.sql._limits import QueryLimits, as_table
from toolwright.sources.sql._words import Word, mysql_words, placeholders

__all__ = ["mysql_engine", "mysql_session", "mysql_statement", "read_mysql"]

_QUERIES = ("select", "with", "values", "table", "(")
_REPORTS = ("show", "explain", "describe", "desc")
_FUNCTIONS = {
    "benchmark", "get_lock", "lastval", "load_file", "master_gtid_wait",
    "master_pos_wait", "nextval", "release_all_locks", "release_lock", "setval",
    "sleep", "source_pos_wait", "sys_eval", "sys_exec", "sys_get", "sys_set",
    "wait_for_executed_gtid_set", "wait_until_sql_thread_after_gtids",
}  # fmt: skip
"""Functions that wait, lock, count or reach outside the database."""
_PREFIXES = (
    "asynchronous_connection_failover_", "audit_", "group_replication_", "keyring_", "lock_service_",
    "mysql_firewall_", "service_get_", "service_release_", "version_tokens_",
)  # fmt: skip
"""Functions of plugins that administer the server."""


def mysql_engine(address: URL) -> Engine:
    """An engine that opens a session for each use: locks and variables end with it."""
    return create_engine(address, poolclass=NullPool, hide_parameters=True)


@contextmanager
def mysql_session(
    engine: Engine, limits: QueryLimits, abandoned: threading.Event, *, read_only: bool
) -> Iterator[Connection]:
    """A transaction that ends with the block; it is committed only if it may write."""
    with engine.connect() as connection:
        connection.exec_driver_sql(f"SET SESSION sql_select_limit = {limits.rows + 1}")
        if getattr(connection.dialect, "is_mariadb", False):
            connection.exec_driver_sql(f"SET SESSION max_statement_time = {limits.seconds:.3f}")
        else:
            milliseconds = max(1, int(limits.seconds * 1000))
            connection.exec_driver_sql(f"SET SESSION max_execution_time = {milliseconds}")
        if read_only:
            # Statements are told apart from their strings by these two rules.
            connection.exec_driver_sql(
                "SET SESSION sql_mode = REPLACE(REPLACE(@@SESSION.sql_mode,"
                " 'NO_BACKSLASH_ESCAPES', ''), 'ANSI_QUOTES', '')"
            )
            connection.exec_driver_sql("SET SESSION TRANSACTION READ ONLY")
            connection.exec_driver_sql("START TRANSACTION READ ONLY")
        yield connection
        if not read_only:
            connection.commit()


def read_mysql(
    connection: Connection, query: str, values: Mapping[str, Any], limits: QueryLimits
) -> dict[str, Any]:
    """The result of a statement that reads; any other is refused."""
    text = mysql_statement(query, values)
    options = {"stream_results": True, "max_row_buffer": 1}
    result = connection.execution_options(**options).exec_driver_sql(text, dict(values))
    shown = as_table(list(result.keys()), result, limits)
    if shown["truncated"]:
        connection.invalidate()  # else the driver would read all that is left
    return shown


def mysql_statement(query: str, values: Mapping[str, Any]) -> str:
    """A statement that reads as it is sent to the driver; raises `ToolError` for any other.

    What MySQL finds between parentheses can by its grammar only be a query. Without them a
    statement could end the read-only transaction (as any `DROP` does) or set it aside.
    """
    words = mysql_words(query)
    first = words[0].text if words[0].kind in ("word", "symbol") else ""
    if first not in _QUERIES + _REPORTS:
        raise ToolError(
            f"Refused: a statement that begins with {words[0].text!r} may do more than read. Taken "
            "are SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE and EXPLAIN."
        )
    reason = _beyond_reading(words)
    if reason:
        raise ToolError(f"Refused: {reason}.")
    text = placeholders(query, words, values)
    return f"({text}\n)" if first in _QUERIES else text


def _beyond_reading(words: Sequence[Word]) -> str:
    """What of the statement does more than read, or nothing."""
    plain = [word.text if word.kind in ("word", "symbol") else "" for word in words]
    for at, text in enumerate(plain):
        after = plain[at + 1 : at + 3]
        if text in ("into", "procedure", ":="):
            return f"{text.upper()} puts the result somewhere"
        if [text, *after[:1]] in (["for", "update"], ["for", "share"], ["lock", "in"]):
            return f"{text.upper()} {after[0].upper()} locks rows"
        if [text, *after] == ["next", "value", "for"]:
            return "NEXT VALUE FOR counts a sequence on"
    if "analyze" in plain[:4] and {"delete", "insert", "replace", "update"} & set(plain):
        return "EXPLAIN ANALYZE runs the statement"
    for name, paren, argument in zip(words, words[1:], [*words[2:], None], strict=False):
        if name.is_name and paren.text == "(" and _has_effect(name.text.lower(), argument):
            return f"{name.text}() does more than read"
    return ""


def _has_effect(function: str, argument: Word | None) -> bool:
    if function == "last_insert_id":
        return argument is None or argument.text != ")"
    return function in _FUNCTIONS or function.startswith(_PREFIXES)
