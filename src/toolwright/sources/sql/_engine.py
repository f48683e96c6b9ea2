"""A database behind a SQLAlchemy engine: statements run in threads, and errors are translated."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError

from toolwright.concurrency import in_io_thread, in_user_thread
from toolwright.errors import ToolError
from toolwright.sources.sql._catalog import look
from toolwright.sources.sql._limits import QueryLimits, as_table, shortened

__all__ = ["EngineDatabase", "any_session", "refusals", "run_statement"]

T = TypeVar("T")
_CATALOG_BYTES = 50_000_000
_CHECK_EVERY = 10_000  # SQLite's own instructions, some tenths of a millisecond


@dataclass(frozen=True, slots=True)
class EngineDatabase:
    """One database, with what makes its sessions and what runs a statement from outside."""

    engine: Engine
    limits: QueryLimits
    session: Callable[[Engine, QueryLimits, threading.Event], AbstractContextManager[Connection]]
    """Gives up when the event is set: nobody waits for it any more."""
    run: Callable[[Connection, str, Mapping[str, Any], QueryLimits], dict[str, Any]]

    @property
    def kind(self) -> str:
        """SQLAlchemy's name for what it is."""
        return self.engine.dialect.name

    async def query(self, query: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Run one statement from outside; raises `ToolError` when it is refused."""
        limits = self.limits
        return await self._use(limits, lambda opened: self.run(opened, query, values, limits))

    async def inspect(self, table: str | None, schema: str | None) -> dict[str, Any]:
        """The names of the tables and views, or what `table` is made of."""
        limits = replace(self.limits, bytes=_CATALOG_BYTES)
        return await self._use(limits, lambda opened: look(opened, table, schema))

    async def close(self) -> None:
        """Close the connections."""
        await in_io_thread(self.engine.dispose)

    async def _use(self, limits: QueryLimits, work: Callable[[Connection], T]) -> T:
        abandoned = threading.Event()

        def use() -> T:
            with refusals(self.engine), self.session(self.engine, limits, abandoned) as opened:
                return work(opened)

        return await in_user_thread(use, on_abandon=lambda started: abandoned.set())


@contextmanager
def refusals(engine: Engine) -> Iterator[None]:
    """What the database says, told to the model without the statement and its values."""
    try:
        yield
    except NoSuchTableError as error:
        name = str(error).strip("`")
        raise ToolError(f"There is no table {name!r}; sql_list_tables shows them.") from error
    except (SQLAlchemyError, engine.dialect.loaded_dbapi.Error, UnicodeError) as error:
        reason = str(getattr(error, "orig", None) or error).strip()
        raise ToolError(f"The database refused: {shortened(reason)}") from error


@contextmanager
def any_session(
    engine: Engine, limits: QueryLimits, abandoned: threading.Event
) -> Iterator[Connection]:
    """A transaction that may write, on a database that only SQLAlchemy knows how to limit."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            deadline = time.monotonic() + limits.seconds
            driver: Any = connection.connection.driver_connection
            driver.set_progress_handler(
                lambda: abandoned.is_set() or time.monotonic() > deadline, _CHECK_EVERY
            )
        yield connection
        connection.commit()


def run_statement(
    connection: Connection, query: str, values: Mapping[str, Any], limits: QueryLimits
) -> dict[str, Any]:
    """Run any statement, which may write."""
    result = connection.execute(text(query), dict(values))
    if not result.returns_rows:
        return {"changed_rows": result.rowcount}
    shown = as_table(list(result.keys()), result, limits)
    result.close()
    return shown
