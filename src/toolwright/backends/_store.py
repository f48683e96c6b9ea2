"""Where sessions are kept: their events, their state and the calls that wait for an answer."""

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolwright.errors import SessionHeld
from toolwright.messages import Answered, Event, Pending, Scope, StoredAnswer, call_of

__all__ = [
    "PAGE",
    "Encoded",
    "Hold",
    "Holder",
    "Loaded",
    "OpenCall",
    "SessionRow",
    "Store",
    "has_news",
    "is_blocked",
    "is_expired",
    "is_meant",
    "may_append",
    "may_go_on",
    "questions_beside",
    "waited_for",
]

PAGE = 200
"""Events that are read at once, where a log may be long."""
_DELETES = "delete:"
"""What the id of a hold begins with that was taken to delete the session: it says so wherever it is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session as a list shows it."""

    scope: Scope
    created_at: float
    updated_at: float
    last_seq: int
    title: str = ""
    """The beginning of its first message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A pending call and, once it has come, its answer."""

    scope: Scope
    pending: Pending
    answered: bool = False
    answer: StoredAnswer | None = None
    """What was accepted, until the log has it (`PendingAnswered`)."""
    born: float | None = None
    """When its session was made (`SessionRow.created_at`)."""
    problem: str = ""
    """Why what is stored of it cannot be read: then all that is known of `pending` is the id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A run's hold on its session, as each of its appends shows it."""

    id: str
    """Unique to the run: its `run_id`."""
    since: float
    first: bool = False
    """This append takes it."""
    last: bool = False
    """This append releases it."""
    instead_of: str = ""
    """The hold that it may take the place of, because that one's process is gone."""
    born: float | None = None
    """When the session was made that the run has read (`SessionRow.created_at`): the first append is for
    no other of its name. None: for any."""

    @classmethod
    def to_delete(cls) -> "Hold":
        """A new one, for `Store.take` and `Store.delete`."""
        return cls(id=f"{_DELETES}{uuid.uuid4().hex}", since=time.time(), first=True)


def is_meant(hold: Hold | None, created_at: float) -> bool:
    """Whether who shows `hold` means the session that was made at this moment, not one before it."""
    return hold is None or not hold.first or hold.born in (None, created_at)


