"""Reading from SQLite: each query in a process of its own, with bounded memory and time."""

import json
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from sqlalchemy import URL, Connection, create_engine
from sqlalchemy.pool import NullPool

from toolwright.backends.executors import Limits, LocalExecutor
from toolwright.concurrency import in_user_thread
from toolwright.errors import ToolError, UsageError
from toolwright.sources.sql._engine import refusals
from toolwright.sources.sql._limits import QueryLimits
from toolwright.sources.sql._sqlite_guard import open_read_only

__all__ = ["SqliteReader"]

T = TypeVar("T")
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
        self._engine = create_engine(
            "sqlite://", creator=lambda: open_read_only(self._path), poolclass=NullPool
        )
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
        request = {
            "path": self._path,
            "query": query,
            "values": values,
            "limits": asdict(self._limits),
        }
        async with _limiter():
            done = await self._executor.run(
                [sys.executable, "-I", "-S", "-c", _PROGRAM, _LIBRARY], stdin=json.dumps(request)
            )
        if done.timed_out or done.exit_code == -signal.SIGALRM:
            raise ToolError(f"The database refused: interrupted after {self._limits.seconds} s.")
        if not done.ok or done.truncated:
            raise ToolError("The database refused: the query needs too much memory.")
        answer = json.loads(done.stdout)
        if "error" in answer:
            raise ToolError(f"The database refused: {answer['error']}")
        return answer["table"]

    async def inspect(self, look: Callable[[Connection], T]) -> T:
        """What `look` finds out about the tables."""

        def run() -> T:
            with refusals(self._engine), self._engine.connect() as connection:
                return look(connection)

        return await in_user_thread(run)

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
