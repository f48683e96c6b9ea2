"""Sessions in SQLite or Postgres, shared by as many processes as open the same address."""

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Executable, Row, delete, func, select

from toolwright._sealed import Sealed
from toolwright.backends import _refusals as refusals
from toolwright.backends._changes import (
    Changes,
    branched,
    changes,
    closed_by,
    is_session_key,
    must_last,
    refuse_stale,
)
from toolwright.backends._store import (
    PAGE,
    Encoded,
    Hold,
    Holder,
    Loaded,
    OpenCall,
    SessionRow,
    is_meant,
    may_append,
    may_go_on,
)
from toolwright.backends.sql import _rows as rows
from toolwright.backends.sql import _statements as sql
from toolwright.backends.sql._database import Database
from toolwright.backends.sql._holds import LEASE_SECONDS, Holds
from toolwright.backends.sql._schema import METADATA, SESSIONS, STATE, VERSION
from toolwright.errors import StaleState, StoreConflict, StoreError, UsageError
from toolwright.messages import (
    Answered,
    Event,
    Scope,
    StoredAnswer,
    decode_event,
    from_exact_json,
    refuse_long_scope,
)

__all__ = ["SqlStore"]


_PAGE_LENGTH = 256 * 1024
"""Characters after which a page of events ends."""


