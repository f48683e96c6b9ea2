"""Where sessions are kept: their events, their state and the calls that wait for an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolwright.messages import Answered, Event, Pending, Scope, StoredAnswer

__all__ = ["Loaded", "OpenCall", "SessionRow", "Store"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """All that a run needs to know of a session."""

    row: SessionRow
    events: Sequence[Event] = ()
    calls: Sequence[OpenCall] = ()
    """Those that are not closed, answered ones included."""
    state: Mapping[str, Any] = field(default_factory=dict)


class Store(Protocol):
    """Keeps sessions. One run at a time writes to a session; answers come from anywhere.

    `append` is one transaction: the events, the state they change (`ToolEnded.actions`,
    `PendingOpened.actions`, `StateChanged`; `temp:` keys never) and the pending calls they open
    (`PendingOpened`), change (`PendingChanged`) or close (`ToolEnded`). A call whose answer was
    accepted and is not in the log yet is not closed but stays open, not `blocking` any more: no
    answer that was accepted is lost. Raises `StoreError` when the database refuses.
    """

    async def open(self, scope: Scope) -> SessionRow:
        """The session, made if it is new; `UsageError` when it belongs to another user."""
        ...

    async def load(self, scope: Scope) -> Loaded:
        """`open`, with the session's events, open calls and state, all of one moment."""
        ...

    async def append(self, scope: Scope, events: Sequence[Event]) -> None:
        """Add events whose `seq` follow on; `StoreConflict` when another run has written meanwhile.

        Repeatable: events that the end of the log consists of already, because the acknowledgement
        of an earlier try was lost, are not added again.
        """
        ...

    async def events(self, scope: Scope, since: int = 0) -> list[Event]:
        """The stored events with a `seq` above `since`, in order."""
        ...

    async def state(self, scope: Scope) -> dict[str, Any]:
        """All state visible to the session: `app:`, `user:` and its own keys."""
        ...

    async def open_calls(self, app_name: str, session_id: str | None = None) -> list[OpenCall]:
        """Calls not yet closed, answered ones included; of all sessions when none is named."""
        ...

    async def answer(
        self,
        app_name: str,
        session_id: str,
        call_id: str,
        answer: StoredAnswer | None,
        unless: Sequence[tuple[str, str]] = (),
    ) -> Answered:
        """Take an answer, exactly once, in one atomic step; what it holds is plain JSON.

        `unless` names other calls, by session and call id: if one of them has an answer already,
        this one is a "duplicate". Of several that name each other, one is accepted. Without an
        answer nothing is taken, and what became of the call is said; "unknown" while it waits.
        """
        ...

    async def find(self, app_name: str, session_id: str) -> SessionRow | None:
        """A session by its id."""
        ...

    async def sessions(self, app_name: str, user_id: str | None = None) -> list[SessionRow]:
        """Sessions, the latest first."""
        ...

    async def delete(self, scope: Scope) -> None:
        """Forget a session, its events, state and pending calls."""
        ...

    async def branch(self, scope: Scope, new_id: str, upto: int | None = None) -> SessionRow:
        """A new session with the same events up to `seq` `upto`, and the state they give."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
