"""Reading from SQLite, in a process for each query and each look at the tables: bounded memory and time."""

import json
import signal
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlalchemy
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from sqlalchemy import URL

from toolwright.backends.executors import Limits, LocalExecutor, own_program
from toolwright.errors import ToolError, UsageError
from toolwright.sources.sql._limits import QueryLimits

__all__ = ["SqliteReader"]

_MEMORY = 512 * 1024 * 1024
_PROCESSES = 4
"""Queries at once: so much memory each can take."""
_AT_ONCE: RunVar[CapacityLimiter] = RunVar("toolwright_sqlite_processes")
_LARGEST_FILE = 16 * 1024 * 1024
"""Of the index that readers and writers of a database with a write-ahead log share."""
_SLACK = 10.0
"""Seconds that a process has to start, and to end by itself."""
_ROOM = 6
"""How often longer than its text a value can be as JSON: \\u0000 for one byte."""
_LIBRARY = str(Path(__file__).parents[3])
_SQLALCHEMY = str(Path(sqlalchemy.__file__).parents[1])
_PROGRAM = """
import sys
sys.path.append(sys.argv[1])
from toolwright.sources.sql._sqlite_child import main
main()
"""


class SqliteReader:
    """A SQLite database, opened anew for each use and only to read."""

    kind = "sqlite"

    def __init__(self, address: URL, limits: QueryLimits) -> None:
        self._path = _checked(address.database)
        self._limits = limits
        self._executor = LocalExecutor(
            "/",
            limits=Limits(
                timeout=limits.seconds + _SLACK,
                memory=_MEMORY,
                file_size=_LARGEST_FILE,
                processes=1,
                output=_ROOM * (limits.bytes + limits.cell) + 1_000_000,
                grace=0.0,
            ),
        )

    async def query(self, query: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a statement that reads; SQLite refuses every other."""
        return await self._asked({"query": query, "values": values})

    async def inspect(self, table: str | None, schema: str | None) -> dict[str, Any]:
        """The names of the tables and views, or what `table` is made of.

        In a process too: the file says what its tables are, and can make that endless work.
        """
        return await self._asked({"table": table, "schema": schema, "library": _SQLALCHEMY})

    async def _asked(self, question: Mapping[str, Any]) -> dict[str, Any]:
        request = {"path": self._path, "limits": asdict(self._limits), **question}
        async with _limiter():
            done = await self._executor.run(
                own_program(_PROGRAM, _LIBRARY), stdin=json.dumps(request)
            )
        if done.timed_out or done.exit_code == -signal.SIGALRM:
            raise ToolError(f"The database refused: interrupted after {self._limits.seconds} s.")
        if not done.ok or done.truncated:
            raise ToolError("The database refused: the query needs too much memory.")
        answer = json.loads(done.stdout)
        if "error" in answer:
            raise ToolError(answer["error"])
        return answer["found"]

    async def close(self) -> None:
        """Nothing stays open."""


def _limiter() -> CapacityLimiter:
    """Of each event loop its own."""
    try:
        return _AT_ONCE.get()
    except LookupError:
        _AT_ONCE.set(limiter := CapacityLimiter(_PROCESSES))
        return limiter


def _checked(path: str | None) -> str:
    if not path or path == ":memory:":
        return ":memory:"
    if not Path(path).is_file():
        raise UsageError(f"There is no SQLite database {path!r} to read.")
    return str(Path(path).resolve())
