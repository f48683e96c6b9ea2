"""What stores say when they refuse, so that all of them say the same."""

from toolwright.backends._store import Hold, Holder, SessionRow
from toolwright.errors import SessionHeld, StoreConflict, UsageError
from toolwright.messages import Scope

__all__ = [
    "does_not_follow",
    "id_is_taken",
    "is_another",
    "not_held",
    "not_to_be_deleted",
    "nothing_to_branch",
    "of_another_user",
    "was_not_opened",
]


def of_another_user(scope: Scope) -> UsageError:
    """A session is opened for a user that it does not belong to."""
    return UsageError(
        f"Session {scope.session_id!r} belongs to another user than {scope.user_id!r}; "
        "session ids are unique within an app, so choose another."
    )


def was_not_opened(scope: Scope) -> StoreConflict:
    """Events come for a session that is not there, or not this user's."""
    return StoreConflict(f"There is no session {scope.session_id!r}; open it first.")


def is_another(scope: Scope) -> StoreConflict:
    """The session that was read is gone, and there is another of its name."""
    return StoreConflict(
        f"Session {scope.session_id!r} was deleted and begun anew after it had been read; nothing was "
        "added to the new one. Read it, and decide again."
    )


def does_not_follow(row: SessionRow, seq: int) -> StoreConflict:
    """An event's number is not the next one of its session."""
    return StoreConflict(
        f"Session {row.scope.session_id!r} has events up to {row.last_seq}, so event {seq} does "
        "not follow on: another run has written to it meanwhile."
    )


def not_held(session_id: str, holder: Holder | None, hold: Hold | None) -> StoreConflict:
    """A run writes to a session that it does not hold, or not any more."""
    if holder is None:
        return StoreConflict(
            f"Session {session_id!r} is not held by this run any more: another run has taken it "
            "over and ended, or it was deleted. What this run had stored before is kept."
        )
    if hold is None or hold.first:
        return holder.refusal(session_id)
    return SessionHeld(
        f"Session {session_id!r} was taken over by {holder}, because this run had given no "
        "sign of life for longer than its lease. What it had stored is kept, nothing more is; the "
        "session goes on there.",
        holder=holder.process,
        since=holder.since,
    )


def not_to_be_deleted(session_id: str, holder: Holder | None, hold: Hold | None) -> StoreConflict:
    """A session is to be deleted by who has not taken it, or does not hold it any more."""
    if hold is None and holder is not None:
        return holder.refusal(session_id)
    now = "held by nobody" if holder is None else f"held by {holder}"
    return StoreConflict(
        f"Session {session_id!r} was not deleted: it is {now}, and not by this deletion any more, "
        "which had given no sign of life for longer than its lease. If it is still to go, delete "
        "it again."
    )


def nothing_to_branch(scope: Scope) -> UsageError:
    """The session to branch from is not there, or not this user's."""
    return UsageError(f"There is no session {scope.session_id!r} to branch from.")


def id_is_taken(session_id: str) -> UsageError:
    """The id for a new session is another's."""
    return UsageError(f"There is already a session {session_id!r}; choose another id.")
