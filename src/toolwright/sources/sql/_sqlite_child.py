"""Run one query on a SQLite file, or look at its tables, and write the result. Runs as a program of its own.

SQLite works inside the process that calls it, and some of its functions cannot be interrupted. In
a process of its own a query has memory and time of its own, and ends when that process is ended.
The request is one object of JSON on stdin, the answer one on stdout.
"""

import base64
import json
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from typing import Any

from toolwright.errors import ToolError
from toolwright.sources.sql._limits import QueryLimits, as_table, shortened
from toolwright.sources.sql._sqlite_guard import open_read_only

__all__ = ["main"]

_Answer = Callable[[sqlite3.Connection, dict[str, Any], QueryLimits], dict[str, Any]]

_SLACK = 0.3
"""Seconds that a query has to end by itself."""
_CHECK_EVERY = 10_000  # SQLite's own instructions, some tenths of a millisecond


def main() -> None:
    """Answer the request on stdin."""
    request = json.loads(sys.stdin.buffer.read())
    limits = QueryLimits(**request["limits"])
    answer = _table_of if "query" in request else _catalog_answer(request["library"])
    try:
        found = answer(_opened(request["path"], limits), request, limits)
    except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
        found = {"error": f"The database refused: {shortened(str(error))}"}
    except MemoryError:
        found = {"error": "The database refused: out of memory"}
    sys.stdout.buffer.write(json.dumps(found, default=_base64).encode())


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _opened(path: str, limits: QueryLimits) -> sqlite3.Connection:
    # For what SQLite cannot interrupt the kernel ends the process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + _SLACK)
    deadline = time.monotonic() + limits.seconds
    connection = open_read_only(path)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _CHECK_EVERY)
    return connection


def _table_of(
    connection: sqlite3.Connection, request: dict[str, Any], limits: QueryLimits
) -> dict[str, Any]:
    cursor = connection.execute(request["query"], request["values"])
    if cursor.description is None:
        return {"error": "The database refused: the query is empty; give one statement"}
    return {"found": as_table([column[0] for column in cursor.description], cursor, limits)}


def _catalog_answer(library: str) -> _Answer:
    """With SQLAlchemy, which a query does without: it takes as long to load as all the rest."""
    sys.path.append(library)
    from sqlalchemy import create_engine  # noqa: PLC0415
    from sqlalchemy.pool import StaticPool  # noqa: PLC0415

    from toolwright.sources.sql._catalog import look  # noqa: PLC0415
    from toolwright.sources.sql._engine import refusals  # noqa: PLC0415

    def answer(
        connection: sqlite3.Connection, request: dict[str, Any], limits: QueryLimits
    ) -> dict[str, Any]:
        engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
        try:
            with refusals(engine), engine.connect() as opened:
                return {"found": look(opened, request["table"], request["schema"])}
        except ToolError as error:
            return {"error": str(error)}

    return answer
