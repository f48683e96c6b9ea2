"""Run one query on a SQLite file and write its result. Runs as a program of its own.

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
from typing import Any

from toolwright.sources.sql._limits import QueryLimits, as_table, shortened
from toolwright.sources.sql._sqlite_guard import open_read_only

__all__ = ["main"]

_SLACK = 0.3
"""Seconds that a query has to end by itself."""
_CHECK_EVERY = 10_000  # SQLite's own instructions, some tenths of a millisecond


def main() -> None:
    """Answer the request on stdin."""
    request = json.loads(sys.stdin.buffer.read())
    limits = QueryLimits(**request["limits"])
    try:
        answer = _answer(request, limits)
    except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
        answer = {"error": shortened(str(error))}
    except MemoryError:
        answer = {"error": "out of memory"}
    sys.stdout.buffer.write(json.dumps(answer, default=_base64).encode())


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _answer(request: dict[str, Any], limits: QueryLimits) -> dict[str, Any]:
    # For what SQLite cannot interrupt the kernel ends the process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + _SLACK)
    deadline = time.monotonic() + limits.seconds
    connection = open_read_only(request["path"])
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _CHECK_EVERY)
    cursor = connection.execute(request["query"], request["values"])
    if cursor.description is None:
        return {"error": "the query is empty; give one statement"}
    return {"table": as_table([column[0] for column in cursor.description], cursor, limits)}
