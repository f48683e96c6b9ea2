"""The processes that hold something in a database, and which of them are gone.

No two clocks are compared: each process counts up its beat, and whoever wants what it holds sees by
their own clock whether the count stands still. It is gone when it stood still for a whole lease,
whoever looks and whatever for; time in which nobody could look does not count. So a clock that jumps,
or differs between machines, takes nothing away, nor does a database that was away.
"""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, or_, select, update

from toolwright.backends import _processes as processes
from toolwright.backends.sql._database import Database
from toolwright.backends.sql._schema import WORKERS

__all__ = ["BEATS_PER_LEASE", "LOOKS_PER_LEASE", "Roll", "Standing"]

logger = logging.getLogger("toolwright")
BEATS_PER_LEASE = 4
LOOKS_PER_LEASE = 6
_FORGOTTEN = 86_400.0
"""A process whose last beat is said to be so many seconds ago is looked at, and then not listed any
more."""


@dataclass(frozen=True, slots=True)
class _Seen:
    beat: tuple[int, float | None]
    """With its time, which is only compared with itself: who signs in again counts from 0 again."""
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of a process."""

    lease: float = 0.0
    is_gone: bool = False
    known_in: float = 0.0
    """In how many seconds it is known whether it is gone, when its last beat is old."""


class Roll:
    """Where processes sign in, and are crossed out when they have died."""

    def __init__(self, database: Database, every: float = math.inf) -> None:
        self._database = database
        self._every = every
        """How often `cross_out_dead` is called, in seconds."""
        self._looked = time.monotonic()
        self._seen: dict[str, _Seen] = {}

    # -- being on it -------------------------------------------------------------------------

    async def join(self, name: str, lease: float) -> None:
        """Sign in."""
        await self._database.write(lambda connection: self.join_in(connection, name, lease))

    def join_in(self, connection: Connection, name: str, lease: float) -> None:
        """`join`, in a transaction that is under way; whoever is signed in shows life by it."""
        me = processes.this_process()
        values = {
            "name": name, "machine": me.machine, "pid": me.pid, "started": me.started,
            "lease": lease, "beat": 0, "beat_at": self._database.clock(),
        }  # fmt: skip
        new = self._database.insert(WORKERS).values(**values)
        connection.execute(new.on_conflict_do_update(index_elements=["name"], set_=self._beat()))

    async def leave(self, name: str) -> None:
        """Sign out; what the process still holds is free."""
        await self._database.write(lambda connection: self.cross_out(connection, name))

    def beat_now(self, name: str, within: float | None = None) -> bool:
        """Show that a process is alive, from any thread; False when it has been crossed out.

        `within`: how many seconds the database may take.
        """
        beat = update(WORKERS).where(WORKERS.c.name == name).values(self._beat())
        return self._database.write_now(lambda c: c.execute(beat).rowcount, within) == 1

    def _beat(self) -> dict[str, Any]:
        return {"beat": WORKERS.c.beat + 1, "beat_at": self._database.clock()}

    # -- looking at others -------------------------------------------------------------------

    def standing(self, connection: Connection, name: str) -> Standing:
        """What is known of a process now.

        The clock only decides whether it is worth waiting: a process whose last beat seems to be a
        lease ago, or yet to come, may well be gone.
        """
        clock = self._database.clock().label("now")
        row = connection.execute(select(WORKERS, clock).where(WORKERS.c.name == name)).first()
        if row is None or not _is_running(row):
            return Standing(is_gone=True)
        left = max(0.0, row.lease - self._silence(row))
        is_fresh = row.beat_at is not None and 0 <= row.now - row.beat_at < row.lease
        return Standing(lease=row.lease, is_gone=not left, known_in=0.0 if is_fresh else left)

    async def cross_out_dead(self, me: str = "") -> int:
        """Look at all processes and release what dead ones hold; how many have died.

        `me` shows life by it: while a database can be read and not written, nobody can, and nobody
        is dead for that.
        """
        beat = update(WORKERS).where(WORKERS.c.name == me).values(self._beat())

        def look(connection: Connection) -> Sequence[Row[Any]]:
            connection.execute(beat)
            return connection.execute(select(WORKERS)).all()

        rows = await self._database.write(look)
        self._leave_out_blind_time()
        dead = [row for row in rows if self._is_dead(row)]
        for row in dead:
            if await self._database.write(lambda c, row=row: self.cross_out(c, row.name, row.beat)):
                said = "process %s has died, or was silent for its lease: what it held is released"
                logger.warning(said, row.name, extra={"event": "expired", "worker": row.name})
        self._seen = {row.name: self._seen[row.name] for row in rows if row.name in self._seen}
        return len(dead)

    def forget_dead(self, connection: Connection) -> None:
        """Cross out those after whom nobody has asked since they died: the list stays short."""
        clock, here = self._database.clock(), processes.this_process().machine
        is_old = WORKERS.c.beat_at < clock - _FORGOTTEN
        query = select(WORKERS).where(or_(WORKERS.c.machine == here, is_old))
        for row in sorted(connection.execute(query), key=lambda row: row.name):
            if self._is_dead(row):
                self.cross_out(connection, row.name, row.beat)

    def cross_out(self, connection: Connection, name: str, beat: int | None = None) -> bool:
        """Take a process off the list, unless it has shown life since `beat`; whether it was on it."""
        query = delete(WORKERS).where(WORKERS.c.name == name)
        if beat is not None:
            query = query.where(WORKERS.c.beat == beat)
        return connection.execute(query).rowcount == 1

    def _leave_out_blind_time(self) -> None:
        """Count no more than one pause between two looks.

        When they are further apart, the database or this process was away; the others could not beat
        either, or could not be seen to.
        """
        looked, self._looked = self._looked, time.monotonic()
        blind = self._looked - looked - self._every
        if blind > 0:
            self._seen = {n: _Seen(s.beat, s.since + blind) for n, s in self._seen.items()}

    def _is_dead(self, row: Row[Any]) -> bool:
        return self._silence(row) >= row.lease or not _is_running(row)

    def _silence(self, row: Row[Any]) -> float:
        """For how many seconds of our own clock a process has not beaten."""
        seen, now, beat = self._seen.get(row.name), time.monotonic(), (row.beat, row.beat_at)
        if seen is None or seen.beat != beat:
            seen = self._seen[row.name] = _Seen(beat, now)
        return now - seen.since


def _is_running(row: Row[Any]) -> bool:
    """Whether its process may be running; of another machine nobody knows."""
    return processes.is_running(processes.Process(row.machine, row.pid, row.started or ""))
