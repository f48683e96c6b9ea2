"""Tools over any SQL database: list its tables, describe one, and query with bound parameters."""

from collections.abc import Collection
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from toolwright.errors import UsageError
from toolwright.messages import Effects
from toolwright.sources.sql._limits import QueryLimits
from toolwright.sources.sql._open import open_database
from toolwright.tools import FunctionTool, ReadonlyContext, ToolFilter, Toolset

__all__ = ["SqlToolset"]

_Parameters = Annotated[
    dict[str, Any] | None, Field(description="Values for the :names in the query.")
]
_SchemaName = Annotated[str | None, Field(description="A database schema other than the default.")]


class SqlToolset(Toolset):
    """`sql_list_tables`, `sql_describe_table` and `sql_query` over one database.

    With `read_only` (the default) a query can change nothing: no data, and on Postgres and SQLite
    no locks, settings, sessions or files either. Give Postgres and MySQL an account that may do no
    more than it needs: being read-only does not hide what the account can read.
    """

    def __init__(
        self,
        url: str,
        *,
        read_only: bool = True,
        allow_superuser: bool = False,
        allow_functions: Collection[str] = (),
        max_rows: int = 100,
        max_cell_chars: int = 10_000,
        max_bytes: int = 2_000_000,
        timeout: float = 30.0,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
    ) -> None:
        """Prepare the toolset; nothing is connected to yet.

        Args:
            url: `sqlite:///shop.db`, `postgresql://…` or `mysql://…`, as SQLAlchemy writes it.
            read_only: Have the database refuse everything but reading.
            allow_superuser: Take a Postgres account that can reach the server's files, programs
                or other sessions: a superuser, one that replicates or makes roles, a member of
                roles such as `pg_read_server_files`.
            allow_functions: Names of Postgres functions, with or without their schema, that
                queries may call although they are not declared `STABLE` or `IMMUTABLE`.
            max_rows: Rows a query gives at most; the model is told when there are more.
            max_cell_chars: Characters of one value; of a longer one the model sees the start.
            max_bytes: What a query gives in all; reading stops there.
            timeout: Seconds after which the database ends a query.
            tool_filter: Names to keep, or a predicate.
            tool_name_prefix: Put before every tool's name.
        """
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        if min(max_rows, max_cell_chars, max_bytes, timeout) <= 0:
            raise UsageError(
                "max_rows, max_cell_chars, max_bytes and timeout must be positive; got "
                f"{max_rows!r}, {max_cell_chars!r}, {max_bytes!r} and {timeout!r}."
            )
        self._database = open_database(
            url,
            QueryLimits(rows=max_rows, cell=max_cell_chars, bytes=max_bytes, seconds=timeout),
            read_only=read_only,
            allow_superuser=allow_superuser,
            functions=allow_functions,
        )
        self._read_only = read_only
        self._max_rows = max_rows

    async def get_tools(
        self, readonly_context: ReadonlyContext | None = None
    ) -> list[FunctionTool]:
        """The three tools."""
        return self._tools

    async def close(self) -> None:
        """Close the connections."""
        await self._database.close()

    @cached_property
    def _tools(self) -> list[FunctionTool]:
        effects: Effects = "read" if self._read_only else "destructive"
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
                description=f"Run one {self._database.kind} statement. {may}. At most "
                f"{self._max_rows} rows come back. Put values in as :name and give them in "
                "parameters.",
            ),
        ]

    async def _list(self, schema: _SchemaName = None) -> dict[str, Any]:
        """List the tables and views of the database."""
        return await self._database.inspect(None, schema)

    async def _describe(self, table: str, schema: _SchemaName = None) -> dict[str, Any]:
        """Describe a table or view: its columns, keys and indexes."""
        return await self._database.inspect(table, schema)

    async def _query(self, query: str, parameters: _Parameters = None) -> dict[str, Any]:
        """Run one statement."""
        return await self._database.query(query, parameters or {})
