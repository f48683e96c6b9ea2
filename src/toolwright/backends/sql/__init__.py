"""Sessions in a SQL database: SQLite in a file, or Postgres."""

from toolwright.backends._processes import new_name
from toolwright.backends.sql._address import POSTGRES_OPTIONS
from toolwright.backends.sql._any_text import AnyText
from toolwright.backends.sql._database import GONE, Database
from toolwright.backends.sql._heartbeat import Heartbeat
from toolwright.backends.sql._roll import BEATS_PER_LEASE, LOOKS_PER_LEASE, Roll
from toolwright.backends.sql._rows import answer_text
from toolwright.backends.sql._schema import WORKERS
from toolwright.backends.sql._store import SqlStore

__all__ = [
    "BEATS_PER_LEASE",
    "GONE",
    "LOOKS_PER_LEASE",
    "POSTGRES_OPTIONS",
    "WORKERS",
    "AnyText",
    "Database",
    "Heartbeat",
    "Roll",
    "SqlStore",
    "answer_text",
    "new_name",
]
