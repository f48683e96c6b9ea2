"""Sessions with Postgres: of a modest role, reset after each use, bounded in what they give."""

import json
import re
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest
from anyio import to_thread
from psycopg import sql
from sqlalchemy import make_url
from tests._postgres import new_database, owned_by_ordinary_role
from tests.sources._calling import run_tool, tool_named

from toolwright.errors import ToolError, UsageError
from toolwright.sources import SqlToolset

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

SESSION = """
SELECT pg_backend_pid() AS pid, current_setting('work_mem') AS work_mem,
       current_setting('statement_timeout') AS statement_timeout,
       (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks
"""
ALLOWED = ["pg_advisory_lock", "pg_catalog.set_config", "pg_sleep", "public.unmarked"]


@pytest.fixture(scope="module")
def admin_url() -> str:
    url = new_database()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE FUNCTION unmarked() RETURNS int LANGUAGE sql AS 'SELECT 7'")
        connection.execute("CREATE TABLE long (body text)")
        connection.execute(
            "INSERT INTO long SELECT repeat('é', 30000) FROM generate_series(1, 300)"
        )
    return url


@pytest.fixture(scope="module")
def url(admin_url: str) -> str:
    return owned_by_ordinary_role(admin_url)


@asynccontextmanager
async def opened(url: str, **settings: Any) -> AsyncIterator[SqlToolset]:
    toolset = SqlToolset(url, **settings)
    try:
        yield toolset
    finally:
        await toolset.close()


async def query(toolset: SqlToolset, text: str, **parameters: Any) -> Any:
    tool = await tool_named(toolset, "sql_query")
    output = await run_tool(tool, {"query": text, "parameters": parameters})
    return json.loads(output.text)


def with_role(admin_url: str, attributes: str, member_of: str | None = None) -> str:
    role = f"role_{attributes.lower()}_{member_of or 'none'}"
    with psycopg.connect(admin_url) as connection:
        name = sql.Identifier(role)
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN {}").format(name, sql.SQL(attributes))  # type: ignore[arg-type]
            )
            if member_of:
                connection.execute(
                    sql.SQL("GRANT {} TO {}").format(sql.Identifier(member_of), name)
                )
    return make_url(admin_url).set(username=role).render_as_string(hide_password=False)


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(
    ("attributes", "member_of", "told"),
    [
        ("SUPERUSER", None, "is a superuser, which"),
        ("REPLICATION", None, "is able to replicate"),
        ("CREATEROLE", None, "is able to make roles"),
        ("NOINHERIT", "pg_read_server_files", "is a member of pg_read_server_files"),
        ("INHERIT", "pg_write_server_files", "is a member of pg_write_server_files"),
        ("INHERIT", "pg_execute_server_program", "is a member of pg_execute_server_program"),
        ("INHERIT", "pg_signal_backend", "is a member of pg_signal_backend"),
        ("NOINHERIT", "postgres", "is a superuser, which"),
    ],
)
async def test_an_account_that_can_do_too_much_is_refused(
    admin_url: str, attributes: str, member_of: str | None, told: str, read_only: bool
) -> None:
    privileged = with_role(admin_url, attributes, member_of)
    async with opened(privileged, read_only=read_only) as toolset:
        for name, arguments in (("sql_query", {"query": "SELECT 1"}), ("sql_list_tables", {})):
            tool = await tool_named(toolset, name)
            with pytest.raises(ToolError, match=told):
                await run_tool(tool, arguments)
    async with opened(privileged, read_only=read_only, allow_superuser=True) as toolset:
        assert (await query(toolset, "SELECT 1 AS a"))["rows"] == [{"a": 1}]


async def test_a_superuser_that_has_taken_a_modest_role_is_still_one(
    admin_url: str, url: str
) -> None:
    role = make_url(url).username
    pretending = make_url(admin_url).update_query_dict({"options": f"-c role={role}"})
    async with opened(pretending.render_as_string(hide_password=False)) as toolset:
        with pytest.raises(ToolError, match="is a superuser"):
            await query(toolset, "SELECT 1")


async def test_an_account_that_may_read_everything_is_fine(admin_url: str) -> None:
    async with opened(with_role(admin_url, "INHERIT", "pg_read_all_data")) as toolset:
        assert (await query(toolset, "SELECT 1 AS a"))["rows"] == [{"a": 1}]


async def test_nothing_of_a_session_is_left_for_the_next_use(url: str) -> None:
    async with opened(url, allow_functions=ALLOWED) as toolset:
        before = (await query(toolset, SESSION))["rows"][0]
        await query(toolset, "SELECT pg_advisory_lock(1), set_config('work_mem', '1MB', false)")
        assert (await query(toolset, SESSION))["rows"][0] == before


