"""Spanner tools, with the official client against a server of its published protocol."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.api_core.exceptions import DeadlineExceeded
from google.cloud.spanner_v1 import types
from google.protobuf import empty_pb2
from inline_snapshot import snapshot
from tests.sources.cloud._calling import ask, told
from tests.sources.cloud._grpc import Rpc, serving

from toolwright.errors import UsageError
from toolwright.sources import QueryResultMode, SpannerToolset, SpannerToolSettings
from toolwright.sources.cloud._calls import Deadline

pytestmark = pytest.mark.anyio

WHERE = {"project_id": "p", "instance_id": "i", "database_id": "d"}


class FakeSpanner:
    """Spanner's protocol over an SQLite database that has the same information schema."""

    def __init__(self, dialect: str = "GOOGLE_STANDARD_SQL") -> None:
        self.asked: list[types.ExecuteSqlRequest] = []
        self.database = sqlite3.connect(":memory:", check_same_thread=False)
        self.database.execute("ATTACH ':memory:' AS information_schema")
        self.database.create_function("COSINE_DISTANCE", 2, lambda column, vector: abs(column - 2))
        schema = "public" if dialect == "POSTGRESQL" else ""
        tables: dict[str, list[tuple[Any, ...]]] = {
            "database_options": [("option_name", "option_value"), ("database_dialect", dialect)],
            "tables": [("table_schema", "table_name"), (schema, "pets"), ("shop", "orders")],
            "schemata": [("schema_name",), ("",), ("shop",), ("INFORMATION_SCHEMA",)],
            "columns": [
                ("table_schema", "table_name", "column_name", "spanner_type", "is_nullable",
                 "column_default", "ordinal_position"),
                (schema, "pets", "id", "INT64", "NO", None, 1),
                (schema, "pets", "name", "STRING(MAX)", "YES", None, 2)],
            "index_columns": [
                ("table_schema", "table_name", "index_name", "index_type", "column_name",
                 "ordinal_position", "column_ordering", "is_nullable"),
                ("archive", "pets", "PRIMARY_KEY", "PRIMARY_KEY", "day", 1, "ASC", "NO"),
                (schema, "pets", "PRIMARY_KEY", "PRIMARY_KEY", "id", 1, "ASC", "NO")],
            "indexes": [("table_name", "index_name", "index_type", "is_unique", "is_null_filtered"),
                        ("pets", "PRIMARY_KEY", "PRIMARY_KEY", True, False)],
        }  # fmt: skip
        for name, (columns, *rows) in tables.items():
            self._fill(f"information_schema.{name}", columns, rows)
        self._fill("pets", ("id", "name"), [(n, f"pet {n}") for n in range(5)])

    def _fill(self, table: str, columns: tuple[str, ...], rows: list[Any]) -> None:
        self.database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        marks = ", ".join("?" * len(columns))
        self.database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def create_session(self, request: types.CreateSessionRequest, context: Any) -> types.Session:
        session = types.Session(request.session)
        session.name = f"{request.database}/sessions/1"
        return session

    def batch(self, request: types.BatchCreateSessionsRequest, context: Any) -> Any:
        name = f"{request.database}/sessions/1"
        return types.BatchCreateSessionsResponse(session=[types.Session(name=name)])

    def delete_session(self, request: Any, context: Any) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def execute(
        self, request: types.ExecuteSqlRequest, context: grpc.ServicerContext
    ) -> Iterator[types.PartialResultSet]:
        self.asked.append(request)
        if not request.transaction.single_use.read_only and not request.transaction.id:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not read-only")
        params = {key: _plain(value) for key, value in (request.params or {}).items()}
        sql = request.sql.replace("@p", ":p").replace("$1", ":p1").replace("$2", ":p2")
        try:
            cursor = self.database.execute(sql, params)
        except sqlite3.Error as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        if cursor.description is None:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "DML needs a read-write transaction.")
        rows = cursor.fetchall()
        kinds = [_kind(row) for row in zip(*rows, strict=True)] if rows else []
        fields = [
            types.StructType.Field(name=column[0], type_=types.Type(code=kind))
            for column, kind in zip(
                cursor.description,
                kinds or [types.TypeCode.STRING] * len(cursor.description),
                strict=True,
            )
        ]
        metadata = types.ResultSetMetadata(row_type=types.StructType(fields=fields))
        # One row per message: the client has to put results together.
        yield types.PartialResultSet(metadata=metadata, resume_token=b"0")
        for number, row in enumerate(rows):
            yield _part(row, str(number + 1).encode())


