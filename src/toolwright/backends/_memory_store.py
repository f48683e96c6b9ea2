"""Sessions kept in this process, for tests and for programs that need not remember."""

import copy
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolwright._sealed import Sealed
from toolwright.backends import _refusals as refusals
from toolwright.backends._changes import (
    Changes,
    branched,
    changes,
    closed_by,
    is_session_key,
    refuse_stale,
)
from toolwright.backends._processes import described, new_name
from toolwright.backends._store import (
    PAGE,
    Encoded,
    Hold,
    Holder,
    Loaded,
    OpenCall,
    SessionRow,
    is_expired,
    is_meant,
    may_append,
    may_go_on,
)
from toolwright.messages import (
    Answered,
    Event,
    Scope,
    StoredAnswer,
    encode_event,
    refuse_long_scope,
)

__all__ = ["MemoryStore"]


@dataclass(slots=True)
class _Session:
    row: SessionRow
    events: list[Event] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, OpenCall] = field(default_factory=dict)
    closed: dict[str, OpenCall] = field(default_factory=dict)
    """Calls that have ended, their answers forgotten: an answer to one is too late."""
    holder: Holder | None = None


class MemoryStore(Sealed):
    """Keeps sessions in dictionaries. Safe to use from several threads."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._shared: dict[tuple[str, str | None], dict[str, Any]] = {}
        self._lock = threading.RLock()
        self._process = described(new_name())

    async def open(self, scope: Scope) -> SessionRow:
        """The session, made if it is new; `UsageError` when it belongs to another user."""
        with self._lock:
            found = self._sessions.get((scope.app_name, scope.session_id))
            if found is None:
                return self._new(scope).row
            if found.row.scope != scope:
                raise refusals.of_another_user(scope)
            return found.row

    async def load(self, scope: Scope) -> Loaded:
        """`open`, with the session's events, open calls and state, all of one moment."""
        with self._lock:
            row = await self.open(scope)
            if not row.last_seq:
                return Loaded(row=row, state=await self.state(scope))
            return Loaded(
                row=row,
                events=await self.events(scope),
                calls=await self.open_calls(scope.app_name, scope.session_id),
                state=await self.state(scope),
                holder=await self.holder(scope),
            )

    async def append(
        self,
        scope: Scope,
        events: Sequence[Event],
        hold: Hold | None = None,
        *,
        expected: Mapping[str, Any] | None = None,
    ) -> None:
        """Add events whose `seq` follow on; `StoreConflict` when another run has written meanwhile,
        `SessionHeld` when another run holds the session."""
        if not events:
            return
        with self._lock:
            session = self._mine(scope)
            if session is None:
                raise refusals.was_not_opened(scope)
            if not is_meant(hold, session.row.created_at):
                raise refusals.is_another(scope)
            events = _not_stored(session, events, hold)
            if not events:
                return
            if expected:
                refuse_stale(expected, await self.state(scope))
            found = changes(events)
            session.holder = self._holder_after(session, hold)
            session.events.extend(events)
            self._change_state(scope, session, found.state)
            _open_calls(session, found)
            _close_calls(session, found)
            session.row = replace(
                session.row,
                last_seq=events[-1].seq,
                updated_at=time.time(),
                title=session.row.title or found.title,
            )

    async def take(self, scope: Scope, hold: Hold, born: float) -> None:
        """Take a session as the first append of a run does, and add nothing to it: to delete it."""
        with self._lock:
            session = self._mine(scope)
            if session is None:
                raise refusals.was_not_opened(scope)
            if session.row.created_at != born:
                raise refusals.is_another(scope)
            if not may_append(hold, session.holder.hold_id if session.holder else None):
                raise refusals.not_held(scope.session_id, session.holder, hold)
            session.holder = self._holder_after(session, hold)

    async def holder(self, scope: Scope) -> Holder | None:
        """Who holds a session: a run of this process, which is never gone before its sessions are."""
        with self._lock:
            session = self._mine(scope)
            return session.holder if session else None

    async def release(self, scope: Scope, hold_id: str) -> None:
        """Release a hold whose run ended without a last append; others' holds stay as they are."""
        with self._lock:
            session = self._mine(scope)
            if session and session.holder and session.holder.hold_id == hold_id:
                session.holder = None

    async def events(self, scope: Scope, since: int = 0) -> list[Event]:
        """The stored events with a `seq` above `since`, in order."""
        with self._lock:
            session = self._mine(scope)
            return session.events[max(since, 0) :] if session else []

    async def encoded_events(
        self, scope: Scope, since: int = 0, limit: int = PAGE
    ) -> list[Encoded]:
        """The next stored events with a `seq` above `since`, in order, as JSON."""
        with self._lock:
            session, since = self._mine(scope), max(since, 0)
            found = session.events[since : since + limit] if session else []
        return [Encoded(event.seq, encode_event(event)) for event in found]

    async def state(self, scope: Scope) -> dict[str, Any]:
        """All state visible to the session: `app:`, `user:` and its own keys."""
        with self._lock:
            session = self._mine(scope)
            app = self._shared.get((scope.app_name, None), {})
            user = self._shared.get((scope.app_name, scope.user_id), {})
            return copy.deepcopy({**app, **user, **(session.state if session else {})})

    async def open_calls(self, app_name: str, session_id: str | None = None) -> list[OpenCall]:
        """Calls not yet closed, answered ones included; of all sessions when none is named."""
        with self._lock:
            return [
                call
                for (app, session), found in self._sessions.items()
                if app == app_name and session_id in (None, session)
                for call in found.calls.values()
            ]

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
        with self._lock:
            session = self._sessions.get((app_name, session_id))
            if session is None or born not in (None, session.row.created_at):
                return "unknown"
            call = session.calls.get(call_id) or session.closed.get(call_id)
            if call is None:
                return "unknown"
            if call.answered:
                return "duplicate"
            if is_expired(call.pending):
                return "expired"
            if call_id in session.closed:
                return "finished"
            if answer is None:
                return "unknown"
            _refuse_deleted(session)
            if any(self._is_answered(app_name, *other) for other in unless):
                return "duplicate"
            session.calls[call_id] = replace(call, answered=True, answer=copy.deepcopy(answer))
            return "accepted"

    def _is_answered(self, app_name: str, session_id: str, call_id: str) -> bool:
        session = self._sessions.get((app_name, session_id))
        if session is None:
            return False
        call = session.calls.get(call_id) or session.closed.get(call_id)
        return call is not None and call.answered

    async def find(self, app_name: str, session_id: str) -> SessionRow | None:
        """A session by its id."""
        with self._lock:
            found = self._sessions.get((app_name, session_id))
            return found.row if found else None

    async def sessions(self, app_name: str, user_id: str | None = None) -> list[SessionRow]:
        """Sessions, the latest first."""
        with self._lock:
            rows = [
                session.row
                for session in self._sessions.values()
                if session.row.scope.app_name == app_name
                and user_id in (None, session.row.scope.user_id)
            ]
        return sorted(rows, key=lambda row: row.updated_at, reverse=True)

    async def unfinished(self, app_name: str) -> list[SessionRow]:
        """Sessions whose log does not end with the end of a run, or whose answers, or deadlines that have
        passed, wait for one."""
        with self._lock:
            return [
                row for row in await self.sessions(app_name)
                if _is_unfinished(self._sessions[app_name, row.scope.session_id])
            ]  # fmt: skip

    async def delete(self, scope: Scope, hold: Hold | None = None) -> list[StoredAnswer]:
        """Forget a session, its events, state and pending calls; the answers no run had taken."""
        with self._lock:
            session = self._mine(scope)
            if session is None:
                return []
            held_by = session.holder.hold_id if session.holder else None
            if held_by != (hold.id if hold else None):
                raise refusals.not_to_be_deleted(scope.session_id, session.holder, hold)
            del self._sessions[scope.app_name, scope.session_id]
            return [call.answer for call in session.calls.values() if call.answer is not None]

    async def branch(self, scope: Scope, new_id: str, upto: int | None = None) -> SessionRow:
        """A new session with the same events up to `seq` `upto`, and the state they give."""
        with self._lock:
            session = self._mine(scope)
            if session is None:
                raise refusals.nothing_to_branch(scope)
            _refuse_deleted(session)
            if (scope.app_name, new_id) in self._sessions:
                raise refusals.id_is_taken(new_id)
            upto = len(session.events) if upto is None else max(upto, 0)
            events, found = branched(scope, session.row.created_at, session.events[:upto])
            branch = self._new(replace(scope, session_id=new_id))
            branch.events = events
            branch.state = {key: value for key, value in found.state.items() if value is not None}
            _open_calls(branch, found)
            for call_id in branch.calls.keys() & found.answered:
                branch.calls[call_id] = replace(branch.calls[call_id], answered=True)
            _close_calls(branch, found)
            branch.row = replace(branch.row, last_seq=len(events), title=found.title)
            return branch.row

    async def close(self) -> None:
        """Nothing to let go of; what was kept can still be read."""

    def _new(self, scope: Scope) -> _Session:
        refuse_long_scope(scope)
        now = time.time()
        row = SessionRow(scope=scope, created_at=now, updated_at=now, last_seq=0)
        session = _Session(row)
        self._sessions[scope.app_name, scope.session_id] = session
        return session

    def _holder_after(self, session: _Session, hold: Hold | None) -> Holder | None:
        if hold is None or hold.last:
            return None
        if not hold.first:
            return session.holder
        return Holder(hold_id=hold.id, process=self._process, since=hold.since)

    def _mine(self, scope: Scope) -> _Session | None:
        found = self._sessions.get((scope.app_name, scope.session_id))
        return found if found and found.row.scope == scope else None

    def _change_state(self, scope: Scope, session: _Session, state: dict[str, Any]) -> None:
        for key, value in state.items():
            kept = session.state
            if not is_session_key(key):
                owner = scope.user_id if key.startswith("user:") else None
                kept = self._shared.setdefault((scope.app_name, owner), {})
            if value is None:
                kept.pop(key, None)
            else:
                kept[key] = value