@pytest.mark.parametrize(
    "ending", ["SELECT 1 / 0", "SELECT pg_sleep(60)", "SELECT repeat(repeat('x', 1000), 10000)"]
)
async def test_nothing_of_a_session_is_left_after_a_failed_query(url: str, ending: str) -> None:
    locking = ending.replace("SELECT ", "SELECT pg_advisory_lock(2), ")
    async with opened(url, allow_functions=ALLOWED, timeout=1.0) as toolset:
        with pytest.raises(ToolError, match="The database refused"):
            await query(toolset, locking)
        after = (await query(toolset, SESSION))["rows"][0]
        assert after["locks"] == 0
        with psycopg.connect(url) as other:
            assert other.execute("SELECT pg_try_advisory_lock(2)").fetchone() == (True,)


WAITING = """
DO $$ BEGIN LOOP
    PERFORM pg_stat_clear_snapshot();
    EXIT WHEN (SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
               WHERE locktype = 'advisory' AND objid = 3 AND datname = current_database()) = {};
    PERFORM pg_sleep(0.01);
END LOOP; END $$
"""


def wait(connection: psycopg.Connection[Any], locks: int) -> None:
    connection.execute(WAITING.format(locks))  # type: ignore[arg-type]


async def test_a_cancelled_query_is_ended_on_the_server_and_its_session_closed(url: str) -> None:
    async with opened(url, allow_functions=ALLOWED, timeout=600) as toolset:
        with psycopg.connect(url, autocommit=True) as other, anyio.fail_after(30):
            other.execute("SET statement_timeout = '20s'")
            async with anyio.create_task_group() as group:
                group.start_soon(query, toolset, "SELECT pg_advisory_lock(3), pg_sleep(600)")
                await to_thread.run_sync(wait, other, 1, abandon_on_cancel=True)
                group.cancel_scope.cancel()
            await to_thread.run_sync(wait, other, 0, abandon_on_cancel=True)
        assert (await query(toolset, SESSION))["rows"][0]["locks"] == 0


