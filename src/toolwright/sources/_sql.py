"""Tools over any SQL database: list its tables, describe one, and query with bound parameters."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Annotated, Any, TypeVar

from pydantic import Field

from toolwright.concurrency import in_io_thread, in_user_thread
from toolwright.errors import ToolError, UsageError
from toolwright.messages import Effects
from toolwright.sources._sql_guard import open_engine, query_options, query_text, transaction
from toolwright.tools import FunctionTool, ReadonlyContext, ToolFilter, Toolset

try:
    from sqlalchemy import Connection, inspect, text
    from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError
except ImportError as error:
    raise ImportError("SQL tools need an extra: pip install 'toolwright[sql]'") from error

__all__ = ["SqlToolset"]

T = TypeVar("T")
_Parameters = Annotated[
    dict[str, Any] | None, Field(description="Values for the :names in the query.")
]
_SchemaName = Annotated[str | None, Field(description="A database schema other than the default.")]


class SqlToolset(Toolset):
    """`sql_list_tables`, `sql_describe_table` and `sql_query` over one database.

    With `read_only` (the default) the database itself refuses to change anything; that holds
    whatever the query says. Give Postgres and MySQL an account that may do no more than it needs,
    as for any program: being read-only does not hide what the account can read.
    """

    def __init__(
        self,
        url: str,
        *,
        read_only: bool = True,
        max_rows: int = 100,
        timeout: float = 30.0,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
    ) -> None:
        """Prepare the toolset; nothing is connected to yet.

        Args:
            url: `sqlite:///shop.db`, `postgresql://…` or `mysql://…`, as SQLAlchemy writes it.
            read_only: Have the database refuse everything but reading.
            max_rows: Rows a query gives at most; the model is told when there are more.
            timeout: Seconds after which the database ends a query.
            tool_filter: Names to keep, or a predicate.
            tool_name_prefix: Put before every tool's name.
        """
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        if max_rows < 1 or timeout <= 0:
            raise UsageError(
                f"max_rows and timeout must be positive; got {max_rows!r} and {timeout!r}."
            )
        self._engine = open_engine(url, read_only=read_only)
        self._read_only = read_only
        self._max_rows = max_rows
        self._timeout = timeout

    async def get_tools(
        self, readonly_context: ReadonlyContext | None = None
    ) -> list[FunctionTool]:
        """The three tools."""
        return self._tools

    async def close(self) -> None:
        """Close the connections."""
        await in_io_thread(self._engine.dispose)

    @cached_property
    def _tools(self) -> list[FunctionTool]:
        effects: Effects = "read" if self._read_only else "destructive"
        kind = self._engine.dialect.name
        may = "Only reading is allowed" if self._read_only else "It may change data"
        return [
            FunctionTool(self._list, name="sql_list_tables", effects="read", idempotent=True),
            FunctionTool(
                self._describe, name="sql_describe_table", effects="read", idempotent=True
            ),
            FunctionTool(
                self._query,
                name="sql_query",
                effects=effects,
                idempotent=self._read_only,
                description=f"Run one {kind} statement. {may}. At most {self._max_rows} rows come "
                "back. Put values in as :name and give them in parameters.",
            ),
        ]

    async def _list(self, schema: _SchemaName = None) -> dict[str, Any]:
        """List the tables and views of the database."""

        def look(connection: Connection) -> dict[str, Any]:
            found = inspect(connection)
            return {
                "tables": found.get_table_names(schema=schema),
                "views": found.get_view_names(schema=schema),
            }

        return await self._run(look)

    async def _describe(self, table: str, schema: _SchemaName = None) -> dict[str, Any]:
        """Describe a table or view: its columns, keys and indexes."""
        return await self._run(lambda connection: _description(connection, table, schema))

    async def _query(self, query: str, parameters: _Parameters = None) -> dict[str, Any]:
        """Run one statement."""

        def ask(connection: Connection) -> dict[str, Any]:
            statement = text(query_text(self._engine, query, read_only=self._read_only))
            options = query_options(self._engine, read_only=self._read_only)
            result = connection.execute(statement, parameters or {}, execution_options=options)
            if not result.returns_rows:
                return {"changed_rows": result.rowcount}
            rows = result.fetchmany(self._max_rows + 1)
            names = _unique_names(list(result.keys()))
            result.close()
            shown = [dict(zip(names, row, strict=True)) for row in rows[: self._max_rows]]
            return {"columns": names, "rows": shown, "truncated": len(rows) > self._max_rows}

        return await self._run(ask)

    async def _run(self, work: Callable[[Connection], T]) -> T:
        return await in_user_thread(partial(self._in_transaction, work))

    def _in_transaction(self, work: Callable[[Connection], T]) -> T:
        try:
            with transaction(
                self._engine,
                read_only=self._read_only,
                seconds=self._timeout,
                max_rows=self._max_rows,
            ) as connection:
                return work(connection)
        except NoSuchTableError as error:
            name = str(error).strip("`")
            raise ToolError(f"There is no table {name!r}; sql_list_tables shows them.") from error
        except SQLAlchemyError as error:
            raise ToolError(f"The database refused: {_reason(error)}") from error


def _description(connection: Connection, table: str, schema: str | None) -> dict[str, Any]:
    found = inspect(connection)
    return {
        "table": table,
        "columns": [_column(column) for column in found.get_columns(table, schema=schema)],
        "primary_key": found.get_pk_constraint(table, schema=schema)["constrained_columns"],
        "foreign_keys": [
            {"columns": key["constrained_columns"], "to": key["referred_table"],
             "to_columns": key["referred_columns"]}
            for key in found.get_foreign_keys(table, schema=schema)
        ],
        "indexes": [
            {"columns": index["column_names"], "unique": bool(index["unique"])}
            for index in found.get_indexes(table, schema=schema)
        ],
    }  # fmt: skip


def _column(column: Any) -> dict[str, Any]:
    told = {"name": column["name"], "type": str(column["type"]), "nullable": column["nullable"]}
    extras = {key: column[key] for key in ("default", "comment") if column.get(key) is not None}
    return told | extras


def _unique_names(names: list[str]) -> list[str]:
    """Column names that can be keys: `SELECT a.id, b.id` gives `id` and `id_2`."""
    taken: list[str] = []
    for name in names:
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name}_{number}", number + 1
        taken.append(unique)
    return taken


def _reason(error: SQLAlchemyError) -> str:
    """What the database said, without the statement and its values."""
    return str(getattr(error, "orig", None) or error).strip()