def _part(row: tuple[Any, ...], token: bytes) -> Any:
    part = types.PartialResultSet.pb(types.PartialResultSet(resume_token=token))
    for value in row:
        if value is None:
            part.values.add(null_value=0)
        else:
            part.values.add(string_value=str(value))
    return part


def _kind(column: tuple[Any, ...]) -> types.TypeCode:
    value = next((v for v in column if v is not None), "")
    return types.TypeCode.INT64 if isinstance(value, int) else types.TypeCode.STRING


def _plain(value: Any) -> Any:
    return str(list(value)) if not isinstance(value, str | int | float) else value


@pytest.fixture(params=["GOOGLE_STANDARD_SQL", "POSTGRESQL"])
def server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeSpanner]:
    fake = FakeSpanner(request.param)
    methods = {
        "CreateSession": Rpc(types.CreateSessionRequest, types.Session, fake.create_session),
        "BatchCreateSessions": Rpc(
            types.BatchCreateSessionsRequest, types.BatchCreateSessionsResponse, fake.batch
        ),
        "DeleteSession": Rpc(types.DeleteSessionRequest, empty_pb2.Empty, fake.delete_session),
        "ExecuteStreamingSql": Rpc(
            types.ExecuteSqlRequest, types.PartialResultSet, fake.execute, streaming=True
        ),
    }
    with serving({"google.spanner.v1.Spanner": methods}) as address:
        monkeypatch.setenv("SPANNER_EMULATOR_HOST", address)
        yield fake


@pytest.fixture
async def toolset(server: FakeSpanner) -> Any:
    toolset = SpannerToolset()
    yield toolset
    await toolset.close()


async def test_tables_and_schemas_are_listed(toolset: SpannerToolset) -> None:
    assert await told(toolset, "spanner_list_table_names", **WHERE) == ["pets"]
    assert await told(toolset, "spanner_list_table_names", **WHERE, named_schema="shop") == [
        "orders"
    ]
    assert await told(toolset, "spanner_list_named_schemas", **WHERE) == ["shop"]


async def test_a_table_is_described_with_its_key_and_indexes(toolset: SpannerToolset) -> None:
    described = await told(toolset, "spanner_get_table_schema", **WHERE, table_name="pets")
    assert described["primary_key"] == ["id"]
    assert described["columns"][0] == snapshot(
        {"column_name": "id", "spanner_type": "INT64", "is_nullable": "NO", "column_default": None}
    )
    indexes = await told(toolset, "spanner_list_table_indexes", **WHERE, table_name="pets")
    assert indexes[0]["index_name"] == "PRIMARY_KEY"
    columns = await told(toolset, "spanner_list_table_index_columns", **WHERE, table_name="pets")
    assert columns[-1]["column_name"] == "id"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_table_names", {}),
        ("list_named_schemas", {}),
        ("list_table_indexes", {"table_name": "pets"}),
        ("list_table_index_columns", {"table_name": "pets"}),
        ("get_table_schema", {"table_name": "pets"}),
        ("execute_sql", {"query": "SELECT 1"}),
        (
            "similarity_search",
            {"table_name": "pets", "query": "cat", "embedding_column": "id", "columns": ["name"],
             "embedding_model": "m"},
        ),
    ],
)  # fmt: skip
async def test_every_query_has_a_deadline(
    toolset: SpannerToolset,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: dict[str, Any],
) -> None:
    def time_is_up(self: Any, func: Any, on_error: Any = None) -> Any:
        def refused(*args: Any, **kwargs: Any) -> None:
            raise DeadlineExceeded("time is up")

        return refused

    monkeypatch.setattr(Deadline, "__call__", time_is_up)
    result = await ask(toolset, f"spanner_{name}", **WHERE, **arguments)
    assert result.text.startswith("DEADLINE_EXCEEDED: time is up")


