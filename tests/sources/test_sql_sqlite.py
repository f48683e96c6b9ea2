"""What a query tries to do to SQLite, and to the process that asks, it does not: 62 known ways, and more."""

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.sources._calling import run_tool, tool_named
from tests.sources.sql_attempts import SQLITE, SQLITE_MORE, SQLITE_READS

from toolwright.errors import ToolError
from toolwright.sources import SqlToolset
from toolwright.sources.sql._sqlite_guard import open_read_only

pytestmark = pytest.mark.anyio

SCHEMA = """
CREATE TABLE t(a); INSERT INTO t VALUES (1);
CREATE VIRTUAL TABLE ft USING fts5(x);
CREATE VIEW v AS SELECT * FROM t;
CREATE TRIGGER tr INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES (5); END;
CREATE TABLE notes(id INTEGER, body TEXT, raw BLOB, part REAL);
INSERT INTO notes VALUES (1, 'short', x'00ff', 0.5), (2, NULL, NULL, NULL);
"""
EVERYDAY = [
    "SELECT 1",
    "SELECT * FROM notes WHERE id = :id;",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 5) SELECT * FROM n",
    "SELECT id, row_number() OVER (ORDER BY id), lag(id) OVER (ORDER BY id) FROM notes",
    "SELECT json_extract('{\"a\": [1, 2]}', '$.a[1]'), json_group_array(id) FROM notes",
    "SELECT key, value FROM json_each('{\"a\": 1}')",
    "SELECT date('2024-01-01', '+1 day'), strftime('%Y', 'now'), random(), hex(randomblob(4))",
    "SELECT count(*), group_concat(id), total(part), typeof(raw) FROM notes GROUP BY body",
    "SELECT * FROM notes WHERE body LIKE 's%' AND id IN (SELECT a FROM t)",
    "SELECT name, sql FROM sqlite_master",
    "SELECT highlight(ft, 0, '<', '>') FROM ft WHERE ft MATCH 'x' ORDER BY bm25(ft)",
    "SELECT * FROM v",
    "PRAGMA table_info(notes)",
    "SELECT name FROM pragma_table_info('notes')",
    "EXPLAIN QUERY PLAN SELECT * FROM notes",
    "VALUES (1), (2)",
    "SELECT 'a:b', ':id', \"id\", [id], `id` FROM notes -- :nothing",
    "SELECT DISTINCT body FROM notes UNION SELECT 'x' EXCEPT SELECT 'y' ORDER BY 1 LIMIT 3",
]
HEAVY = {text for text in SQLITE if "zeroblob" in text or "recursive" in text or "1e12" in text}
ATTEMPTS = [*SQLITE, *SQLITE_MORE]
BOMBS = {
    "copies": "WITH a0 AS (SELECT 1 AS x), "
    + ", ".join(f"a{n} AS (SELECT p.x FROM a{n - 1} p, a{n - 1} q)" for n in range(1, 30))
    + " SELECT * FROM a29",
    "needle": "WITH s(h, n) AS (SELECT hex(zeroblob(5000000)), hex(zeroblob(2000000)) || 'x')"
    " SELECT " + ", ".join(["instr(h, n)"] * 50) + " FROM s",
    "sorting": "WITH RECURSIVE c(a) AS (SELECT randomblob(1000000) UNION ALL SELECT"
    " randomblob(1000000) FROM c) SELECT * FROM c ORDER BY 1",
    "counting": "WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a+1 FROM c) SELECT max(a) FROM c",
}


def numbers(wanted: Callable[[str], bool]) -> list[int]:
    return [number for number, text in enumerate(ATTEMPTS) if wanted(text)]


@dataclass
class World:
    toolset: SqlToolset
    path: Path
    files: Path

    async def query(self, text: str, **parameters: Any) -> Any:
        tool = await tool_named(self.toolset, "sql_query")
        output = await run_tool(tool, {"query": text, "parameters": parameters})
        return json.loads(output.text)

    def state(self) -> Any:
        return self.path.read_bytes(), sorted(path.name for path in self.files.iterdir())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    files = tmp_path_factory.mktemp("sqlite")
    (files / "secret").write_text("a decoy")
    path = files / "50% of #1.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)
    connection.close()
    return World(SqlToolset(f"sqlite:///{path}", timeout=60), path, files)


@pytest.fixture(scope="module")
def hurried(world: World) -> World:
    return World(SqlToolset(f"sqlite:///{world.path}", timeout=0.3), world.path, world.files)


@pytest.mark.parametrize("number", numbers(lambda text: text not in HEAVY | SQLITE_READS))
def test_what_does_more_than_read_is_refused(world: World, number: int) -> None:
    """Without a process for each, which would take as long as all the rest."""
    before = world.state()
    connection = open_read_only(str(world.path))
    with closing(connection), pytest.raises((sqlite3.Error, sqlite3.Warning, ValueError)):
        connection.execute(ATTEMPTS[number].replace("{files}", str(world.files))).fetchall()
    assert world.state() == before


@pytest.mark.parametrize("number", numbers(lambda text: text in HEAVY - SQLITE_READS))
async def test_what_is_too_much_is_refused(hurried: World, number: int) -> None:
    before = hurried.state()
    with pytest.raises(ToolError, match="The database refused: "):
        await hurried.query(ATTEMPTS[number])
    assert hurried.state() == before


