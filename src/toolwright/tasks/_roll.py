"""The workers that are alive, and what happens to the tasks of those that are not."""

import time

from sqlalchemy import Connection, select

from toolwright.backends.sql import WORKERS, Roll
from toolwright.tasks import _statements as sql
from toolwright.tasks._schema import IS_ACTIVE, TASKS

__all__ = ["WorkerRoll"]


class WorkerRoll(Roll):
    """A roll whose dead are workers: their tasks go back in line."""

    async def cross_out_dead(self, me: str = "") -> int:
        """Look at all workers and put the tasks of dead ones back in line; how many have died."""
        dead = await super().cross_out_dead(me)
        if await self._database.read(lambda c: c.execute(_UNKNOWN.limit(1)).first()):
            await self._database.write(_release_orphans)
        return dead

    def cross_out(self, connection: Connection, name: str, beat: int | None = None) -> bool:
        """Take a worker off the list, unless it has shown life since `beat`; whether it was on it."""
        crossed = super().cross_out(connection, name, beat)
        if crossed:
            _requeue(connection, name, f"Worker {name} was lost while it ran.")
        return crossed


_UNKNOWN = select(TASKS.c.worker).where(IS_ACTIVE, TASKS.c.worker.not_in(select(WORKERS.c.name)))


def _release_orphans(connection: Connection) -> None:
    """Put tasks back in line whose worker is not known any more, however that came to be."""
    # By name: one that another worker, which has just signed in, takes up meanwhile is its own.
    for name in connection.execute(_UNKNOWN.distinct()).scalars().all():
        _requeue(connection, name, "Its worker was lost while it ran.")


def _requeue(connection: Connection, worker: str, reason: str) -> None:
    held = sql.REQUEUE.where(IS_ACTIVE, TASKS.c.worker == worker).values(reason=reason)
    connection.execute(held, {"now": time.time()})