def _refuse_deleted(session: _Session) -> None:
    if session.holder is not None and session.holder.deletes:
        raise session.holder.refusal(session.row.scope.session_id)


def _is_unfinished(session: _Session) -> bool:
    return changes(session.events[-1:]).is_unfinished or may_go_on([*session.calls.values()])


def _not_stored(session: _Session, events: Sequence[Event], hold: Hold | None) -> Sequence[Event]:
    """The events that an earlier try has not stored already; they must follow on."""
    tail = session.events[events[0].seq - 1 :][: len(events)]
    new = events[len(tail) :]
    if not new and tail == list(events):
        return new
    if not may_append(hold, session.holder.hold_id if session.holder else None):
        raise refusals.not_held(session.row.scope.session_id, session.holder, hold)
    follow = range(session.row.last_seq + 1, session.row.last_seq + 1 + len(new))
    if tail != list(events[: len(tail)]) or [event.seq for event in new] != list(follow):
        raise refusals.does_not_follow(session.row, events[0].seq)
    return new


def _open_calls(session: _Session, found: Changes) -> None:
    for pending in found.opened:
        row = session.row
        call = OpenCall(scope=row.scope, pending=pending, born=row.created_at)
        session.calls[pending.call_id] = call
    for pending in found.changed:
        if pending.call_id in session.calls:
            call = session.calls[pending.call_id]
            session.calls[pending.call_id] = replace(call, pending=pending)


def _close_calls(session: _Session, found: Changes) -> None:
    for call_id in found.answered:
        if call_id in session.calls:
            session.calls[call_id] = replace(session.calls[call_id], answer=None)
    calls = [(c.pending, c.answered and c.answer is None) for c in session.calls.values()]
    for call_id in closed_by(found, calls):
        call = session.calls[call_id]
        if call.answer is None:
            session.closed[call_id] = session.calls.pop(call_id)
        else:
            session.calls[call_id] = replace(call, pending=replace(call.pending, blocking=False))
