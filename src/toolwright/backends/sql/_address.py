"""The addresses of SQL databases: which are taken, and how they are shown."""

from collections.abc import Mapping
from typing import Any

from toolwright._expected import shown_address_of
from toolwright.backends._sqlite_address import sqlite_address, sqlite_path
from toolwright.errors import UsageError

try:
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import SQLAlchemyError
except ImportError as error:
    raise ImportError("SQL stores need an extra: pip install 'toolwright[sql]'") from error

__all__ = ["POSTGRES_OPTIONS", "driver_url", "shown"]

POSTGRES_OPTIONS: Mapping[str, Any] = {
    "connect_timeout": 5,
    # What was sent and is not acknowledged, in milliseconds.
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
}
"""Given to every connection, unless its address says otherwise."""


def driver_url(url: str) -> URL:
    """The address with its driver; `UsageError` unless it is SQLite or Postgres."""
    if url == "memory://":
        return URL.create("sqlite", database=":memory:")
    # Not by way of SQLAlchemy, whose versions read quoted characters differently.
    if (path := sqlite_path(url)) is not None:
        return URL.create("sqlite", database=str(path))
    try:
        parsed = make_url(url)
    except (SQLAlchemyError, ValueError) as error:
        raise UsageError(f"{shown_address_of(url)!r} is not a database address.") from error
    if parsed.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    raise UsageError(
        f"{parsed.drivername!r} databases are not supported; "
        "use 'sqlite:///file.db' or 'postgresql://user@host/name'."
    )


def shown(url: URL) -> str:
    """The address as people wrote it, without its password."""
    if url.database == ":memory:":
        return "memory://"
    if url.get_backend_name() == "sqlite":
        return sqlite_address(url.database or "")
    return url.set(drivername="postgresql").render_as_string()