@pytest.mark.parametrize("number", numbers(lambda text: text in SQLITE_READS))
async def test_what_only_reads_changes_nothing(world: World, number: int) -> None:
    before = world.state()
    assert (await world.query(ATTEMPTS[number]))["rows"]
    assert world.state() == before


@pytest.mark.parametrize("number", range(len(EVERYDAY)))
async def test_everyday_analysis_works(world: World, number: int) -> None:
    text = EVERYDAY[number]
    assert "rows" in await world.query(text, **({"id": 1} if "= :id" in text else {}))


@pytest.mark.parametrize("place", ["file", "memory"])
def test_without_the_authorizer_there_is_still_nothing_to_write_to(
    world: World, place: str
) -> None:
    connection = open_read_only(str(world.path) if place == "file" else ":memory:")
    connection.set_authorizer(None)
    with closing(connection), pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("CREATE TABLE x(a)")


async def test_values_are_shown_as_they_are(world: World) -> None:
    shown = await world.query("SELECT * FROM notes WHERE id = :id", id=1)
    assert shown["rows"] == [{"id": 1, "body": "short", "raw": "AP8=", "part": 0.5}]
    shown = await world.query("SELECT 9e999 AS a, CAST(x'ff' AS TEXT) AS b, x'00' || 'c' AS c")
    assert shown["rows"] == [{"a": "Infinity", "b": "\ufffd", "c": "\0c"}]


async def test_a_query_gets_so_much_memory_and_no_more(world: World) -> None:
    values = ", ".join(["hex(zeroblob(20000000))"] * 60)
    with pytest.raises(ToolError, match="memory"):
        await world.query(f"SELECT {values}")


@pytest.mark.parametrize("name", ["load_extension", "LOAD_EXTENSION", '"load_extension"'])
def test_functions_with_effects_are_refused_by_name(world: World, name: str) -> None:
    connection = open_read_only(str(world.path))
    with closing(connection), pytest.raises(sqlite3.DatabaseError, match="not authorized to use"):
        connection.execute(f"SELECT {name}('x')")


@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_ends_in_its_own_process(hurried: World, name: str) -> None:
    with pytest.raises(ToolError, match=r"interrupted|memory|too big|too many"):
        await hurried.query(BOMBS[name])


TRAPS = {
    "index": "CREATE VIRTUAL TABLE x USING fts5(a); DROP TABLE x_config; CREATE VIEW x_config AS "
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT 'v'||i AS k, i AS v FROM n;",
    "views": f"CREATE TABLE v0({','.join(f'c{n}' for n in range(200))});"
    + "".join(f"CREATE VIEW v{n} AS SELECT a.* FROM v{n - 1} a, v{n - 1} b;" for n in range(1, 17))
    + "CREATE VIEW x AS SELECT * FROM v16;",
}
"""Files whose tables are endless work to look at."""


@pytest.mark.parametrize(
    ("trap", "name", "arguments"),
    [
        ("index", "sql_list_tables", {}),
        ("index", "sql_describe_table", {"table": "x"}),
        ("views", "sql_describe_table", {"table": "x"}),
    ],
)
async def test_looking_at_the_tables_of_a_hostile_file_ends_in_a_process_of_its_own(
    tmp_path: Path, trap: str, name: str, arguments: dict[str, Any]
) -> None:
    with closing(sqlite3.connect(path := tmp_path / "trap.db")) as connection:
        connection.executescript(TRAPS[trap])
    tool = await tool_named(SqlToolset(f"sqlite:///{path}", timeout=0.1), name)
    began = time.process_time()
    with pytest.raises(ToolError, match=r"interrupted|memory|too"), anyio.fail_after(20):
        await run_tool(tool, arguments)
    assert time.process_time() - began < 1


async def test_a_cancelled_query_ends_with_its_process(world: World) -> None:
    toolset = SqlToolset(f"sqlite:///{world.path}", timeout=600)
    slow = World(toolset, world.path, world.files)
    with anyio.fail_after(20):
        with anyio.move_on_after(0.2) as scope:
            await slow.query(BOMBS["counting"])
        assert scope.cancelled_caught


async def test_a_long_value_is_cut_and_a_long_result_ends(world: World) -> None:
    toolset = SqlToolset(f"sqlite:///{world.path}", max_cell_chars=10, max_bytes=100)
    small = World(toolset, world.path, world.files)
    shown = await small.query("SELECT hex(zeroblob(10)) AS a, x'000102030405060708090a' AS b")
    assert shown["rows"] == [
        {"a": "0000000000… (20 characters)", "b": "AAECAwQFBg… (16 characters)"}
    ]
    shown = await small.query(
        "WITH RECURSIVE c(a) AS (SELECT 10000000 UNION ALL SELECT a+1 FROM c LIMIT 90) SELECT a FROM c"
    )
    assert shown["truncated"]
    assert len(shown["rows"]) == 11


async def test_an_empty_database_in_memory_can_be_asked_too() -> None:
    nothing = World(SqlToolset("sqlite://"), Path(), Path())
    assert (await nothing.query("SELECT 1 AS a"))["rows"] == [{"a": 1}]
    with pytest.raises(ToolError, match="not authorized"):
        await nothing.query("CREATE TABLE x(a)")
