"""SQLite connections that can only read: the file, the connection and every statement say so."""

import sqlite3
from contextlib import suppress
from typing import Any
from urllib.parse import quote

__all__ = ["open_read_only"]

_READING = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_HARMLESS_PRAGMAS = {
    "collation_list", "compile_options", "data_version", "database_list", "encoding", "foreign_key_list",
    "function_list", "index_info", "index_list", "index_xinfo", "page_count", "page_size",
    "pragma_list", "read_uncommitted", "schema_version", "table_info", "table_list", "table_xinfo",
    "user_version",
}  # fmt: skip
_WITH_NAME = {
    "foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list",
    "table_xinfo",
}  # fmt: skip
"""Those that take a name; for the others what they are given would be a new value."""
_TABLE_FUNCTIONS = [
    "json_each", "json_tree", "pragma_collation_list", "pragma_compile_options",
    "pragma_database_list", "pragma_foreign_key_list", "pragma_function_list", "pragma_index_info",
    "pragma_index_list", "pragma_index_xinfo", "pragma_page_count", "pragma_page_size",
    "pragma_table_info", "pragma_table_list", "pragma_table_xinfo", "pragma_user_version",
]  # fmt: skip
_EFFECTS = {"edit", "fts3_tokenizer", "load_extension", "readfile", "sqlite_log", "writefile"}
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 50_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


def open_read_only(path: str) -> sqlite3.Connection:
    """A connection to the database at `path`, or to an empty one if it is `:memory:`."""
    name = "file::memory:" if path == ":memory:" else f"file:{quote(path)}?mode=ro"
    connection = sqlite3.connect(
        name, uri=True, isolation_level=None, check_same_thread=False, timeout=5.0
    )
    for pragma in (
        "query_only = ON",
        "trusted_schema = OFF",
        "temp_store = MEMORY",
        "mmap_size = 0",
    ):
        connection.execute(f"PRAGMA {pragma}")
    for limit, value in _LIMITS.items():
        connection.setlimit(limit, value)
    connection.text_factory = _text
    _connect_virtual_tables(connection)
    connection.set_authorizer(_authorize)
    return connection


def _connect_virtual_tables(connection: sqlite3.Connection) -> None:
    """Use each once: the first use declares its columns, which looks like making a table."""
    made = connection.execute(
        "SELECT name FROM sqlite_master WHERE sql LIKE 'create virtual table%' LIMIT 100"
    )
    for name in [*_TABLE_FUNCTIONS, *(row[0] for row in made.fetchall())]:
        quoted = name.replace('"', '""')
        with suppress(sqlite3.Error):  # one that this SQLite does not have, or that is broken
            connection.execute(f'SELECT 1 FROM "{quoted}" LIMIT 0')


def _authorize(action: int, first: str | None, second: str | None, *rest: Any) -> int:
    """SQLite's question about one step of a statement: reading is fine, all else is not."""
    if action == sqlite3.SQLITE_PRAGMA:
        allowed = _is_harmless((first or "").lower(), second)
    elif action == sqlite3.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in _EFFECTS
    else:
        allowed = action in _READING
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _is_harmless(pragma: str, value: str | None) -> bool:
    return pragma in _HARMLESS_PRAGMAS and (value is None or pragma in _WITH_NAME)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
