"""What a query tries to do to Postgres besides reading, it does not: 80 known ways as two roles, and more."""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests._postgres import new_database, owned_by_ordinary_role
from tests._reaper import temporary_prefix
from tests.sources._calling import run_tool, tool_named
from tests.sources.sql_attempts import EVERYDAY, POSTGRES, POSTGRES_MORE, POSTGRES_READS

from toolwright.errors import ToolError
from toolwright.sources import SqlToolset
from toolwright.sources.sql._postgres_functions import check_functions
from toolwright.sources.sql._words import postgres_words

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

ROLES = ["ordinary", "superuser"]
WORLD = """
CREATE TABLE t (a int); INSERT INTO t VALUES (1);
CREATE SEQUENCE sq;
CREATE SCHEMA hidden; GRANT USAGE ON SCHEMA hidden TO public;

CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO t VALUES (5); RETURN 1; END';
CREATE FUNCTION g() RETURNS void SECURITY DEFINER LANGUAGE sql AS 'SELECT pg_advisory_lock(1)';
CREATE FUNCTION unmarked() RETURNS int LANGUAGE sql AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION hidden.lock_it() RETURNS int LANGUAGE sql AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE PROCEDURE hidden.go() LANGUAGE sql AS 'SELECT pg_advisory_lock(1)';

-- Stand-ins for extensions: what they do can be seen by the lock.
CREATE FUNCTION dblink(text, text) RETURNS SETOF record LANGUAGE sql
    AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION dblink_exec(text, text) RETURNS int LANGUAGE sql
    AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION pg_file_write(text, text, bool) RETURNS int LANGUAGE sql
    AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION pg_file_unlink(text) RETURNS int LANGUAGE sql
    AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION pg_file_rename(text, text) RETURNS int LANGUAGE sql
    AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION crosstab(text) RETURNS SETOF record STABLE LANGUAGE plpgsql
    AS 'BEGIN RETURN QUERY EXECUTE $1; END';
CREATE FUNCTION connectby(text) RETURNS SETOF record STABLE LANGUAGE plpgsql
    AS 'BEGIN RETURN QUERY EXECUTE $1; END';

CREATE LANGUAGE beyondu HANDLER plpgsql_call_handler;
CREATE FUNCTION beyond() RETURNS int IMMUTABLE LANGUAGE beyondu
    AS 'BEGIN PERFORM pg_advisory_lock(1); RETURN 1; END';

CREATE VIEW locking AS SELECT 1 AS a FROM pg_advisory_lock(1);
CREATE VIEW over_locking AS SELECT * FROM locking;
CREATE TABLE guarded (a int); INSERT INTO guarded VALUES (1);
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; ALTER TABLE guarded FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON guarded USING (unmarked() = 1);
CREATE FUNCTION lock_row(t) RETURNS int LANGUAGE sql AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION lock_two(int, int) RETURNS int LANGUAGE sql AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, FUNCTION = lock_two);
CREATE TYPE locked AS (a int);
CREATE FUNCTION to_locked(int) RETURNS locked LANGUAGE sql
    AS 'SELECT row(1)::locked FROM pg_advisory_lock(1)';
CREATE CAST (int AS locked) WITH FUNCTION to_locked(int);
CREATE DOMAIN lock_checked AS int CHECK (lock_two(value, 1) = 1);
CREATE AGGREGATE lock_all(int) (SFUNC = lock_two, STYPE = int, INITCOND = '0');

-- What (x).name calls: anything that can be given one value, but nothing that needs a schema.
CREATE FUNCTION lock_one(int) RETURNS int LANGUAGE sql AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION lock_text(text) RETURNS int LANGUAGE sql AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION lock_or(int, int DEFAULT 1) RETURNS int LANGUAGE sql
    AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION lock_many(VARIADIC int[]) RETURNS int LANGUAGE sql
    AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE FUNCTION hidden.region(text) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION amount(int, int) RETURNS int LANGUAGE sql AS 'SELECT 1';

-- The ways by which a type, a cast or a default brings a function along that no word names.
CREATE DOMAIN over_checked AS lock_checked;
CREATE TYPE checked_range AS RANGE (subtype = lock_checked, multirange_type_name = checked_ranges);
CREATE TYPE checked_row AS (a lock_checked);
CREATE TABLE checked_rows (a lock_checked, b checked_row);
CREATE FUNCTION takes_checked(over_checked) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION add_checked(lock_checked, int) RETURNS lock_checked IMMUTABLE LANGUAGE sql
    AS 'SELECT $1';
CREATE AGGREGATE sum_checked(int) (SFUNC = add_checked, STYPE = lock_checked, INITCOND = '0');
CREATE VIEW casting AS SELECT a::lock_checked::int AS a FROM t;
CREATE FUNCTION by_default(a int DEFAULT unmarked()) RETURNS int IMMUTABLE LANGUAGE sql
    AS 'SELECT $1';
CREATE VIEW by_number AS
    SELECT domain_in('1'::cstring, (SELECT oid FROM pg_type WHERE typname = 'lock_checked'), -1)
        IS NULL AS a;
CREATE VIEW defaulting AS SELECT by_default() AS a;
CREATE TABLE guarded_by_view (a int); INSERT INTO guarded_by_view VALUES (1);
ALTER TABLE guarded_by_view ENABLE ROW LEVEL SECURITY;
ALTER TABLE guarded_by_view FORCE ROW LEVEL SECURITY;
CREATE POLICY p ON guarded_by_view USING (a IN (SELECT a FROM over_locking));
CREATE TYPE invoiced AS (n int);
CREATE FUNCTION invoiced_int(invoiced) RETURNS int LANGUAGE sql AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE CAST (invoiced AS int) WITH FUNCTION invoiced_int(invoiced) AS IMPLICIT;
CREATE TABLE bills (a invoiced); INSERT INTO bills VALUES (row(1));
CREATE VIEW over_bills AS SELECT a AS b FROM bills;
CREATE FUNCTION an_invoiced() RETURNS invoiced IMMUTABLE LANGUAGE sql AS 'SELECT row(1)::invoiced';
CREATE TYPE mood AS ENUM ('well', 'ill');
CREATE FUNCTION same_mood(mood, mood) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT true';
CREATE OPERATOR === (LEFTARG = mood, RIGHTARG = mood, FUNCTION = same_mood, HASHES);
CREATE FUNCTION hash_mood(mood) RETURNS int LANGUAGE sql AS 'SELECT 1 FROM pg_advisory_lock(1)';
CREATE OPERATOR CLASS mood_ops DEFAULT FOR TYPE mood USING hash
    AS OPERATOR 1 ===, FUNCTION 1 hash_mood(mood);
CREATE TABLE moods (a mood); INSERT INTO moods VALUES ('well'), ('ill');

CREATE DOMAIN mail AS text CHECK (value ~ '@' AND length(value) > 3);
CREATE TABLE people (mail mail, times tstzrange); INSERT INTO people VALUES ('a@b.c');
CREATE FUNCTION seven() RETURNS int LANGUAGE sql AS 'SELECT 7';
CREATE MATERIALIZED VIEW kept AS SELECT seven() AS a;

CREATE TABLE sales (id int, customer text, region text, amount numeric, day date);
INSERT INTO sales VALUES (1, 'Ada', 'north', 10, '2024-01-05'), (2, 'Bo', 'north', 30, '2024-02-01'),
    (3, 'Ada', 'south', 25, '2024-02-03');
CREATE TABLE shifts (time_in time, time_out time, days date[]);
CREATE TABLE customers (name text, facts jsonb);
INSERT INTO customers VALUES ('Ada', '{"size": {"width": 3}, "tags": ["x", "y"]}'), ('Bo', '{}');
CREATE VIEW by_region AS SELECT region, sum(amount), random() > 2 AS odd FROM sales GROUP BY region;
CREATE FUNCTION total_of(text) RETURNS numeric STABLE LANGUAGE sql
    AS 'SELECT sum(amount) FROM sales WHERE region = $1';
CREATE FUNCTION keep(numeric, numeric) RETURNS numeric IMMUTABLE LANGUAGE sql
    AS 'SELECT coalesce($1, $2)';
CREATE AGGREGATE my_first(numeric) (SFUNC = keep, STYPE = numeric);
ANALYZE;
"""
STATE = """
SELECT (SELECT array_agg(a ORDER BY a) FROM t), (SELECT count(*) FROM sales),
  (SELECT (last_value, is_called)::text FROM sq),
  (SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
   WHERE locktype = 'advisory' AND datname = current_database()),
  (SELECT count(*) FROM pg_replication_slots), (SELECT count(*) FROM pg_replication_origin),
  (SELECT count(*) FROM pg_largeobject_metadata), (SELECT count(*) FROM pg_class),
  (SELECT count(*) FROM pg_proc), (SELECT count(*) FROM pg_roles), (SELECT count(*) FROM pg_database),
  (SELECT array_agg(setconfig::text) FROM pg_db_role_setting), (SELECT count(*) FROM pg_prepared_xacts),
  (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'victim'),
  (SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()),
  (SELECT relacl::text FROM pg_class WHERE relname = 't'), obj_description('t'::regclass)
"""


