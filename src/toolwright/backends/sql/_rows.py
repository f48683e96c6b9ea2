"""Between the rows of a session database and the values of a store."""

import functools
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row

from toolwright.backends._store import OpenCall, SessionRow
from toolwright.errors import StoreError, UnreadableError
from toolwright.messages import (
    Event,
    Given,
    Pending,
    Scope,
    StoredAnswer,
    encode_event,
    exact_json,
    from_exact_json,
    from_json_text,
    to_json_text,
)

__all__ = [
    "answer_text",
    "changed_row",
    "event_rows",
    "open_call",
    "open_calls",
    "pending",
    "pending_row",
    "pending_text",
    "session",
    "state_row",
]

logger = logging.getLogger("toolwright")
_PENDING = TypeAdapter(Pending)
_ANSWER: TypeAdapter[StoredAnswer] = TypeAdapter(StoredAnswer)


def session(row: Row[Any]) -> SessionRow:
    """A row of the sessions."""
    return SessionRow(
        scope=_scope(row),
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_seq=row.last_seq,
        title=row.title,
    )


def open_call(row: Row[Any]) -> OpenCall:
    """A row of the pending calls, joined with its session's."""
    return OpenCall(
        scope=_scope(row),
        pending=pending(row.body),
        answered=row.answered_at is not None,
        answer=None if row.answer is None else _answer(row.answer),
        born=row.created_at,
    )


def open_calls(found: Sequence[Row[Any]]) -> Iterator[OpenCall]:
    """Calls of many sessions; of one that cannot be read it is said why, and the others can be seen."""
    for row in found:
        try:
            yield open_call(row)
        except UnreadableError as error:
            _tell_once(f"session {row.session_id!r}: {error}")
            yield OpenCall(
                scope=_scope(row),
                pending=Pending(call_id=row.call_id, name="", kind="result"),
                answered=row.answered_at is not None,
                born=row.created_at,
                problem=str(error),
            )


@functools.lru_cache(maxsize=1000)
def _tell_once(problem: str) -> None:
    """Lists are asked for again and again."""
    logger.warning("%s", problem)


def _answer(text: str) -> StoredAnswer:
    try:
        return from_json_text(_ANSWER, text)
    except (ValueError, RecursionError):
        return _untagged_answer(text)


def _untagged_answer(text: str) -> Given:
    """Written before answers had a tag of their own."""
    try:
        return Given(value=from_exact_json(text))
    except (ValueError, RecursionError) as error:
        # Without the text: it may be a secret.
        raise UnreadableError("Unreadable answer to a pending call.") from error


def answer_text(answer: StoredAnswer) -> str:
    """What `open_call` reads back."""
    return to_json_text(_ANSWER, answer)


def pending(body: str) -> Pending:
    """What `pending_row` stored."""
    try:
        return from_json_text(_PENDING, body)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"Unreadable pending call {body[:200]!r}: {error}") from error


def pending_text(opened: Pending) -> str:
    """What `pending` reads back."""
    return to_json_text(_PENDING, opened)


def pending_row(session_key: int, position: int, opened: Pending) -> dict[str, Any]:
    """A pending call, open and without an answer."""
    return {
        "session_key": session_key,
        "call_id": opened.call_id,
        "position": position,
        "body": pending_text(opened),
        "deadline": opened.deadline,
        "closed": False,
    }


def changed_row(changed: Pending) -> dict[str, Any]:
    """What of a pending call is different now."""
    return {
        "call": changed.call_id,
        "now": pending_text(changed),
        "until": changed.deadline,
    }


def event_rows(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Events that follow on each other; the session's key is still to be added."""
    first = events[0].seq if events else 1
    for position, event in enumerate(events):
        if event.seq != first + position:
            raise StoreError(f"Event {event.seq} does not follow on {first + position - 1}.")
    return [{"seq": event.seq, "body": encode_event(event)} for event in events]


def state_row(scope: Scope, key: str, value: Any) -> dict[str, Any]:
    """A state key, owned by the app, the user or the session as its prefix says."""
    return {
        "app_name": scope.app_name,
        "user_id": "" if key.startswith("app:") else scope.user_id,
        "session_id": "" if key.startswith(("app:", "user:")) else scope.session_id,
        "key": key,
        "value": None if value is None else exact_json(value),
    }


def _scope(row: Row[Any]) -> Scope:
    return Scope(app_name=row.app_name, user_id=row.user_id, session_id=row.session_id)