class SqlStore(Sealed):
    """Keeps sessions in the database at `url`. Opens it, and makes its tables, on first use.

    A process that holds sessions shows life; after `lease` seconds without that another one may take
    them over. A subclass may write more in the transactions that add events (`on_append`) and take answers
    (`on_answer`), what it raises undoes them; and it may say that nobody reads these (`may_answer`).
    """

    def __init__(self, url: str, *, lease: float = LEASE_SECONDS) -> None:
        if not lease > 0:
            raise UsageError(f"The lease must be positive; got {lease!r} seconds.")
        self.database = Database(url, "sessions", VERSION, METADATA)
        self._holds = Holds(self.database, lease)
        self._insert_session = sql.insert_session(self.database)
        self._upsert_state = sql.upsert_state(self.database)

    @property
    def problem(self) -> str:
        """Why others may take over the sessions that this process holds; empty while all is well."""
        return self._holds.problem

    async def open(self, scope: Scope) -> SessionRow:
        """The session, made if it is new; `UsageError` when it belongs to another user."""
        row = await self.find(scope.app_name, scope.session_id)
        if row is None:
            row = await self.database.write(lambda connection: self._open(connection, scope))
        if row.scope != scope:
            raise refusals.of_another_user(scope)
        return row

    async def load(self, scope: Scope) -> Loaded:
        """`open`, with the session's events, open calls, state and holder, all of one moment."""
        mine = _mine(scope)

        def work(connection: Connection) -> Loaded | None:
            found = _find_row(connection, scope.app_name, scope.session_id)
            if found is None:
                return None
            row = rows.session(found)
            if row.scope != scope:
                raise refusals.of_another_user(scope)
            state = _state(connection, mine)
            if not row.last_seq:
                return Loaded(row=row, state=state)
            return Loaded(
                row=row, state=state, events=_events(connection, mine, 0),
                calls=self.calls_in(connection, scope.app_name, scope.session_id),
                holder=self._holds.holder(connection, found),
            )  # fmt: skip

        # Not once: it may be deleted as soon as it is there.
        while (found := await self.database.read(work)) is None:
            await self.open(scope)
        return found

    async def append(
        self,
        scope: Scope,
        events: Sequence[Event],
        hold: Hold | None = None,
        *,
        expected: Mapping[str, Any] | None = None,
    ) -> None:
        """Add events whose `seq` follow on; `StoreConflict` when another run has written meanwhile,
        `SessionHeld` when another run holds the session.

        Events that an earlier try has stored already are not added again.
        """
        if not events:
            return
        bodies = rows.event_rows(events)

        is_shared = not all(is_session_key(key) for key in changes(events).state)

        def work(connection: Connection) -> None:
            if expected or is_shared:
                self._lock_shared(connection, scope)
            # Before anything is written: what raises after that may have others' work undone.
            if expected and not self._has(connection, scope, bodies[-1]):
                refuse_stale(expected, _state(connection, _mine(scope)))
            self._append(connection, scope, events, bodies, hold)

        synced = must_last(events)
        if hold is None:
            await self.database.write(work, synced=synced)
            return
        await self._write_under(hold, work, synced=synced)

    def _lock_shared(self, connection: Connection, scope: Scope) -> None:
        """Be the only one who changes what the sessions of the app share."""
        if not self.database.is_sqlite:
            # Not the rows: one that is to be made cannot be locked.
            app = zlib.crc32(scope.app_name.encode("utf-8", "surrogatepass")) - 2**31
            connection.execute(sql.ONE_CHANGES_STATE, {"app": app})

    def _has(self, connection: Connection, scope: Scope, body: dict[str, Any]) -> bool:
        """Whether the log has this event already: its acknowledgement was lost."""
        since = _mine(scope) | {"since": body["seq"] - 1}
        return connection.execute(sql.SELECT_EVENTS, since).scalars().first() == body["body"]

    async def take(self, scope: Scope, hold: Hold, born: float) -> None:
        """Take a session as the first append of a run does, and add nothing to it: to delete it."""

        def work(connection: Connection) -> None:
            # The roll before the session, as all who need both.
            this = _mine(scope) | self._holds.in_transaction(connection, hold)
            this |= {"by": hold.id, "instead_of": hold.instead_of, "born": born}
            if not connection.execute(sql.TAKE, this).rowcount:
                raise self._refusal(connection, scope, 1, replace(hold, born=born))
            self.on_take(connection, scope)

        await self._write_under(hold, work)

    async def _write_under(
        self, hold: Hold, work: Callable[[Connection], None], *, synced: bool = False
    ) -> None:
        self._holds.enter(hold)
        try:
            await self.database.write(work, synced=synced)
        except StaleState:
            raise
        except StoreConflict:
            self._holds.refused(hold)
            raise
        self._holds.stored(hold)

    def _append(
        self,
        connection: Connection,
        scope: Scope,
        events: Sequence[Event],
        bodies: Sequence[dict[str, Any]],
        hold: Hold | None,
    ) -> None:
        found = changes(events)
        step: dict[str, Any] = {"before": events[0].seq - 1, "after": events[-1].seq}
        step |= {"now": time.time(), "unfinished": found.is_unfinished}
        row = self._advance(connection, _mine(scope) | step, hold)
        if row is None:
            stored = self._stored_already(connection, scope, bodies, hold)
            if stored < len(events):
                self._append(connection, scope, events[stored:], bodies[stored:], hold)
            return
        if found.title and not row.title:
            connection.execute(sql.SET_TITLE, {"of": row.key, "words": found.title})
        self._write(connection, scope, row.key, bodies, found)
        waits = bool(row.has_open or found.opened)
        if waits:
            _close_calls(connection, row.key, found)
        self.on_append(connection, scope, events, waits=waits)

    def _advance(
        self, connection: Connection, step: dict[str, Any], hold: Hold | None
    ) -> Row[Any] | None:
        """Move the session on, if it stands where the events begin and nobody else holds it."""
        if hold is None:
            return connection.execute(sql.ADVANCE, step).one_or_none()
        step |= {"by": hold.id, **self._holds.in_transaction(connection, hold)}
        if hold.first:
            step |= {"instead_of": hold.instead_of, "born": hold.born}
            return connection.execute(sql.ADVANCE_TAKING, step).one_or_none()
        return connection.execute(sql.ADVANCE_HOLDING, step).one_or_none()

    def _stored_already(
        self,
        connection: Connection,
        scope: Scope,
        bodies: Sequence[dict[str, Any]],
        hold: Hold | None,
    ) -> int:
        """How many of these events the log has already: their acknowledgement was lost."""
        first = bodies[0]["seq"]
        tail = connection.execute(sql.SELECT_EVENTS, _mine(scope) | {"since": first - 1}).scalars()
        found = list(tail)[: len(bodies)]
        if not found or found != [row["body"] for row in bodies[: len(found)]]:
            raise self._refusal(connection, scope, first, hold)
        return len(found)

    def _refusal(
        self, connection: Connection, scope: Scope, seq: int, hold: Hold | None
    ) -> StoreError:
        found = _find_row(connection, scope.app_name, scope.session_id)
        row = None if found is None else rows.session(found)
        if found is None or row is None or row.scope != scope:
            return refusals.was_not_opened(scope)
        if not is_meant(hold, row.created_at):
            return refusals.is_another(scope)
        if not may_append(hold, found.hold):
            holder = self._holds.holder(connection, found)
            return refusals.not_held(scope.session_id, holder, hold)
        return refusals.does_not_follow(row, seq)

    async def holder(self, scope: Scope) -> Holder | None:
        """Who holds a session; None when nobody does."""

        def work(connection: Connection) -> Holder | None:
            found = _find_row(connection, scope.app_name, scope.session_id)
            return None if found is None else self._holds.holder(connection, found)

        return await self.database.read(work)

    async def release(self, scope: Scope, hold_id: str) -> None:
        """Release a hold whose run ended without a last append; others' holds stay as they are."""
        await self._holds.release(_mine(scope), hold_id)

    async def events(self, scope: Scope, since: int = 0) -> list[Event]:
        """The stored events with a `seq` above `since`, in order."""
        return await self.database.read(lambda c: _events(c, _mine(scope), since))

    async def encoded_events(
        self, scope: Scope, since: int = 0, limit: int = PAGE
    ) -> list[Encoded]:
        """The next stored events with a `seq` above `since`, in order, as JSON."""
        where = _mine(scope) | {"since": since, "limit": limit}
        return await self.database.read(lambda connection: _page(connection, where))

    async def state(self, scope: Scope) -> dict[str, Any]:
        """All state visible to the session: `app:`, `user:` and its own keys."""
        return await self.database.read(lambda c: _state(c, _mine(scope)))

    async def open_calls(self, app_name: str, session_id: str | None = None) -> list[OpenCall]:
        """Calls not yet closed, answered ones included; of all sessions when none is named."""
        return await self.database.read(lambda c: self.calls_in(c, app_name, session_id))

    async def answer(
        self,
        app_name: str,
        session_id: str,
        call_id: str,
        answer: StoredAnswer | None,
        unless: Sequence[tuple[str, str]] = (),
        *,
        born: float | None = None,
    ) -> Answered:
        """Take an answer, exactly once, in one atomic step."""
        where = {"app": app_name, "session": session_id, "call": call_id}
        others = [{"app": app_name, "session": of, "call": call} for of, call in unless]

        def work(connection: Connection) -> Answered:
            if answer is None:
                session = _find_row(connection, app_name, session_id)
                return _why_not(connection, where) if _is_born(session, born) else "unknown"
            if any(other["session"] != session_id for other in others):
                self._one_at_a_time(connection)
            session = self._lock_to_answer(connection, app_name, session_id)
            if session is None or not _is_born(session, born):
                return "unknown"
            self._refuse_deleted(connection, session)
            # Under the lock: whoever answers another call of the session has done so, or waits.
            if _one_is_answered(connection, others):
                return "duplicate"
            return self._answer(connection, session, call_id, answer)

        return await self.database.write(work, synced=True)

    def _one_at_a_time(self, connection: Connection) -> None:
        """None that others exclude gets an answer before we have ended."""
        if not self.database.is_sqlite:
            # Not their rows: whoever closes calls locks those in an order of their own.
            connection.execute(sql.ONE_AT_A_TIME)

    # -- inside transactions -----------------------------------------------------------------

    def answer_in(
        self,
        connection: Connection,
        app_name: str,
        session_id: str,
        call_id: str,
        answer: StoredAnswer,
    ) -> Answered:
        """`answer`, in a transaction that is under way.

        Also while the session is being deleted: should that fail, its call must not wait for ever.
        """
        session = self._lock_to_answer(connection, app_name, session_id)
        return "unknown" if session is None else self._answer(connection, session, call_id, answer)

    def _lock_to_answer(
        self, connection: Connection, app_name: str, session_id: str
    ) -> Row[Any] | None:
        session = self.lock_in(connection, app_name, session_id)
        if session is None or not self.may_answer(connection, app_name, session_id):
            return None
        return session

    def _answer(
        self, connection: Connection, session: Row[Any], call_id: str, answer: StoredAnswer
    ) -> Answered:
        app_name, session_id = session.app_name, session.session_id
        given = {"now": time.time(), "given": rows.answer_text(answer)}
        this = {"of": session.key, "call": call_id}
        if not connection.execute(sql.ANSWER, this | given).rowcount:
            return _why_not(connection, {"app": app_name, "session": session_id, "call": call_id})
        self.on_answer(connection, app_name, session_id)
        return "accepted"

    def _refuse_deleted(self, connection: Connection, session: Row[Any]) -> None:
        holder = self._holds.holder(connection, session)
        if holder is not None and holder.deletes:
            raise holder.refusal(session.session_id)

    def lock_in(self, connection: Connection, app_name: str, session_id: str) -> Row[Any] | None:
        """The session's row, in a transaction that is under way; none other writes to the session before
        it has ended. Whoever changes a session or its calls begins with this, or with an append."""
        this = {"app": app_name, "session": session_id}
        return connection.execute(sql.LOCK, this).one_or_none()

    def calls_in(
        self, connection: Connection, app_name: str, session_id: str | None = None
    ) -> list[OpenCall]:
        """`open_calls`, in a transaction that is under way."""
        query = sql.CALLS if session_id is None else sql.SESSION_CALLS
        found = connection.execute(query, {"app": app_name, "session": session_id}).all()
        if session_id is None:
            return list(rows.open_calls(found))
        return [rows.open_call(row) for row in found]

    def open_in(self, connection: Connection, scope: Scope) -> None:
        """Make a session unless it is there, in a transaction that is under way.

        Its names are not measured: whoever decided long ago that there will be one has done that.
        """
        self._add_session(connection, scope)

    def on_append(
        self, connection: Connection, scope: Scope, events: Sequence[Event], *, waits: bool
    ) -> None:
        """Events have been added; `waits`: the session had open calls, or has opened some."""

    def on_take(self, connection: Connection, scope: Scope) -> None:
        """A session has been taken without an append."""

    def may_answer(self, connection: Connection, app_name: str, session_id: str) -> bool:
        """Whether somebody will ever read an answer to a call of the session, which is locked."""
        return True

    def on_answer(self, connection: Connection, app_name: str, session_id: str) -> None:
        """An answer has been taken."""

    # -- sessions ----------------------------------------------------------------------------

    async def find(self, app_name: str, session_id: str) -> SessionRow | None:
        """A session by its id."""
        return await self.database.read(lambda connection: _find(connection, app_name, session_id))

    async def sessions(self, app_name: str, user_id: str | None = None) -> list[SessionRow]:
        """Sessions, the latest first."""
        query = select(SESSIONS).where(SESSIONS.c.app_name == app_name)
        if user_id is not None:
            query = query.where(SESSIONS.c.user_id == user_id)
        query = query.order_by(SESSIONS.c.updated_at.desc(), SESSIONS.c.key.desc())
        return [rows.session(row) for row in await self._all(query)]

    async def unfinished(self, app_name: str) -> list[SessionRow]:
        """Sessions whose log does not end with the end of a run, or whose answers, or deadlines that have
        passed, wait for one."""

        here = {"app": app_name}

        def work(connection: Connection) -> list[SessionRow] | None:
            if connection.execute(sql.UNKNOWN, here).first() is not None:
                return None
            cut_off = connection.execute(sql.INTERRUPTED, here).all()
            answered = [
                row
                for row in connection.execute(sql.ANSWERED, here | {"now": time.time()}).all()
                if _may_go_on(connection, here | {"session": row.session_id})
            ]
            return [rows.session(row) for row in (*cut_off, *answered)]

        while (found := await self.database.read(work)) is None:
            await self.database.write(lambda connection: _note_unfinished(connection, here))
        return sorted(found, key=lambda row: row.updated_at, reverse=True)

    async def apps(self) -> dict[str, int]:
        """How many sessions each app has in this database."""
        count = func.count().label("sessions")
        query = select(SESSIONS.c.app_name, count).group_by(SESSIONS.c.app_name)
        return {row.app_name: row.sessions for row in await self._all(query)}

    async def delete(self, scope: Scope, hold: Hold | None = None) -> list[StoredAnswer]:
        """Forget a session, its events, state and pending calls; the answers no run had taken."""

        def work(connection: Connection) -> list[StoredAnswer]:
            row = self.lock_in(connection, scope.app_name, scope.session_id)
            if row is None or row.user_id != scope.user_id:
                return []
            if row.hold != (hold.id if hold else None):
                holder = self._holds.holder(connection, row)
                raise refusals.not_to_be_deleted(scope.session_id, holder, hold)
            calls = self.calls_in(connection, scope.app_name, scope.session_id)
            connection.execute(delete(SESSIONS).where(sql.IS_MINE), _mine(scope))
            connection.execute(delete(STATE).where(sql.IS_STATE_OF_SESSION), _mine(scope))
            return [call.answer for call in calls if call.answer is not None]

        return await self.database.write(work)

    async def branch(self, scope: Scope, new_id: str, upto: int | None = None) -> SessionRow:
        """A new session with the same events up to `seq` `upto`, and the state they give."""

        def source(connection: Connection) -> tuple[list[Event], Changes]:
            row = _find_row(connection, scope.app_name, scope.session_id)
            found = None if row is None else rows.session(row)
            if row is None or found is None or found.scope != scope:
                raise refusals.nothing_to_branch(scope)
            self._refuse_deleted(connection, row)
            events = _events(connection, _mine(scope), 0)
            kept = [event for event in events if upto is None or event.seq <= upto]
            return branched(scope, found.created_at, kept)

        begun = await self.database.read(source)
        target = replace(scope, session_id=new_id)
        return await self.database.write(lambda connection: self._copy(connection, target, *begun))

    async def close(self) -> None:
        """Let go of connections."""
        await self._holds.close()
        await self.database.close()

    async def _all(self, query: Executable, where: dict[str, Any] | None = None) -> list[Row[Any]]:
        return await self.database.read(
            lambda connection: list(connection.execute(query, where or {}))
        )

    def _open(self, connection: Connection, scope: Scope) -> SessionRow:
        refuse_long_scope(scope)
        row = None
        while row is None:  # One that is there may be deleted before it is found.
            self._add_session(connection, scope)
            row = _find(connection, scope.app_name, scope.session_id)
        return row

    def _copy(
        self, connection: Connection, scope: Scope, events: Sequence[Event], found: Changes
    ) -> SessionRow:
        refuse_long_scope(scope)
        key = self._add_session(connection, scope, len(events), found)
        if key is None:
            raise refusals.id_is_taken(scope.session_id)
        self._write(connection, scope, key, rows.event_rows(events), found)
        if found.answered:
            answered = [{"of": key, "call": call, "now": time.time()} for call in found.answered]
            connection.execute(sql.COPY_ANSWERED, answered)
        _close_calls(connection, key, found)
        return self._open(connection, scope)

    def _add_session(
        self, connection: Connection, scope: Scope, last_seq: int = 0, begun: Changes | None = None
    ) -> int | None:
        """The new session's key, or None when there is one with its id."""
        now, begun = time.time(), begun or Changes()
        values = {
            "app_name": scope.app_name,
            "session_id": scope.session_id,
            "user_id": scope.user_id,
            "created_at": now,
            "updated_at": now,
            "last_seq": last_seq,
            "title": begun.title,
            "unfinished": begun.is_unfinished,
        }
        return connection.execute(self._insert_session, values).scalar()

    def _write(
        self,
        connection: Connection,
        scope: Scope,
        key: int,
        bodies: Sequence[dict[str, Any]],
        found: Changes,
    ) -> None:
        if bodies:
            numbered = [{"session_key": key} | body for body in bodies]
            connection.execute(sql.INSERT_EVENTS, numbered)
        if found.state:
            # Sorted, so that two sessions which write the same keys lock them in the same order.
            values = [
                rows.state_row(scope, name, found.state[name]) for name in sorted(found.state)
            ]
            connection.execute(self._upsert_state, values)
        if found.opened:
            first = bodies[0]["seq"]
            opened = [
                rows.pending_row(key, position, pending)
                for position, pending in enumerate(found.opened, first)
            ]
            connection.execute(sql.INSERT_PENDING, opened)
        if found.changed:
            changed = [{"of": key} | rows.changed_row(pending) for pending in found.changed]
            connection.execute(sql.CHANGE, changed)


