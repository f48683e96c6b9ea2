"""Sessions in a SQL database: SQLite in a file, or Postgres."""

from toolwright.backends.sql._any_text import AnyText
from toolwright.backends.sql._database import Database
from toolwright.backends.sql._store import SqlStore

__all__ = ["AnyText", "Database", "SqlStore"]
