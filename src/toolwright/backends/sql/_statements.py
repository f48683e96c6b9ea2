"""The statements of a session database that run often or must be atomic, built once."""

from sqlalchemy import (
    Insert,
    and_,
    bindparam,
    exists,
    insert,
    or_,
    select,
    update,
)

from toolwright.backends.sql._database import Database
from toolwright.backends.sql._schema import EVENTS, PENDING, SESSIONS, STATE

__all__ = [
    "ADVANCE",
    "ANSWER",
    "CALL",
    "CALLS",
    "CLOSE",
    "FIND",
    "INSERT_EVENTS",
    "INSERT_PENDING",
    "IS_MINE",
    "IS_OPEN",
    "IS_STATE_OF_SESSION",
    "SELECT_EVENTS",
    "SELECT_OPEN",
    "SELECT_STATE",
    "SESSION_CALLS",
    "SET_TITLE",
    "insert_session",
    "upsert_state",
]

_IS_SESSION = and_(
    SESSIONS.c.app_name == bindparam("app"), SESSIONS.c.session_id == bindparam("session")
)
IS_MINE = and_(_IS_SESSION, SESSIONS.c.user_id == bindparam("user"))
IS_OPEN = PENDING.c.closed.is_(False)

FIND = select(SESSIONS).where(_IS_SESSION)

_HAS_OPEN = exists().where(PENDING.c.session_key == SESSIONS.c.key, IS_OPEN)
ADVANCE = (
    update(SESSIONS)
    .where(IS_MINE, SESSIONS.c.last_seq == bindparam("before"))
    .values(last_seq=bindparam("after"), updated_at=bindparam("now"))
    .returning(SESSIONS.c.key, SESSIONS.c.title, _HAS_OPEN.label("has_open"))
)
"""Moves a session from one `last_seq` to the next; no row when it was not there any more."""

SET_TITLE = (
    update(SESSIONS).where(SESSIONS.c.key == bindparam("of")).values(title=bindparam("words"))
)

INSERT_EVENTS = insert(EVENTS)
SELECT_EVENTS = (
    select(EVENTS.c.body)
    .join(SESSIONS, SESSIONS.c.key == EVENTS.c.session_key)
    .where(IS_MINE, EVENTS.c.seq > bindparam("since"))
    .order_by(EVENTS.c.seq)
)

INSERT_PENDING = insert(PENDING)
SELECT_OPEN = select(PENDING.c.body).where(PENDING.c.session_key == bindparam("of"), IS_OPEN)
CALL = (
    select(PENDING)
    .join(SESSIONS, SESSIONS.c.key == PENDING.c.session_key)
    .where(_IS_SESSION, PENDING.c.call_id == bindparam("call"))
)
CALLS = (
    select(PENDING, SESSIONS)
    .join(SESSIONS, SESSIONS.c.key == PENDING.c.session_key)
    .where(IS_OPEN, SESSIONS.c.app_name == bindparam("app"))
    .order_by(PENDING.c.session_key, PENDING.c.call_id)
)
SESSION_CALLS = CALLS.where(SESSIONS.c.session_id == bindparam("session"))
ANSWER = (
    update(PENDING)
    .where(
        PENDING.c.session_key == select(SESSIONS.c.key).where(_IS_SESSION).scalar_subquery(),
        PENDING.c.call_id == bindparam("call"),
        PENDING.c.answered_at.is_(None),
        or_(PENDING.c.deadline.is_(None), PENDING.c.deadline > bindparam("now")),
        IS_OPEN,
    )
    .values(answered_at=bindparam("now"), answer=bindparam("given"))
)
"""Changes one row for the first answer in time, and none for any other."""
CLOSE = (
    update(PENDING)
    .where(PENDING.c.session_key == bindparam("of"), PENDING.c.call_id == bindparam("call"))
    # An answer may be a credential: it is kept no longer than it is needed.
    .values(closed=True, answer=None)
)

IS_STATE_OF_SESSION = and_(
    STATE.c.app_name == bindparam("app"),
    STATE.c.user_id == bindparam("user"),
    STATE.c.session_id == bindparam("session"),
    STATE.c.key.not_like("user:%"),
    STATE.c.key.not_like("app:%"),
)
SELECT_STATE = select(STATE.c.key, STATE.c.value).where(
    STATE.c.app_name == bindparam("app"),
    STATE.c.user_id.in_(["", bindparam("user")]),
    STATE.c.session_id.in_(["", bindparam("session")]),
    STATE.c.value.is_not(None),
)


def insert_session(database: Database) -> Insert:
    """Adds a session unless its id is taken; returns its key if it was added."""
    statement = database.insert(SESSIONS)
    taken = ["app_name", "session_id"]
    return statement.on_conflict_do_nothing(index_elements=taken).returning(SESSIONS.c.key)


def upsert_state(database: Database) -> Insert:
    """Sets a state key."""
    statement = database.insert(STATE)
    return statement.on_conflict_do_update(
        index_elements=["app_name", "user_id", "session_id", "key"],
        set_={"value": statement.excluded.value},
    )