def _close_calls(connection: Connection, key: int, found: Changes) -> None:
    if not found.ended and not found.answered:
        return
    if found.answered:
        connection.execute(sql.USE_ANSWER, [{"of": key, "call": call} for call in found.answered])
    still_open = connection.execute(sql.SELECT_OPEN, {"of": key}).all()
    calls = {call.call_id: call for call in (rows.pending(row.body) for row in still_open)}
    unused = {rows.pending(row.body).call_id for row in still_open if row.answer is not None}
    told = [row.answered_at is not None and row.answer is None for row in still_open]
    for call_id in closed_by(found, zip(calls.values(), told, strict=True)):
        this = {"of": key, "call": call_id}
        if call_id in unused:
            later = replace(calls[call_id], blocking=False)
            connection.execute(sql.CHANGE, this | rows.changed_row(later))
        else:
            connection.execute(sql.CLOSE, this)


def _events(connection: Connection, mine: dict[str, Any], since: int) -> list[Event]:
    # All at once: were one unreadable, a half-read result would hold on to its snapshot.
    found = connection.execute(sql.SELECT_EVENTS, mine | {"since": since}).all()
    return [decode_event(row.body) for row in found]


def _page(connection: Connection, where: dict[str, Any]) -> list[Encoded]:
    found, length = [], 0
    with connection.execute(sql.SELECT_PAGE, where) as page:
        for row in page:
            found.append(Encoded(row.seq, row.body))
            length += len(row.body)
            if length > _PAGE_LENGTH:
                break
    return found


