"""Cloud Spanner as tools: look at its tables, query them, and find rows by meaning."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from toolwright._sealed import sealed
from toolwright.errors import ToolError, UsageError
from toolwright.sources.cloud._calls import cloud_tool
from toolwright.sources.cloud._credentials import GoogleCredentialsConfig
from toolwright.sources.cloud._spanner_client import DatabaseName, Rows, SpannerReader, identifier
from toolwright.tools import FunctionTool, ReadonlyContext, ToolFilter, Toolset

__all__ = ["QueryResultMode", "SpannerToolSettings", "SpannerToolset"]

_ProjectId = Annotated[str, Field(description="The Google Cloud project.")]
_InstanceId = Annotated[str, Field(description="The Spanner instance.")]
_DatabaseId = Annotated[str, Field(description="The Spanner database.")]
_SchemaName = Annotated[str, Field(description="A named schema; empty for the default one.")]
_DEFAULT_SCHEMAS = ("", "public")
_EMBED = (
    "SELECT embeddings.values FROM ML.PREDICT(MODEL {model}, "
    "(SELECT CAST({{0}} AS STRING) AS content))"
)
_EMBED_POSTGRES = (
    "SELECT (spanner.ML_PREDICT_ROW({1}::TEXT, {0}::JSONB)"
    "->'predictions'->0->'embeddings'->'values')::TEXT"
)


class QueryResultMode(StrEnum):
    """How rows are shown: as lists of values, or as objects by column."""

    DEFAULT = "default"
    DICT_LIST = "dict_list"


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class SpannerToolSettings:
    """What queries may cost and how their results look."""

    max_executed_query_result_rows: int = 50
    query_result_mode: QueryResultMode = QueryResultMode.DEFAULT
    embed_text: Callable[[str], Sequence[float]] | None = None
    """Makes the vector for a similarity search; without it a model in the database does."""
    timeout: float = 60.0
    """Seconds for a call, further tries included."""


class SpannerToolset(Toolset):
    """`spanner_list_table_names`, `spanner_get_table_schema`, `spanner_execute_sql` and more.

    All of them read in a snapshot; Spanner refuses to write there. `SPANNER_EMULATOR_HOST` is
    respected, as by the client library itself.
    """

    def __init__(
        self,
        *,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
        credentials_config: GoogleCredentialsConfig | None = None,
        spanner_tool_settings: SpannerToolSettings | None = None,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        self._settings = spanner_tool_settings or SpannerToolSettings()
        if self._settings.max_executed_query_result_rows < 1:
            most = self._settings.max_executed_query_result_rows
            raise UsageError(f"max_executed_query_result_rows must be positive; got {most!r}.")
        self._reader = SpannerReader(credentials_config, self._settings.timeout)

    async def get_tools(
        self, readonly_context: ReadonlyContext | None = None
    ) -> list[FunctionTool]:
        """The tools, all of which only read."""
        return self._tools

    async def close(self) -> None:
        """Close the connections."""
        self._reader.close()

    @cached_property
    def _tools(self) -> list[FunctionTool]:
        calls: dict[str, Callable[..., Any]] = {
            "list_table_names": self._list_table_names,
            "list_named_schemas": self._list_named_schemas,
            "list_table_indexes": self._list_table_indexes,
            "list_table_index_columns": self._list_table_index_columns,
            "get_table_schema": self._get_table_schema,
            "execute_sql": self._execute_sql,
            "similarity_search": self._similarity_search,
        }
        limit = self._settings.timeout
        return [cloud_tool(call, f"spanner_{name}", "read", limit) for name, call in calls.items()]

    # -- what there is ----------------------------------------------------------------------

    def _list_table_names(
        self, project_id: _ProjectId, instance_id: _InstanceId, database_id: _DatabaseId,
        named_schema: _SchemaName = "",
    ) -> list[str]:  # fmt: skip
        """List the tables of a Spanner database."""
        rows = self._reader.query(
            DatabaseName(project_id, instance_id, database_id),
            "SELECT table_schema, table_name FROM information_schema.tables ORDER BY table_name",
        )
        wanted = (named_schema,) if named_schema else _DEFAULT_SCHEMAS
        return [table for schema, table in rows.values if schema in wanted]

    def _list_named_schemas(
        self, project_id: _ProjectId, instance_id: _InstanceId, database_id: _DatabaseId
    ) -> list[str]:
        """List the named schemas of a Spanner database."""
        rows = self._reader.query(
            DatabaseName(project_id, instance_id, database_id),
            "SELECT schema_name FROM information_schema.schemata ORDER BY schema_name",
        )
        own = ("information_schema", "spanner_sys", "pg_catalog", *_DEFAULT_SCHEMAS)
        return [name for (name,) in rows.values if name.lower() not in own]

    def _list_table_indexes(
        self, project_id: _ProjectId, instance_id: _InstanceId, database_id: _DatabaseId,
        table_name: str,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """List the indexes of a table in a Spanner database."""
        rows = self._reader.query(
            DatabaseName(project_id, instance_id, database_id),
            "SELECT index_name, index_type, is_unique, is_null_filtered "
            "FROM information_schema.indexes WHERE table_name = {0}",
            [table_name],
        )
        return _as_objects(rows)

    def _list_table_index_columns(
        self, project_id: _ProjectId, instance_id: _InstanceId, database_id: _DatabaseId,
        table_name: str,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """List the columns of the indexes of a table in a Spanner database."""
        rows = self._reader.query(
            DatabaseName(project_id, instance_id, database_id),
            "SELECT index_name, column_name, ordinal_position, column_ordering, is_nullable "
            "FROM information_schema.index_columns WHERE table_name = {0} "
            "ORDER BY index_name, ordinal_position",
            [table_name],
        )
        return _as_objects(rows)

    def _get_table_schema(
        self, project_id: _ProjectId, instance_id: _InstanceId, database_id: _DatabaseId,
        table_name: str, named_schema: _SchemaName = "",
    ) -> dict[str, Any]:  # fmt: skip
        """Describe a table of a Spanner database: its columns and its primary key."""
        name = DatabaseName(project_id, instance_id, database_id)
        rows = self._reader.query(
            name,
            "SELECT table_schema, column_name, spanner_type, is_nullable, column_default "
            "FROM information_schema.columns WHERE table_name = {0} ORDER BY ordinal_position",
            [table_name],
        )
        wanted = (named_schema,) if named_schema else _DEFAULT_SCHEMAS
        columns = [column for column in _as_objects(rows) if column.pop("table_schema") in wanted]
        if not columns:
            raise ToolError(
                f"There is no table {table_name!r}; spanner_list_table_names shows them."
            )
        keys = self._reader.query(
            name,
            "SELECT table_schema, column_name FROM information_schema.index_columns "
            "WHERE table_name = {0} AND index_type = 'PRIMARY_KEY' ORDER BY ordinal_position",
            [table_name],
        )
        primary = [column for schema, column in keys.values if schema in wanted]
        return {"table": table_name, "columns": columns, "primary_key": primary}

    # -- what is in it ----------------------------------------------------------------------

    def _execute_sql(
        self, project_id: _ProjectId, instance_id: _InstanceId, database_id: _DatabaseId, query: str
    ) -> dict[str, Any]:
        """Run a SQL query that reads from a Spanner database."""
        most = self._settings.max_executed_query_result_rows
        name = DatabaseName(project_id, instance_id, database_id)
        return self._shown(self._reader.query(name, query, limit=most))

    def _similarity_search(
        self, project_id: _ProjectId, instance_id: _InstanceId, database_id: _DatabaseId,
        table_name: str, query: Annotated[str, Field(description="What to look for, in words.")],
        embedding_column: Annotated[str, Field(description="The column with the vectors.")],
        columns: Annotated[list[str], Field(description="The columns to show.", min_length=1)],
        embedding_model: Annotated[
            str | None, Field(description="The model, or its endpoint, that made the vectors.")
        ] = None,
        top_k: Annotated[int, Field(ge=1, le=100)] = 5,
        distance_type: Literal["COSINE", "EUCLIDEAN", "DOT_PRODUCT"] = "COSINE",
    ) -> dict[str, Any]:  # fmt: skip
        """Find the rows of a table in a Spanner database that are closest in meaning to a text."""
        name = DatabaseName(project_id, instance_id, database_id)
        vector = self._embed(name, query, embedding_model)
        dialect = self._reader.dialect(name)
        shown = ", ".join(identifier(column, dialect) for column in columns)
        function = ("spanner." if dialect == "POSTGRESQL" else "") + (
            "DOT_PRODUCT" if distance_type == "DOT_PRODUCT" else f"{distance_type}_DISTANCE"
        )
        order = "DESC" if distance_type == "DOT_PRODUCT" else "ASC"
        statement = (
            f"SELECT {shown}, {function}({identifier(embedding_column, dialect)}, {{0}}) AS distance "
            f"FROM {identifier(table_name, dialect)} ORDER BY distance {order} LIMIT {top_k}"
        )
        return self._shown(self._reader.query(name, statement, [vector]))

    def _embed(self, name: DatabaseName, text: str, model: str | None) -> list[float]:
        if self._settings.embed_text is not None:
            return [float(number) for number in self._settings.embed_text(text)]
        if model is None:
            raise ToolError("Give embedding_model: the model in the database that makes vectors.")
        if self._reader.dialect(name) == "POSTGRESQL":
            asked = json.dumps({"instances": [{"content": text}]}, ensure_ascii=False)
            rows = self._reader.query(name, _EMBED_POSTGRES, [asked, model]).values
            vector = json.loads(rows[0][0]) if rows and rows[0][0] is not None else None
        else:
            quoted = identifier(model, "GOOGLE_STANDARD_SQL")
            rows = self._reader.query(name, _EMBED.format(model=quoted), [text]).values
            vector = rows[0][0] if rows else None
        if not vector:
            raise ToolError(f"The model {model!r} made no vector of {text!r}.")
        return [float(number) for number in vector]

    def _shown(self, rows: Rows) -> dict[str, Any]:
        as_objects = self._settings.query_result_mode is QueryResultMode.DICT_LIST
        values: list[Any] = _as_objects(rows) if as_objects else rows.values
        return {"columns": rows.columns, "rows": values, "truncated": rows.truncated}


def _as_objects(rows: Rows) -> list[dict[str, Any]]:
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.values]
