"""SQL databases as tools: reading is all they can be made to do."""

import json
import os
import sqlite3
import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest
from inline_snapshot import snapshot
from sqlalchemy import create_engine, make_url
from tests._postgres import new_database, owned_by_ordinary_role

from toolwright.agent import Agent
from toolwright.errors import UsageError
from toolwright.messages import ToolMessage, ToolResult
from toolwright.sources import SqlToolset
from toolwright.testing import ScriptedModel, call

pytestmark = pytest.mark.anyio

TABLES = [
    "CREATE TABLE owners (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL)",
    "CREATE TABLE pets (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES owners(id), kind TEXT)",
    "CREATE VIEW cats AS SELECT * FROM pets WHERE kind = 'cat'",
    "INSERT INTO owners VALUES (1, 'Ada'), (2, 'Bo')",
    "INSERT INTO pets VALUES (1, 1, 'cat'), (2, 1, 'dog'), (3, 2, 'cat')",
]


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    path = tmp_path / "pets.db"
    with sqlite3.connect(path) as connection:
        for statement in TABLES:
            connection.execute(statement)
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture(scope="session")
def postgres_pets() -> str:
    url = new_database()
    with psycopg.connect(url) as connection:
        for statement in TABLES:
            connection.execute(statement)  # type: ignore[arg-type]
    return owned_by_ordinary_role(url)


@pytest.fixture(scope="session")
def mysql_pets() -> str:
    address = make_url(MYSQL).set(drivername="mysql+pymysql")
    name = f"test_{uuid.uuid4().hex[:12]}"
    with create_engine(address).begin() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
        connection.exec_driver_sql(f"USE {name}")
        for statement in TABLES:
            connection.exec_driver_sql(statement)
    return address.set(drivername="mysql", database=name).render_as_string(hide_password=False)


MYSQL = os.environ.get("TOOLWRIGHT_TEST_MYSQL", "")
NO_MYSQL = "a MySQL server comes in no wheel; name one in TOOLWRIGHT_TEST_MYSQL to test with it"
DATABASES = [
    "sqlite_url",
    pytest.param("postgres_pets", marks=pytest.mark.postgres),
    pytest.param("mysql_pets", marks=pytest.mark.skipif(not MYSQL, reason=NO_MYSQL)),
]


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(request.param)


async def ask(toolset: SqlToolset, name: str, **arguments: Any) -> ToolResult:
    model = ScriptedModel(call(name, **arguments), "done")
    result = await Agent(name="a", model=model, tools=[toolset]).run("go")
    await toolset.close()
    return next(m for m in result.history if isinstance(m, ToolMessage)).results[0]


async def query(url: str, text: str, **settings: Any) -> ToolResult:
    return await ask(SqlToolset(url, **settings), "sql_query", query=text)


async def test_tables_and_views_are_listed(url: str) -> None:
    result = await ask(SqlToolset(url), "sql_list_tables")
    listed = json.loads(result.text)
    assert sorted(listed["tables"]) == ["owners", "pets"]
    assert listed["views"] == ["cats"]


async def test_a_table_is_described_with_its_keys(url: str) -> None:
    told = json.loads((await ask(SqlToolset(url), "sql_describe_table", table="pets")).text)
    assert [column["name"] for column in told["columns"]] == ["id", "owner", "kind"]
    assert told["primary_key"] == ["id"]
    assert told["foreign_keys"] == [{"columns": ["owner"], "to": "owners", "to_columns": ["id"]}]


async def test_a_table_that_is_not_there_is_told(url: str) -> None:
    result = await ask(SqlToolset(url), "sql_describe_table", table="birds")
    assert (result.status, result.text) == (
        "error",
        "There is no table 'birds'; sql_list_tables shows them.",
    )


async def test_a_query_takes_bound_parameters(url: str) -> None:
    result = await ask(
        SqlToolset(url),
        "sql_query",
        query="SELECT name, '%' AS sign FROM owners WHERE name = :name",
        parameters={"name": "Ada'; DROP TABLE pets; --"},
    )
    assert json.loads(result.text)["rows"] == []
    result = await ask(
        SqlToolset(url),
        "sql_query",
        query="SELECT name, '%' AS sign FROM owners WHERE name = :name",
        parameters={"name": "Ada"},
    )
    assert json.loads(result.text) == snapshot(
        {"columns": ["name", "sign"], "rows": [{"name": "Ada", "sign": "%"}], "truncated": False}
    )


async def test_rows_are_capped_and_the_model_is_told(url: str) -> None:
    result = await query(url, "SELECT id FROM pets ORDER BY id", max_rows=2)
    assert json.loads(result.text) == {
        "columns": ["id"],
        "rows": [{"id": 1}, {"id": 2}],
        "truncated": True,
    }