_PATIENCE = "-c statement_timeout=10s"


class World:
    """A server with something to lose, and toolsets on it as two roles."""

    def __init__(self, files: Path) -> None:
        url = new_database()
        self.files = files
        # An attempt that gets through may leave a lock: the test is to fail, and not to wait for it.
        self.admin = psycopg.connect(url, autocommit=True, options=_PATIENCE)
        self.admin.execute(WORLD)  # type: ignore[arg-type]
        ordinary = owned_by_ordinary_role(url)
        self.victim = psycopg.connect(
            ordinary, application_name="victim", autocommit=True, options=_PATIENCE
        )
        self.listener = psycopg.connect(url, autocommit=True)
        self.listener.execute("LISTEN c")
        self.urls = {"ordinary": ordinary, "superuser": url}
        self.toolsets = {
            role: SqlToolset(self.urls[role], allow_superuser=role == "superuser", timeout=5)
            for role in ROLES
        }
        self.at_first = self.state()

    def state(self) -> Any:
        """Everything that an attempt could have changed."""
        row = self.admin.execute(STATE).fetchone()
        self.victim.execute("SELECT 1")
        told = list(self.listener.notifies(timeout=0))
        return row, told, sorted(path.name for path in self.files.iterdir())

    async def query(self, role: str, text: str, **parameters: Any) -> Any:
        tool = await tool_named(self.toolsets[role], "sql_query")
        output = await run_tool(tool, {"query": text, "parameters": parameters})
        return json.loads(output.text)

    def close(self) -> None:
        for toolset in self.toolsets.values():
            asyncio.run(toolset.close())
        for connection in (self.admin, self.victim, self.listener):
            connection.close()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    # Not in pytest's directory, which the server, another user, cannot enter.
    with tempfile.TemporaryDirectory(prefix=temporary_prefix()) as files:
        Path(files).chmod(0o777)
        (Path(files) / "secret").write_text("a decoy")
        (Path(files) / "secret").chmod(0o666)
        opened = World(Path(files))
        yield opened
        opened.close()