def _may_go_on(connection: Connection, where: Mapping[str, Any]) -> bool:
    """Whether a session has something to go on with; not while one of its calls cannot be read."""
    calls = list(rows.open_calls(connection.execute(sql.SESSION_CALLS, where).all()))
    return may_go_on(calls) and not any(call.problem for call in calls)


def _note_unfinished(connection: Connection, here: dict[str, Any]) -> None:
    """Note of some sessions of an older version whether their log ends with the end of a run."""
    for row in connection.execute(sql.UNKNOWN, here).all():
        last = [] if row.body is None else [decode_event(row.body)]
        found = {"of": row.key, "at": row.last_seq, "found": changes(last).is_unfinished}
        connection.execute(sql.NOTE_UNFINISHED, found)


def _state(connection: Connection, mine: dict[str, Any]) -> dict[str, Any]:
    return {
        row.key: from_exact_json(row.value) for row in connection.execute(sql.SELECT_STATE, mine)
    }


def _find(connection: Connection, app_name: str, session_id: str) -> SessionRow | None:
    row = _find_row(connection, app_name, session_id)
    return None if row is None else rows.session(row)


def _find_row(connection: Connection, app_name: str, session_id: str) -> Row[Any] | None:
    found = connection.execute(sql.FIND, {"app": app_name, "session": session_id})
    return found.one_or_none()


def _is_born(session: Row[Any] | None, born: float | None) -> bool:
    """Whether the session is there, and is the one that was made at that moment, if one is named."""
    return session is not None and born in (None, session.created_at)


def _one_is_answered(connection: Connection, calls: Sequence[dict[str, str]]) -> bool:
    found = [connection.execute(sql.CALL, call).one_or_none() for call in calls]
    return any(row is not None and row.answered_at is not None for row in found)


def _why_not(connection: Connection, where: dict[str, str]) -> Answered:
    row = connection.execute(sql.CALL, where).one_or_none()
    if row is None:
        return "unknown"
    if row.answered_at is not None:
        return "duplicate"
    if row.deadline is not None and row.deadline <= time.time():
        return "expired"
    return "finished" if row.closed else "unknown"


def _mine(scope: Scope) -> dict[str, Any]:
    return {"app": scope.app_name, "session": scope.session_id, "user": scope.user_id}