async def test_a_server_that_does_not_end_a_query_is_given_up(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolwright.sources.sql._postgres_session._SLACK", 0.1)
    never = "SELECT set_config('statement_timeout', '0', true), pg_sleep(600)"
    async with opened(url, allow_functions=ALLOWED, timeout=0.2) as toolset:
        with anyio.fail_after(30), pytest.raises(ToolError, match="refused"):
            await query(toolset, never)
        assert (await query(toolset, SESSION))["rows"][0]["statement_timeout"] == "200ms"


async def test_a_query_is_a_cursor_in_a_read_only_transaction(url: str) -> None:
    """So that the server itself refuses, should a statement be misjudged."""
    async with opened(url) as toolset:
        assert len((await query(toolset, "SELECT name FROM pg_cursors"))["rows"]) == 1
        for text in (
            "SHOW transaction_read_only",
            "SELECT current_setting('transaction_read_only')",
        ):
            assert list((await query(toolset, text))["rows"][0].values()) == ["on"]


@pytest.mark.parametrize(
    "options",
    ["ANALYZE", "analyse verbose", "VERBOSE ANALYZE", "(COSTS OFF, ANALYZE)", "(analyse)"],
)
async def test_a_write_is_explained_but_not_analyzed(url: str, options: str) -> None:
    async with opened(url) as toolset:
        assert (await query(toolset, "EXPLAIN DELETE FROM long"))["rows"]
        with pytest.raises(ToolError, match=r"^Refused: a statement that begins with 'explain'"):
            await query(toolset, f"EXPLAIN {options} DELETE FROM long")


async def test_named_functions_can_be_called_with_and_without_their_schema(url: str) -> None:
    async with opened(url, allow_functions=ALLOWED) as toolset:
        for text in ("SELECT unmarked() AS a", "SELECT public.unmarked() AS a"):
            assert (await query(toolset, text))["rows"] == [{"a": 7}]
    async with opened(url) as toolset:
        with pytest.raises(
            ToolError, match=r"calls public\.unmarked\(\), which is declared VOLATILE"
        ):
            await query(toolset, "SELECT unmarked()")


@pytest.mark.parametrize(
    ("address", "settings", "told"),
    [
        ("sqlite://", {"allow_functions": ["f"]}, "for reading from Postgres"),
        ("postgresql://x/y", {"allow_functions": "f"}, "takes a list"),
        ("postgresql+psycopg2://x/y", {}, "Read-only is known for"),
        ("postgresql://x/y", {"max_bytes": 0}, "must be positive"),
        ("postgresql://x/y", {"max_cell_chars": 0}, "must be positive"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    address: str, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        SqlToolset(address, **settings)


async def test_long_values_are_cut(url: str) -> None:
    async with opened(url, max_cell_chars=20) as toolset:
        shown = await query(
            toolset,
            "SELECT repeat('é', 30) AS a, '\\x000102030405060708090a0b0c0d0e0f10'::bytea AS b,"
            " array_agg(i) AS c, 1::numeric / 3 AS d, int4range(1, 5) AS e, NULL AS f"
            " FROM generate_series(1, 9) AS i",
        )
    assert shown["rows"] == [
        {
            "a": "é" * 20 + "… (30 characters)",
            "b": "AAECAwQFBgcICQoLDA0O… (24 characters)",
            "c": "[1, 2, 3, 4, 5, 6, 7… (27 characters)",
            "d": "0.333333333333333333… (22 characters)",
            "e": "[1, 5)",
            "f": None,
        }
    ]


async def test_times_are_shown_as_the_server_writes_them(url: str) -> None:
    async with opened(url) as toolset:
        shown = await query(
            toolset,
            "SELECT '2024-02-29'::date AS a, '2024-02-29 10:30'::timestamp AS b,"
            " 'infinity'::timestamp AS c, '1 month 2 days'::interval AS d",
        )
    assert shown["rows"] == [
        {"a": "2024-02-29", "b": "2024-02-29 10:30:00", "c": "infinity", "d": "1 mon 2 days"}
    ]


async def test_deeply_nested_json_is_shown_as_text(url: str) -> None:
    deep = "[" * 3000 + "]" * 3000
    async with opened(url) as toolset:
        assert (await query(toolset, f"SELECT '{deep}'::json AS a"))["rows"] == [{"a": deep}]


async def test_rows_end_where_the_bytes_do(url: str) -> None:
    async with opened(url, max_cell_chars=1000, max_bytes=50_000) as toolset:
        shown = await query(toolset, "SELECT left(body, 1500) AS body FROM long LIMIT 15")
        assert shown["truncated"] is False
        assert {len(row["body"]) for row in shown["rows"]} == {1000 + len("… (1500 characters)")}
        small = await query(toolset, "SELECT * FROM generate_series(1, 1000) AS a")
        assert (len(small["rows"]), small["truncated"]) == (100, True)
    async with opened(url, max_bytes=2000, max_cell_chars=500) as toolset:
        shown = await query(toolset, "SELECT left(body, 300) AS b FROM long LIMIT 3")
        assert (len(shown["rows"]), shown["truncated"]) == (3, False)


def peak_megabytes() -> int:
    """The most memory this process has had since the last time it was asked."""
    status = Path("/proc/self/status").read_text()
    Path("/proc/self/clear_refs").write_text("5")
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) // 1024


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "text",
    [
        "SELECT repeat(repeat('x', 1000), 20000)",
        "SELECT body || body || body FROM long LIMIT 99",
        "SELECT repeat(repeat('x', 1000), 20000)::int",
        "EXPLAIN VERBOSE SELECT repeat(repeat('x', 1000), 20000)",
    ],
)
async def test_too_much_is_not_even_read(url: str, text: str) -> None:
    """Also as an error that quotes a value, and as a plan that shows a constant."""
    async with opened(url, timeout=60) as toolset:
        await query(toolset, "SELECT 1")
        peak_megabytes()
        before = peak_megabytes()
        with pytest.raises(ToolError, match="too large"):
            await query(toolset, text)
    assert peak_megabytes() - before < 15


async def test_uses_at_once_do_not_disturb_each_other(url: str) -> None:
    async with opened(url) as toolset:
        pids: list[int] = []

        async def one(number: int) -> None:
            shown = await query(toolset, "SELECT pg_backend_pid() AS pid, :n AS n", n=number)
            assert shown["rows"][0]["n"] == number
            pids.append(shown["rows"][0]["pid"])

        async with anyio.create_task_group() as group:
            for number in range(30):
                group.start_soon(one, number)
        assert len(pids) == 30
        assert len(set(pids)) <= 15
    assert threading.active_count() < 100


async def test_strings_are_read_by_the_rule_that_statements_are_judged_by(
    admin_url: str,
) -> None:
    old = with_role(admin_url, "NOCREATEDB")
    role = make_url(old).username
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER ROLE {} SET standard_conforming_strings = off").format(
                sql.Identifier(str(role))
            )
        )
    async with opened(old) as toolset:
        shown = await query(toolset, "SELECT 'a\\' AS a, ' , pg_advisory_lock(4) , ' AS b")
        assert shown["rows"] == [{"a": "a\\", "b": " , pg_advisory_lock(4) , "}]


@pytest.mark.parametrize("read_only", [True, False])
async def test_json_that_python_has_no_room_for_is_shown_as_it_is_written(
    url: str, read_only: bool
) -> None:
    async with opened(url, read_only=read_only) as toolset:
        for text in ("9" * 5000, f"[{'9' * 5000}]", "[" * 4000 + "]" * 4000):
            [row] = (await query(toolset, "SELECT CAST(:given AS json) AS a", given=text))["rows"]
            assert row == {"a": text}
