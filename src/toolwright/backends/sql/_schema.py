"""The tables of a session database, the same on SQLite and on Postgres."""

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["EVENTS", "METADATA", "PENDING", "SESSIONS", "STATE", "VERSION"]

VERSION = 1
"""Raise it with every change to the tables below."""
METADATA = MetaData()


def _session_key() -> Column[int]:
    return Column(
        "session_key",
        ForeignKey("toolwright_sessions.key", ondelete="CASCADE"),
        primary_key=True,
    )


SESSIONS = Table(
    "toolwright_sessions",
    METADATA,
    Column("key", Integer, Identity(), primary_key=True),
    Column("app_name", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("updated_at", Float(53), nullable=False),
    Column("last_seq", Integer, nullable=False),
    Column("title", Text, nullable=False),
    UniqueConstraint("app_name", "session_id"),
    Index("toolwright_sessions_latest", "app_name", "user_id", "updated_at"),
)

EVENTS = Table(
    "toolwright_events",
    METADATA,
    _session_key(),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    # Text rather than the database's JSON type: it must come back byte for byte.
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)

STATE = Table(
    "toolwright_state",
    METADATA,
    Column("app_name", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
    Column("session_id", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", Text),
    sqlite_with_rowid=False,
)
"""`app:` keys have no user and no session, `user:` keys no session. A null takes the key away."""

PENDING = Table(
    "toolwright_pending",
    METADATA,
    _session_key(),
    Column("call_id", Text, primary_key=True),
    Column("body", Text, nullable=False),
    Column("deadline", Float(53)),
    Column("answered_at", Float(53)),
    Column("answer", Text),
    Column("closed", Boolean, nullable=False, default=False),
    Index("toolwright_pending_open", "closed", "session_key"),
)
"""Closed calls stay, so that a late answer is told from an unknown one; their answers do not."""