ATTEMPTS = [*POSTGRES, *POSTGRES_MORE]
REFUSED = [number for number, text in enumerate(ATTEMPTS) if text not in POSTGRES_READS]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("number", REFUSED)
async def test_what_does_more_than_read_is_refused(world: World, role: str, number: int) -> None:
    attempt = ATTEMPTS[number].replace("{files}", str(world.files))
    with pytest.raises(ToolError, match="efused: ") as refused:
        await world.query(role, attempt, **({"a": 1} if ":a" in attempt else {}))
    assert "timeout" not in str(refused.value)
    assert world.state() == world.at_first


EXPLAINED = [
    text for text in ATTEMPTS
    if text.startswith("explain") and "pg_advisory" not in text and "f()" not in text and "lock_one" not in text
    and ";" not in text and "with x as (delete" not in text
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(EXPLAINED)))
async def test_what_an_explain_would_run_is_judged_before_the_server_sees_it(
    world: World, number: int
) -> None:
    with pytest.raises(ToolError, match=r"^Refused: a statement that begins with 'explain'"):
        await world.query("ordinary", EXPLAINED[number])


@pytest.mark.parametrize(
    ("role", "attempt"),
    [("ordinary", "values(1)"), ("ordinary", "table t"), ("superuser", "show data_directory")],
)
async def test_what_only_reads_changes_nothing(world: World, role: str, attempt: str) -> None:
    assert len((await world.query(role, attempt))["rows"]) == 1
    assert world.state() == world.at_first