async def test_columns_of_the_same_name_are_all_shown(url: str) -> None:
    result = await query(url, "SELECT o.id, p.id FROM owners o, pets p WHERE p.id = 3 AND o.id = 2")
    assert json.loads(result.text)["rows"] == [{"id": 2, "id_2": 3}]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM pets",
        "INSERT INTO owners VALUES (9, 'Eve')",
        "UPDATE owners SET name = 'Eve'",
        "DROP TABLE pets",
        "CREATE TABLE x (a INTEGER)",
        "CREATE TEMPORARY TABLE x AS SELECT 1",
        "/* SELECT */ DELETE FROM pets",
        "WITH x AS (SELECT 1) DELETE FROM pets",
        "SELECT 1; DELETE FROM pets",
        "SELECT 1; COMMIT; DELETE FROM pets",
        "COMMIT; BEGIN; DELETE FROM pets",
        "SELECT 1); DELETE FROM pets; (SELECT 1",
        "SET STATEMENT tx_read_only = 0 FOR DROP TABLE pets",
        "VACUUM",
    ],
)
async def test_the_database_refuses_to_write(url: str, statement: str) -> None:
    result = await query(url, statement)
    assert result.status == "error"
    assert "refused:" in result.text.lower()
    count = await query(url, "SELECT count(*) AS n FROM pets")
    assert json.loads(count.text)["rows"] == [{"n": 3}]


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE '{path}' AS other",
        "VACUUM INTO '{path}'",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "PRAGMA journal_mode = DELETE",
        "SELECT load_extension('{path}')",
    ],
)
async def test_sqlite_cannot_be_talked_into_touching_other_files(
    sqlite_url: str, tmp_path: Path, statement: str
) -> None:
    other = tmp_path / "other.db"
    result = await query(sqlite_url, statement.format(path=other))
    assert result.status == "error"
    assert not other.exists()


@pytest.mark.postgres
@pytest.mark.parametrize(
    "statement",
    [
        "COPY pets TO '/tmp/toolwright-pets.txt'",
        "COPY pets TO PROGRAM 'true'",
        "SET TRANSACTION READ WRITE",
        "SET default_transaction_read_only = off",
        "DO $$ BEGIN DELETE FROM pets; END $$",
        "WITH gone AS (DELETE FROM pets RETURNING *) SELECT * FROM gone",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'DELETE FROM pets; SELECT 1'",
        "SELECT 1; COMMIT; BEGIN READ WRITE; DELETE FROM pets; COMMIT",
    ],
)
async def test_postgres_takes_one_reading_statement_and_nothing_else(
    postgres_pets: str, statement: str
) -> None:
    assert (await query(postgres_pets, statement)).status == "error"
    count = await query(postgres_pets, "SELECT count(*) AS n FROM pets")
    assert json.loads(count.text)["rows"] == [{"n": 3}]


async def test_a_query_that_takes_too_long_is_ended_by_the_database(url: str) -> None:
    endless = "SELECT count(*) FROM " + ", ".join(f"pets p{n}" for n in range(25))
    result = await query(url, endless, timeout=0.2)
    assert result.status == "error"
    assert any(word in result.text for word in ("interrupted", "statement timeout", "exceeded"))


async def test_writing_has_to_be_asked_for(url: str) -> None:
    toolset = SqlToolset(url, read_only=False)
    tools = {tool.name: tool.effects for tool in await toolset.list_tools()}
    assert tools["sql_query"] == "destructive"
    result = await query(url, "UPDATE owners SET name = 'Bob' WHERE id = 2", read_only=False)
    assert json.loads(result.text) == {"changed_rows": 1}
    kept = await query(url, "SELECT name FROM owners WHERE id = 2")
    assert json.loads(kept.text)["rows"] == [{"name": "Bob"}]


async def test_errors_show_neither_address_nor_password() -> None:
    toolset = SqlToolset("postgresql://ada:hunter2@127.0.0.1:1/shop")
    result = await ask(toolset, "sql_list_tables")
    assert result.status == "error"
    assert "hunter2" not in result.text


@pytest.mark.parametrize(
    ("address", "settings", "told"),
    [
        ("shop.db", {}, "wanted one like 'sqlite:///shop.db'"),
        ("sqlite:///nowhere/shop.db", {}, "no SQLite database 'nowhere/shop.db'"),
        ("oracle://x", {}, "Read-only is known for sqlite, postgresql"),
        ("sqlite://", {"max_rows": 0}, "must be positive"),
        ("sqlite://", {"timeout": -1}, "must be positive"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(
    address: str, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        SqlToolset(address, **settings)
