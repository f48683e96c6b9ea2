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
        if await self._database.read(lambda c: c.execute(_ORPHANS.limit(1)).first()):
            await self._database.write(_release_orphans)
        return dead

    def cross_out(self, connection: Connection, name: str, beat: int | None = None) -> bool:
        """Take a worker off the list, unless it has shown life since `beat`; whether it was on it."""
        crossed = super().cross_out(connection, name, beat)
        if crossed:
            held = sql.REQUEUE.where(IS_ACTIVE, TASKS.c.worker == name)
            held = held.values(reason=f"Worker {name} was lost while it ran.")
            connection.execute(held, {"now": time.time()})
        return crossed


_HELD_BY_NOBODY = (IS_ACTIVE, TASKS.c.worker.not_in(select(WORKERS.c.name)))
_ORPHANS = select(TASKS.c.id).where(*_HELD_BY_NOBODY)


def _release_orphans(connection: Connection) -> None:
    """Put tasks back in line whose worker is not known any more, however that came to be."""
    lost = sql.REQUEUE.where(*_HELD_BY_NOBODY).values(reason="Its worker was lost while it ran.")
    connection.execute(lost, {"now": time.time()})
