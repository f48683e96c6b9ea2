"""The statements of a session database that run often or must be atomic, built once."""

from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Executable,
    Insert,
    Text,
    and_,
    bindparam,
    exists,
    false,
    func,
    insert,
    literal,
    not_,
    or_,
    select,
    text,
    true,
    update,
)

from toolwright.backends.sql._any_text import AnyText
from toolwright.backends.sql._database import Database
from toolwright.backends.sql._schema import EVENTS, PENDING, SESSIONS, STATE

__all__ = [
    "ADVANCE",
    "ADVANCE_HOLDING",
    "ADVANCE_TAKING",
    "ANSWER",
    "ANSWERED",
    "CALL",
    "CALLS",
    "CHANGE",
    "CLOSE",
    "COPY_ANSWERED",
    "FIND",
    "INSERT_EVENTS",
    "INSERT_PENDING",
    "INTERRUPTED",
    "IS_MINE",
    "IS_OPEN",
    "IS_STATE_OF_SESSION",
    "LOCK",
    "NOTE_UNFINISHED",
    "ONE_AT_A_TIME",
    "ONE_CHANGES_STATE",
    "RELEASE",
    "SELECT_EVENTS",
    "SELECT_OPEN",
    "SELECT_PAGE",
    "SELECT_STATE",
    "SESSION_CALLS",
    "SET_TITLE",
    "TAKE",
    "UNKNOWN",
    "USE_ANSWER",
    "insert_session",
    "upsert_state",
]

_IS_SESSION = and_(
    SESSIONS.c.app_name == bindparam("app"), SESSIONS.c.session_id == bindparam("session")
)
IS_MINE = and_(_IS_SESSION, SESSIONS.c.user_id == bindparam("user"))
IS_OPEN = PENDING.c.closed.is_(False)

FIND = select(SESSIONS).where(_IS_SESSION)
LOCK = FIND.with_for_update(key_share=True)
"""`FIND`, and nobody else changes the session or its calls before the transaction has ended. On SQLite a
transaction that writes is alone anyway."""

_HAS_OPEN = exists().where(PENDING.c.session_key == SESSIONS.c.key, IS_OPEN)
_HELD = {
    "hold": bindparam("hold_after"),
    "holder": bindparam("holder_after"),
    "held_since": bindparam("since_after"),
}
_BY_ME = SESSIONS.c.hold == bindparam("by")
_BY_NOBODY = SESSIONS.c.hold.is_(None)


def _advance(allowed: ColumnElement[bool], **held: BindParameter[Any]) -> Executable:
    return (
        update(SESSIONS)
        .where(IS_MINE, SESSIONS.c.last_seq == bindparam("before"), allowed)
        .values(
            last_seq=bindparam("after"),
            updated_at=bindparam("now"),
            unfinished=bindparam("unfinished"),
            **held,
        )
        .returning(SESSIONS.c.key, SESSIONS.c.title, _HAS_OPEN.label("has_open"))
    )


ADVANCE = _advance(_BY_NOBODY)
"""Moves a session from one `last_seq` to the next; no row when it was not there any more, or is held."""
_MAY_TAKE = or_(_BY_NOBODY, _BY_ME, SESSIONS.c.hold == bindparam("instead_of"))
_IS_MEANT = SESSIONS.c.created_at == func.coalesce(bindparam("born"), SESSIONS.c.created_at)
ADVANCE_TAKING = _advance(and_(_MAY_TAKE, _IS_MEANT), **_HELD)
"""`ADVANCE` for the first append of a run, which takes the session for it, if it is the one it has read."""
ADVANCE_HOLDING = _advance(_BY_ME, **_HELD)
"""`ADVANCE` for a run that has taken the session before."""
TAKE = (
    update(SESSIONS)
    .where(IS_MINE, SESSIONS.c.created_at == bindparam("born"), _MAY_TAKE)
    .values(**_HELD)
)
"""Takes a session without an append; changes no row when it is another of its name, or is held."""
RELEASE = update(SESSIONS).where(IS_MINE, _BY_ME).values(hold=None, holder=None, held_since=None)

SET_TITLE = (
    update(SESSIONS).where(SESSIONS.c.key == bindparam("of")).values(title=bindparam("words"))
)

