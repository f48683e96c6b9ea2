"""The sessions that runs of this process hold in one database, and the signs of life for them.

One row and one heartbeat stand for all of them. The process signs in with the first append that
takes a session, in its transaction, and signs out when it has held nothing for a lease.
"""

import logging
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any

import anyio.to_thread
from sqlalchemy import Connection

from toolwright.backends import _processes as processes
from toolwright.backends._store import Hold, Holder
from toolwright.backends.sql import _statements as sql
from toolwright.backends.sql._database import Database
from toolwright.backends.sql._heartbeat import Heartbeat
from toolwright.backends.sql._roll import BEATS_PER_LEASE, Roll
from toolwright.concurrency import begin_anew_after_fork, finish
from toolwright.errors import StoreError

__all__ = ["LEASE_SECONDS", "Holds"]

LEASE_SECONDS = 30.0
_RELEASE_SECONDS = 60.0
"""How long a release may take: longer than a database lets anybody wait for a lock."""
logger = logging.getLogger("toolwright")


class Holds:
    """What this process holds. Used by the event loop, the database's threads and the heartbeat."""

    def __init__(self, database: Database, lease: float) -> None:
        self._database = database
        self._lease = lease
        self._roll = Roll(database)
        self._begin()
        begin_anew_after_fork(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._name = ""
        """Under which this process is signed in, or about to; empty when it holds nothing."""
        self._heartbeat: Heartbeat | None = None
        self._live: set[str] = set()
        """The holds of runs that are going."""
        self._owed: dict[str, dict[str, Any]] = {}
        """Those of runs that have ended, which the database has refused to release, and where."""
        self._idle = 0
        """How many beats ago it held something."""
        self._beat_at = 0.0
        """When it last showed life, by the clock that never jumps."""

    def after_fork(self) -> None:
        """Hold nothing, under no name: what there was is the parent's."""
        self._begin()

    @property
    def problem(self) -> str:
        """Why others may take over what this process holds; empty while it shows life."""
        silence = time.monotonic() - self._beat_at
        if not self._live or silence < self._lease:
            return ""
        return f"There was no sign of life for {silence:.0f} s; the lease is {self._lease:g} s."

    # -- with each append --------------------------------------------------------------------

    def enter(self, hold: Hold) -> None:
        """A run is about to append under this hold; while it goes on, so does the heartbeat."""
        with self._lock:
            if not self._live:
                self._beat_at = time.monotonic()
            self._live.add(hold.id)
            self._name = self._name or processes.new_name()

    def in_transaction(self, connection: Connection, hold: Hold) -> dict[str, Any]:
        """What the session's row says from now on; this process is signed in by then."""
        if hold.last:
            return {"hold_after": None, "holder_after": None, "since_after": None}
        if not self._beats:
            self._sign_in(connection, self._name)
        return {"hold_after": hold.id, "holder_after": self._name, "since_after": hold.since}

    def stored(self, hold: Hold) -> None:
        """The append has been stored."""
        with self._lock:
            if hold.last:
                self._live.discard(hold.id)
            elif not self._beats:
                self._begin_to_beat()

    def refused(self, hold: Hold) -> None:
        """Another run has the session: there is nothing to release."""
        with self._lock:
            self._live.discard(hold.id)

    # -- releasing ---------------------------------------------------------------------------

    async def release(self, where: dict[str, Any], hold_id: str) -> None:
        """Release a session now, or with one of the next beats when the database refuses.

        Whoever is cancelled meanwhile leaves when it is done.
        """
        with self._lock:
            self._live.discard(hold_id)
            self._owed[hold_id] = where
            self._name = self._name or processes.new_name()
        await finish(partial(self._release, where, hold_id), _RELEASE_SECONDS)

    async def _release(self, where: dict[str, Any], hold_id: str) -> None:
        is_released = False
        try:
            await self._database.write(lambda c: c.execute(sql.RELEASE, where | {"by": hold_id}))
            is_released = True
        except StoreError as error:
            logger.warning("session %s will be released later: %s", where["session"], error)
        finally:
            with self._lock:
                if is_released:
                    self._owed.pop(hold_id, None)
                elif not self._beats:
                    self._begin_to_beat()

    async def close(self) -> None:
        """Release what is owed and beat no more, unless runs are still going: others may use the
        same store.

        Then it beats until they have ended, as if it had not been closed.
        """
        with self._lock:
            if self._live:
                return
            heartbeat, self._heartbeat = self._heartbeat, None
            owed = dict(self._owed)
        if heartbeat is not None and not heartbeat.stop_soon():
            # It would open the database again that is about to be closed.
            await anyio.to_thread.run_sync(heartbeat.stop, abandon_on_cancel=True)
        if owed:
            await self._release_owed(owed)

    async def _release_owed(self, owed: dict[str, dict[str, Any]]) -> None:
        """Release what is owed a last time: no beat will."""
        try:
            await self._database.write(lambda connection: _release_all(connection, owed))
        except StoreError as error:
            logger.warning("%d sessions are free when the lease is over: %s", len(owed), error)
            return
        self._paid(owed)

    # -- staying alive -----------------------------------------------------------------------

    @property
    def _beats(self) -> bool:
        return self._heartbeat is not None and self._heartbeat.is_alive

    def _begin_to_beat(self) -> None:
        self._idle, self._beat_at = 0, time.monotonic()
        pause = self._lease / BEATS_PER_LEASE
        self._heartbeat = Heartbeat(self._name, self._beat, pause)
        self._heartbeat.start()

    def _beat(self) -> bool:
        """Show life, and release what is owed; False when nothing was held for a lease."""
        with self._lock:
            name, owed = self._name, dict(self._owed)
            self._idle = 0 if self._live or owed else self._idle + 1
            leaves = self._idle >= BEATS_PER_LEASE
            if leaves:
                self._name, self._heartbeat, self._idle = "", None, 0
        if leaves:
            with suppress(StoreError):  # Then it is seen by its silence.
                self._database.write_now(lambda c: self._roll.cross_out(c, name))
            return False
        self._database.write_now(lambda c: self._show_life(c, name, owed))
        with self._lock:
            self._beat_at = time.monotonic()
        self._paid(owed)
        return True

    def _paid(self, owed: dict[str, Any]) -> None:
        with self._lock:
            for hold_id in owed:
                self._owed.pop(hold_id, None)

    def _show_life(self, connection: Connection, name: str, owed: dict[str, Any]) -> None:
        self._sign_in(connection, name)
        _release_all(connection, owed)

    def _sign_in(self, connection: Connection, name: str) -> None:
        """Be on the roll: for the first time, or again, since a beat is one and may be too late.

        Before sessions are touched, so that all lock the rows of both in the same order.
        """
        self._roll.forget_dead(connection)
        self._roll.join_in(connection, name, self._lease)

    # -- looking at others -------------------------------------------------------------------

    def holder(self, connection: Connection, row: Any) -> Holder | None:
        """Who holds the session of this row."""
        if row.hold is None:
            return None
        standing = self._roll.standing(connection, row.holder)
        # Of this process, but of no run that is going: it is about to be released.
        is_over = row.holder == self._name and row.hold not in self._live
        return Holder(
            hold_id=row.hold,
            process=processes.described(row.holder),
            since=row.held_since,
            lease=standing.lease,
            is_gone=standing.is_gone or is_over,
            known_in=standing.known_in,
        )


def _release_all(connection: Connection, owed: dict[str, dict[str, Any]]) -> None:
    for hold_id, where in owed.items():
        connection.execute(sql.RELEASE, where | {"by": hold_id})