@pytest.mark.parametrize("number", range(len(EVERYDAY)))
async def test_everyday_analysis_works(world: World, number: int) -> None:
    shown = await world.query("ordinary", EVERYDAY[number])
    assert "rows" in shown


def test_every_function_that_reads_types_made_of_others_is_refused(world: World) -> None:
    """They take a type's number: no word of the query says whose checks they run."""
    readers = world.admin.execute(
        "SELECT DISTINCT p.proname FROM pg_type t JOIN pg_proc p ON p.oid = t.typinput"
        " WHERE t.typtype IN ('c', 'd', 'm', 'r') OR (t.typelem <> 0 AND t.typlen = -1"
        " AND p.pronargs > 1)"
    ).fetchall()
    assert len(readers) >= 5
    for (name,) in readers:
        with pytest.raises(ToolError, match=rf"calls pg_catalog\.{name}\(\)"):
            check_functions(world.admin, postgres_words(f"SELECT {name}('1', 1, -1)"), ())


def test_every_function_that_the_server_calls_volatile_is_refused_but_for_a_list(
    world: World,
) -> None:
    """New versions of Postgres bring new ones; none of them may be forgotten."""
    volatile = world.admin.execute(
        "SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace"
        " AND provolatile = 'v' AND NOT 'internal'::regtype = ANY(proargtypes) ORDER BY 1"
    ).fetchall()
    taken = set()
    for (name,) in volatile:
        try:
            check_functions(world.admin, postgres_words(f'SELECT 1 AS "{name}"'), ())
            taken.add(name)
        except ToolError as error:
            assert f"calls pg_catalog.{name}()" in str(error)  # noqa: PT017 - some are taken
    assert len(volatile) > 200
    reports = ("pg_stat_get_", "pg_last_", "pg_current_wal")
    assert {name for name in taken if not name.startswith(reports)} == {
        "array_sample", "array_shuffle", "clock_timestamp", "current_query", "gen_random_uuid",
        "pg_blocking_pids", "pg_collation_actual_version", "pg_database_size", "pg_get_wait_events",
        "pg_get_wal_replay_pause_state", "pg_indexes_size", "pg_is_in_recovery",
        "pg_is_wal_replay_paused", "pg_jit_available", "pg_lock_status",
        "pg_notification_queue_usage", "pg_partition_ancestors", "pg_partition_tree",
        "pg_relation_size", "pg_safe_snapshot_blocking_pids", "pg_sequence_last_value",
        "pg_stat_have_stats", "pg_table_size", "pg_tablespace_size", "pg_total_relation_size",
        "pg_xact_commit_timestamp", "pg_xact_status", "random", "random_normal", "timeofday",
        "txid_status", "uuidv4", "uuidv7",
    }  # fmt: skip