_HAS_NEWS = select(PENDING.c.session_key).where(
    or_(PENDING.c.answer.is_not(None), PENDING.c.deadline <= bindparam("now")), IS_OPEN
)
INTERRUPTED = select(SESSIONS).where(
    SESSIONS.c.app_name == bindparam("app"), SESSIONS.c.unfinished == true()
)
ANSWERED = select(SESSIONS).where(
    SESSIONS.c.app_name == bindparam("app"),
    SESSIONS.c.unfinished == false(),
    SESSIONS.c.key.in_(_HAS_NEWS),
)
"""Sessions with an answer that no run has taken, or a call whose deadline has passed; they may wait for
others."""
UNKNOWN = (
    select(SESSIONS.c.key, SESSIONS.c.last_seq, EVENTS.c.body)
    .outerjoin(
        EVENTS, and_(EVENTS.c.session_key == SESSIONS.c.key, EVENTS.c.seq == SESSIONS.c.last_seq)
    )
    .where(SESSIONS.c.app_name == bindparam("app"), SESSIONS.c.unfinished.is_(None))
    .limit(200)
)
"""Some sessions of which an older version has not noted whether they are unfinished."""
NOTE_UNFINISHED = (
    update(SESSIONS)
    .where(
        SESSIONS.c.key == bindparam("of"),
        SESSIONS.c.last_seq == bindparam("at"),
        SESSIONS.c.unfinished.is_(None),
    )
    .values(unfinished=bindparam("found"))
)

INSERT_EVENTS = insert(EVENTS)
SELECT_EVENTS = (
    select(EVENTS.c.body)
    .join(SESSIONS, SESSIONS.c.key == EVENTS.c.session_key)
    .where(IS_MINE, EVENTS.c.seq > bindparam("since"))
    .order_by(EVENTS.c.seq)
)

SELECT_PAGE = SELECT_EVENTS.add_columns(EVENTS.c.seq).limit(bindparam("limit"))

INSERT_PENDING = insert(PENDING)
SELECT_OPEN = select(PENDING.c.body, PENDING.c.answer, PENDING.c.answered_at).where(
    PENDING.c.session_key == bindparam("of"), IS_OPEN
)
CALL = (
    select(PENDING)
    .join(SESSIONS, SESSIONS.c.key == PENDING.c.session_key)
    .where(_IS_SESSION, PENDING.c.call_id == bindparam("call"))
)
CALLS = (
    select(PENDING, SESSIONS)
    .join(SESSIONS, SESSIONS.c.key == PENDING.c.session_key)
    .where(IS_OPEN, SESSIONS.c.app_name == bindparam("app"))
    .order_by(PENDING.c.session_key, PENDING.c.position, PENDING.c.call_id)
)
SESSION_CALLS = CALLS.where(SESSIONS.c.session_id == bindparam("session"))
ANSWER = (
    update(PENDING)
    .where(
        PENDING.c.session_key == bindparam("of"),
        PENDING.c.call_id == bindparam("call"),
        PENDING.c.answered_at.is_(None),
        or_(PENDING.c.deadline.is_(None), PENDING.c.deadline > bindparam("now")),
        IS_OPEN,
    )
    .values(answered_at=bindparam("now"), answer=bindparam("given"))
)
"""Changes one row for the first answer in time, and none for any other."""
ONE_AT_A_TIME = text("SELECT pg_advisory_xact_lock(hashtext('toolwright_rival_answers'))")
"""On Postgres, until the end of the transaction: answers of which one excludes the others."""
ONE_CHANGES_STATE = text(
    "SELECT pg_advisory_xact_lock(hashtext('toolwright_state'), CAST(:app AS integer))"
)
"""On Postgres, until the end of the transaction: changes to what the sessions of an app share."""
CHANGE = (
    update(PENDING)
    .where(PENDING.c.session_key == bindparam("of"), PENDING.c.call_id == bindparam("call"))
    .values(body=bindparam("now"), deadline=bindparam("until"))
)
USE_ANSWER = (
    update(PENDING)
    .where(PENDING.c.session_key == bindparam("of"), PENDING.c.call_id == bindparam("call"))
    .values(answer=None)
)
"""The log has it now."""
COPY_ANSWERED = (
    update(PENDING)
    .where(PENDING.c.session_key == bindparam("of"), PENDING.c.call_id == bindparam("call"))
    .values(answered_at=bindparam("now"))
)
"""The log that a branch begins with has it."""
CLOSE = (
    update(PENDING)
    .where(PENDING.c.session_key == bindparam("of"), PENDING.c.call_id == bindparam("call"))
    .values(closed=True)
)

# Not by LIKE, which takes `App:` for `app:` on SQLite.
_IS_OF_APP = func.substr(STATE.c.key, 1, 4) == literal("app:", Text)
_IS_OF_USER = func.substr(STATE.c.key, 1, 5) == literal("user:", Text)
IS_STATE_OF_SESSION = and_(
    STATE.c.app_name == bindparam("app"),
    STATE.c.user_id == bindparam("user"),
    STATE.c.session_id == bindparam("session"),
    not_(_IS_OF_APP),
    not_(_IS_OF_USER),
)
SELECT_STATE = select(STATE.c.key, STATE.c.value).where(
    STATE.c.app_name == bindparam("app"),
    STATE.c.user_id.in_(["", bindparam("user", type_=AnyText)]),
    STATE.c.session_id.in_(["", bindparam("session", type_=AnyText)]),
    # The user whose id is empty is nobody else's.
    or_(STATE.c.user_id == bindparam("user", type_=AnyText), _IS_OF_APP),
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
