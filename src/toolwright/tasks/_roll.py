"""The workers that are alive, and what happens to the tasks of those that are not.

No two clocks are compared: a worker counts up its beat, and each other worker sees by its own
clock whether the count stands still. So a clock that jumps, or differs between machines, takes
no task away.
"""

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from toolwright.backends.sql import Database
from toolwright.tasks import _statements as sql
from toolwright.tasks._schema import IS_ACTIVE, TASKS, WORKERS

__all__ = ["Roll"]

BEATS_PER_LEASE = 4
LOOKS_PER_LEASE = 6
_SILENCE = 2 / 3
"""The part of its lease that a worker may be silent: with looking, all of it is a lease."""


@dataclass(frozen=True, slots=True)
class _Seen:
    beat: int
    since: float


class Roll:
    """Where workers sign in, and are crossed out when they have died."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: dict[str, _Seen] = {}

    async def join(self, name: str, lease: float) -> None:
        """Sign in."""
        values = {
            "name": name, "machine": _machine(), "pid": os.getpid(), "lease": lease, "beat": 0
        }  # fmt: skip
        await self._database.write(lambda c: c.execute(insert(WORKERS).values(**values)))

    async def leave(self, name: str) -> None:
        """Sign out; what the worker still holds goes back in line."""
        await self._database.write(lambda connection: _cross_out(connection, name))

    def beat_now(self, name: str) -> bool:
        """Show that a worker is alive, from any thread; False when it has been crossed out."""
        beat = update(WORKERS).where(WORKERS.c.name == name).values(beat=WORKERS.c.beat + 1)
        return self._database.write_now(lambda c: c.execute(beat).rowcount) == 1

    async def cross_out_dead(self) -> int:
        """Look at all workers and put the tasks of dead ones back in line; how many have died."""
        rows = await self._database.read(lambda c: c.execute(select(WORKERS)).all())
        now = time.monotonic()
        dead = [row for row in rows if self._is_dead(row, now)]
        for row in dead:
            await self._database.write(lambda c, row=row: _cross_out(c, row.name, row.beat))
        if await self._database.read(lambda c: c.execute(_ORPHANS.limit(1)).first()):
            await self._database.write(_release_orphans)
        self._seen = {row.name: self._seen[row.name] for row in rows}
        return len(dead)

    def _is_dead(self, row: Row[Any], now: float) -> bool:
        name, beat = row.name, row.beat
        seen = self._seen.get(name)
        if seen is None or seen.beat != beat:
            seen = self._seen[name] = _Seen(beat, now)
        silent = now - seen.since >= row.lease * _SILENCE
        here = row.machine == _machine()
        return silent or (here and not _is_running(row.pid))


_HELD_BY_NOBODY = (IS_ACTIVE, TASKS.c.worker.not_in(select(WORKERS.c.name)))
_ORPHANS = select(TASKS.c.id).where(*_HELD_BY_NOBODY)


def _release_orphans(connection: Connection) -> None:
    """Put tasks back in line whose worker is not known any more, however that came to be."""
    connection.execute(sql.REQUEUE.where(*_HELD_BY_NOBODY), {"now": time.time()})


def _cross_out(connection: Connection, name: str, beat: int | None = None) -> None:
    """Unless it has shown life meanwhile."""
    query = delete(WORKERS).where(WORKERS.c.name == name)
    if beat is not None:
        query = query.where(WORKERS.c.beat == beat)
    if connection.execute(query).rowcount == 1:
        held = sql.REQUEUE.where(IS_ACTIVE, TASKS.c.worker == name)
        connection.execute(held, {"now": time.time()})


def _machine() -> str:
    """Tells apart machines, their boots, and containers on one machine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