async def test_a_table_that_is_not_there_is_told(toolset: SpannerToolset) -> None:
    result = await ask(toolset, "spanner_get_table_schema", **WHERE, table_name="x'; --")
    assert (result.status, "spanner_list_table_names" in result.text) == ("error", True)


async def test_rows_are_capped_and_shown_in_the_chosen_mode(server: FakeSpanner) -> None:
    query = "SELECT id, name FROM pets ORDER BY id"
    as_lists = SpannerToolset(
        spanner_tool_settings=SpannerToolSettings(max_executed_query_result_rows=2)
    )
    assert await told(as_lists, "spanner_execute_sql", **WHERE, query=query) == snapshot(
        {"columns": ["id", "name"], "rows": [[0, "pet 0"], [1, "pet 1"]], "truncated": True}
    )
    as_objects = SpannerToolset(
        spanner_tool_settings=SpannerToolSettings(query_result_mode=QueryResultMode.DICT_LIST)
    )
    shown = await told(as_objects, "spanner_execute_sql", **WHERE, query=f"{query} LIMIT 1")
    assert (shown["rows"], shown["truncated"]) == ([{"id": 0, "name": "pet 0"}], False)
    await as_lists.close()
    await as_objects.close()


async def test_queries_run_in_a_read_only_transaction_and_refusals_are_told(
    toolset: SpannerToolset, server: FakeSpanner
) -> None:
    result = await ask(toolset, "spanner_execute_sql", **WHERE, query="SELECT * FROM nowhere")
    assert result.status == "error"
    assert result.text.startswith("INVALID_ARGUMENT: no such table")
    assert server.asked[-1].transaction.single_use.read_only


async def test_similar_rows_are_found_with_bound_vectors(server: FakeSpanner) -> None:
    settings = SpannerToolSettings(embed_text=lambda text: [0.5, float(len(text))])
    toolset = SpannerToolset(spanner_tool_settings=settings)
    arguments = {
        "table_name": "pets",
        "embedding_column": "id",
        "columns": ["name"],
        "query": "cat",
    }
    await ask(toolset, "spanner_similarity_search", **WHERE, **arguments, top_k=2)
    asked = server.asked[-1]
    assert "ORDER BY distance ASC LIMIT 2" in asked.sql
    assert _plain(asked.params["p1"]) == "[0.5, 3.0]"
    wrong = await ask(
        toolset, "spanner_similarity_search", **WHERE, **{**arguments, "table_name": "a; DROP"}
    )
    assert "not a name of a table" in wrong.text
    await toolset.close()


async def test_a_similarity_search_needs_something_that_makes_vectors(
    toolset: SpannerToolset,
) -> None:
    result = await ask(
        toolset, "spanner_similarity_search", **WHERE, table_name="pets", query="cat",
        embedding_column="id", columns=["name"],
    )  # fmt: skip
    assert "Give embedding_model" in result.text


async def test_all_tools_read_and_can_be_chosen() -> None:
    tools = await SpannerToolset().list_tools()
    assert {tool.effects for tool in tools} == {"read"}
    chosen = await SpannerToolset(tool_filter=["spanner_execute_sql"]).list_tools()
    assert [tool.name for tool in chosen] == ["spanner_execute_sql"]


def test_a_cap_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="must be positive; got 0"):
        SpannerToolset(spanner_tool_settings=SpannerToolSettings(max_executed_query_result_rows=0))
