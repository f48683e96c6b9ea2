"""The addresses of SQL databases: which are taken, and how they are shown."""

from toolwright.errors import UsageError
from toolwright.messages import redact

try:
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import SQLAlchemyError
except ImportError as error:
    raise ImportError("SQL stores need an extra: pip install 'toolwright[sql]'") from error

__all__ = ["driver_url", "shown"]


def driver_url(url: str) -> URL:
    """The address with its driver; `UsageError` unless it is SQLite or Postgres."""
    if url == "memory://":
        return URL.create("sqlite", database=":memory:")
    try:
        parsed = make_url(url)
    except (SQLAlchemyError, ValueError) as error:
        raise UsageError(f"{redact(url)!r} is not a database address: {error}.") from error
    if parsed.drivername in ("postgres", "postgresql", "postgresql+psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername != "sqlite":
        raise UsageError(
            f"{parsed.drivername!r} databases are not supported; "
            "use 'sqlite:///file.db' or 'postgresql://user@host/name'."
        )
    if parsed.host or parsed.database in (None, "", ":memory:"):
        raise UsageError(
            f"{url!r} names no file: write 'sqlite:///file.db' for one in the working directory, "
            "'sqlite:////path/to/file.db' for an absolute path, 'memory://' for none."
        )
    if parsed.query:
        raise UsageError(
            f"SQLite addresses take no options; got {', '.join(parsed.query)} in {url!r}."
        )
    return parsed


def shown(url: URL) -> str:
    """The address as people wrote it, without its password."""
    return url.set(drivername=url.get_backend_name()).render_as_string()