def may_append(hold: Hold | None, held_by: str | None) -> bool:
    """Whether who shows `hold` may append to a session that is `held_by` another, or by nobody."""
    if hold is None or held_by is None:
        return held_by is None and (hold is None or hold.first)
    return held_by == hold.id or (hold.first and held_by == hold.instead_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a session."""

    hold_id: str
    process: str
    """In words, for people."""
    since: float
    lease: float = 0.0
    """After how many seconds without a sign of life it is taken to be gone; 0: it gives none."""
    is_gone: bool = False
    """Its process has ended, or was silent for its lease: its place may be taken."""
    known_in: float = 0.0
    """In how many seconds it is known whether it is gone, when its last sign of life is old."""

    @property
    def deletes(self) -> bool:
        """It is deleting the session: no answer is accepted and no branch is made meanwhile."""
        return self.hold_id.startswith(_DELETES) and not self.is_gone

    def refusal(self, session_id: str) -> SessionHeld:
        """What a run is told that is to begin in the session."""
        within = f" within {self.lease:g} s" if self.lease else ""
        if self.deletes:
            return SessionHeld(
                f"Session {session_id!r} is being deleted by {self}: it takes no run, no answer and "
                "no branch. Should the deletion fail it is free at once, and should that process "
                f"die, the session is free{within}.",
                holder=self.process,
                since=self.since,
            )
        return SessionHeld(
            f"Session {session_id!r} is held by {self}, which has a run going in it; nothing was "
            "run here. Wait until that run has ended (a Runner with wait_if_held=60 waits up to "
            "60 s), or steer or cancel it there. Should that process die, the session is free"
            f"{within}.",
            holder=self.process,
            since=self.since,
        )

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since))
        return f"{self.process} since {since}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """All that a run needs to know of a session."""

    row: SessionRow
    events: Sequence[Event] = ()
    calls: Sequence[OpenCall] = ()
    """Those that are not closed, answered ones included."""
    state: Mapping[str, Any] = field(default_factory=dict)
    holder: Holder | None = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """A stored event that nobody has read yet."""

    seq: int
    text: str
    """JSON, as `encode_event` wrote it."""


class Store(Protocol):
    """Keeps sessions. One run at a time holds a session and writes to it; answers come from anywhere.

    `append` is one transaction: the events, the state they change (`ToolEnded.actions`,
    `PendingOpened.actions`, `StateChanged`; `temp:` keys never) and the pending calls they open
    (`PendingOpened`), change (`PendingChanged`) or close (`ToolEnded`). A call whose answer was
    accepted and is not in the log yet is not closed but stays open, not `blocking` any more: no
    answer that was accepted is lost. Raises `StoreError` when the database refuses.

    A run shows its `Hold` with each append. The first takes the session, the last releases it, and
    those in between are refused once another run has taken it: all in the transaction that adds the
    events, so that no run starts anything that it could not store. Whoever shows no hold may append
    to a session that nobody holds. When a process is gone the store lets others know by
    `Holder.is_gone`; signs of life are the store's own affair.
    """

    async def open(self, scope: Scope) -> SessionRow:
        """The session, made if it is new; `UsageError` when it belongs to another user."""
        ...

    async def load(self, scope: Scope) -> Loaded:
        """`open`, with the session's events, open calls, state and holder, all of one moment."""
        ...

    async def append(
        self,
        scope: Scope,
        events: Sequence[Event],
        hold: Hold | None = None,
        *,
        expected: Mapping[str, Any] | None = None,
    ) -> None:
        """Add events whose `seq` follow on; `StoreConflict` when another run has written meanwhile, or
        when the session is not the one that was `hold.born`, `SessionHeld` when another run holds it.

        `expected` says what `app:` and `user:` keys have before these events (None: nothing);
        `StaleState`, with what they have, when that is not so, and nothing is added.

        When it returns, not even a power cut takes away the start of a call that is not over with
        these events, nor a question.

        Repeatable: events that the log has at this place already, because the acknowledgement of an
        earlier try was lost, are not added again.
        """
        ...

    async def take(self, scope: Scope, hold: Hold, born: float) -> None:
        """Take a session as the first append of a run does, and add nothing to it: to delete it.

        `SessionHeld` when a run holds it, `StoreConflict` when it is not there, or is not the one
        that was `created_at` that moment. As long as it is held by a `Hold.to_delete` whose process
        is not gone (`Holder.deletes`), answers and branches are refused with `SessionHeld`.
        """
        ...

    async def holder(self, scope: Scope) -> Holder | None:
        """Who holds a session; None when nobody does."""
        ...

    async def release(self, scope: Scope, hold_id: str) -> None:
        """Release a hold whose run ended without a last append; others' holds stay as they are.

        When the database refuses, it is released later, or counts as that of a process that is gone.
        """
        ...

    async def events(self, scope: Scope, since: int = 0) -> list[Event]:
        """The stored events with a `seq` above `since`, in order."""
        ...

    async def encoded_events(
        self, scope: Scope, since: int = 0, limit: int = PAGE
    ) -> list[Encoded]:
        """The next stored events with a `seq` above `since`, in order, as JSON.

        At most `limit`, and fewer when they are long; none only when there are no more.
        """
        ...

    async def state(self, scope: Scope) -> dict[str, Any]:
        """All state visible to the session: `app:`, `user:` and its own keys."""
        ...

    async def open_calls(self, app_name: str, session_id: str | None = None) -> list[OpenCall]:
        """Calls not yet closed, answered ones included; of all sessions when none is named.

        `UnreadableError` when one of the named session cannot be read; among those of all sessions
        it has a `problem`, so that the others can be seen.
        """
        ...

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
        """Take an answer, exactly once, in one atomic step; what it holds is plain JSON.

        `born` is when the session was made whose call was looked at (`OpenCall.born`): the calls of any
        other session of its name are "unknown", looked at in the same step. None: of any.
        `unless` names other calls, by session and call id: if one of them has an answer already,
        this one is a "duplicate". Of several that name each other, one is accepted; one of the same
        session is answered before or after, whether it names this or not. Without an
        answer nothing is taken, and what became of the call is said; "unknown" while it waits.
        """
        ...

    async def find(self, app_name: str, session_id: str) -> SessionRow | None:
        """A session by its id."""
        ...

    async def sessions(self, app_name: str, user_id: str | None = None) -> list[SessionRow]:
        """Sessions, the latest first."""
        ...

    async def unfinished(self, app_name: str) -> list[SessionRow]:
        """Sessions to go on with, the latest first: those whose log does not end with the end of a
        run (one may be going), and those with an answer that no run has taken, or a call whose
        deadline has passed, while no call that blocks waits for another. However many sessions
        there are, only these are read."""
        ...

    async def delete(self, scope: Scope, hold: Hold | None = None) -> list[StoredAnswer]:
        """Forget a session, its events, state and pending calls, in one transaction.

        Only under the hold that it was taken with, or, without one, if nobody holds it:
        `StoreConflict` otherwise, and nothing is deleted. One that is not there is deleted already.
        The answers that went with it and that no run had taken.
        """
        ...

    async def branch(self, scope: Scope, new_id: str, upto: int | None = None) -> SessionRow:
        """A new session with the same events up to `seq` `upto`, and the state they give.

        Calls that were answered by then are answered there too, but an approval works once: one
        that has led to no result yet is left out, and its call asks again. A `ToolStarted` of a call
        without a result has there the `key` that the call began under.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def waited_for(calls: Sequence[OpenCall]) -> list[OpenCall]:
    """Those of some open calls that nobody has answered, of each call the latest: a result can be
    brought while its function asks something first, but is waited for after that. A call with an
    answer that no run has taken waits for nothing more."""
    latest = {_whose(call): call for call in calls if not call.answered}
    brought = {_whose(call) for call in calls if call.answer is not None}
    return [call for whose, call in latest.items() if whose not in brought]


def questions_beside(calls: Iterable[OpenCall], result: OpenCall) -> list[OpenCall]:
    """What the call of a result that can be brought has asked, as far as it is open; none for others."""
    if result.pending.kind != "result":
        return []
    others = (call for call in calls if call.pending.kind != "result")
    return [call for call in others if _whose(call) == _whose(result)]


def is_expired(pending: Pending) -> bool:
    """Whether the deadline has passed: an answer is refused, and a run goes on without one."""
    return pending.deadline is not None and pending.deadline <= time.time()


def is_blocked(calls: Sequence[OpenCall]) -> bool:
    """Whether a run of the session with these open calls would wait for one of them."""
    return any(call.pending.blocking and not is_expired(call.pending) for call in waited_for(calls))


def has_news(calls: Sequence[OpenCall]) -> bool:
    """Whether the session with these open calls has an answer that no run has taken, or a call whose
    deadline has passed, of which no run has told the model."""
    return any(call.answer is not None for call in calls) or any(
        is_expired(call.pending) for call in waited_for(calls)
    )


def may_go_on(calls: Sequence[OpenCall]) -> bool:
    """Whether a run of the session with these open calls has something to go on with, and would wait
    for nothing else."""
    return has_news(calls) and not is_blocked(calls)


def _whose(call: OpenCall) -> tuple[str, str]:
    return call.scope.session_id, call_of(call.pending.call_id)
