"""The tables of a session database, the same on SQLite and on Postgres."""

import zlib
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from toolwright.backends.sql._any_text import AnyText

__all__ = ["EVENTS", "METADATA", "PENDING", "SESSIONS", "STATE", "VERSION", "WORKERS"]

VERSION = 4
"""Raise it with every change to the tables below (a test knows their digest). Older databases get new
tables, and new columns at the end of those they have: such a column must be one that may be null."""
METADATA = MetaData()


_LARGE = 1000
"""Of SQLite's pages, which have 4096 bytes, a row this long may leave most of one empty."""


class PackedText(TypeDecorator[str]):
    """Text that comes back byte for byte; SQLite keeps long ones compressed, as Postgres does itself."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        """To the database."""
        if value is None or dialect.name != "sqlite" or len(value) < _LARGE:
            return value
        return zlib.compress(value.encode("utf-8", "surrogatepass"), 1)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        """From the database."""
        if isinstance(value, bytes):
            return zlib.decompress(value).decode("utf-8", "surrogatepass")
        return value


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
    Column("app_name", AnyText, nullable=False),
    Column("session_id", AnyText, nullable=False),
    Column("user_id", AnyText, nullable=False),
    Column("created_at", Float(53), nullable=False),
    Column("updated_at", Float(53), nullable=False),
    Column("last_seq", Integer, nullable=False),
    Column("title", AnyText, nullable=False),
    Column("hold", Text),
    Column("holder", Text),
    Column("held_since", Float(53)),
    Column("unfinished", Boolean),
    UniqueConstraint("app_name", "session_id"),
    Index("toolwright_sessions_latest", "app_name", "user_id", "updated_at"),
    Index("toolwright_sessions_unfinished", "app_name", "unfinished"),
)
"""`hold` is the run that holds the session, `holder` the name under which its process has signed in;
`unfinished` says whether the log does not end with the end of a run; null in rows of an older version,
until somebody looks."""

WORKERS = Table(
    "toolwright_workers",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("machine", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("lease", Float(53), nullable=False),
    Column("beat", Integer, nullable=False),
    Column("started", Text),
    Column("beat_at", Float(53)),
)
"""The processes that hold sessions or tasks. `beat` counts up; others judge by their own clocks
whether it stands still. `beat_at` is the database's clock, which only says when to look closely."""

EVENTS = Table(
    "toolwright_events",
    METADATA,
    _session_key(),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    # Text rather than the database's JSON type: it must come back byte for byte.
    Column("body", PackedText, nullable=False),
)

STATE = Table(
    "toolwright_state",
    METADATA,
    Column("app_name", AnyText, primary_key=True),
    Column("user_id", AnyText, primary_key=True),
    Column("session_id", AnyText, primary_key=True),
    Column("key", AnyText, primary_key=True),
    Column("value", PackedText),
)
"""`app:` keys have no user and no session, `user:` keys no session. A null takes the key away."""

PENDING = Table(
    "toolwright_pending",
    METADATA,
    _session_key(),
    Column("call_id", AnyText, primary_key=True),
    Column("position", Integer),
    Column("body", Text, nullable=False),
    Column("deadline", Float(53)),
    Column("answered_at", Float(53)),
    Column("answer", Text),
    Column("closed", Boolean, nullable=False, default=False),
    Index("toolwright_pending_open", "closed", "session_key"),
)
"""Closed calls stay, so that a late answer is told from an unknown one; their answers do not.
`position` is the order in which a session's calls were asked about."""
