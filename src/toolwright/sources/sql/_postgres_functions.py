"""Which functions a Postgres statement would call, and which of them may do more than read.

A read-only transaction lets functions lock, notify, end sessions, set settings and write files. The
server knows each function's volatility: what is declared immutable or stable promises to change
nothing, and everything else is refused but for a short list. The names come from the statement's
words, every one that could be a call; what they mean comes from the server's own catalogs.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from toolwright.errors import ToolError
from toolwright.sources.sql._words import Word

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["check_functions"]

_HARMLESS = [
    "array_sample", "array_shuffle", "clock_timestamp", "current_query", "gen_random_uuid",
    "pg_blocking_pids", "pg_collation_actual_version", "pg_current_wal_flush_lsn",
    "pg_current_wal_insert_lsn", "pg_current_wal_lsn", "pg_database_size",
    "pg_get_wal_replay_pause_state", "pg_get_wait_events", "pg_indexes_size", "pg_is_in_recovery",
    "pg_is_wal_replay_paused", "pg_jit_available", "pg_last_wal_receive_lsn",
    "pg_last_wal_replay_lsn", "pg_last_xact_replay_timestamp", "pg_lock_status",
    "pg_notification_queue_usage", "pg_partition_ancestors", "pg_partition_tree",
    "pg_relation_size", "pg_safe_snapshot_blocking_pids", "pg_sequence_last_value",
    "pg_stat_get_backend_io", "pg_stat_get_backend_wal", "pg_stat_get_io",
    "pg_stat_get_xact_blocks_fetched", "pg_stat_get_xact_blocks_hit",
    "pg_stat_get_xact_function_calls", "pg_stat_get_xact_numscans",
    "pg_stat_get_xact_tuples_deleted", "pg_stat_get_xact_tuples_fetched",
    "pg_stat_get_xact_tuples_inserted", "pg_stat_get_xact_tuples_returned",
    "pg_stat_get_xact_tuples_updated", "pg_stat_have_stats", "pg_table_size", "pg_tablespace_size",
    "pg_total_relation_size", "pg_xact_commit_timestamp", "pg_xact_status", "random",
    "random_normal", "timeofday", "txid_status", "uuidv4", "uuidv7",
]  # fmt: skip
"""Functions of Postgres itself that are declared volatile and only give a value."""
_REFUSED = [
    # Run SQL that they are given as text, or read whole tables by name: views among them.
    "connectby", "crosstab", "crosstab2", "crosstab3", "crosstab4", "cursor_to_xml",
    "cursor_to_xmlschema", "database_to_xml", "database_to_xml_and_xmlschema", "query_to_xml",
    "query_to_xml_and_xmlschema", "query_to_xmlschema", "schema_to_xml",
    "schema_to_xml_and_xmlschema", "table_to_xml", "table_to_xml_and_xmlschema", "ts_stat",
    "xpath_table",
    # Make a value of a type that is named by a text: its check may call anything.
    "pg_input_error_info", "pg_input_is_valid",
    # Calls the hash functions of a partitioned table that is named by a number.
    "satisfies_hash_partition",
    # Take a transaction number.
    "pg_current_xact_id", "txid_current",
]  # fmt: skip
"""Functions that do more than their declaration, which says stable, may suggest."""
_INPUTS = ["array_in", "domain_in", "multirange_in", "range_in", "record_in"]
"""Functions that make a value of any type, given by its number: its check may call anything.

They are refused where they are called, not where a type is read by them: its check is looked at.
"""
_ALWAYS = ["=", "<>", "<", ">", "<=", ">=", "~", "!~", "~~", "!~~", "~~*", "!~~*"]
"""Operators that a statement can use without writing them: IN, LIKE, BETWEEN, ORDER BY, CASE."""

_QUERY = """
WITH RECURSIVE
called AS (
    SELECT p.oid
    FROM unnest(%(schemas)s::text[], %(calls)s::text[]) AS c(schema, name)
    JOIN pg_catalog.pg_proc p ON p.proname = c.name::name
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE CASE WHEN c.schema IS NULL THEN pg_catalog.pg_function_is_visible(p.oid)
          ELSE n.nspname = c.schema::name END
      AND NOT 'internal'::regtype = ANY(p.proargtypes)
  UNION
    -- TREAT(x AS name) calls a function of pg_catalog, so none may even be named; (x).name calls
    -- any that can be given one value, whatever its type.
    SELECT p.oid
    FROM pg_catalog.pg_proc p
    WHERE (p.proname = ANY(%(names)s::name[]) AND p.pronamespace = 'pg_catalog'::regnamespace
           AND NOT 'internal'::regtype = ANY(p.proargtypes))
       OR (p.proname = ANY(%(attributes)s::name[]) AND p.pronargs >= 1
           AND p.pronargs - p.pronargdefaults <= 1 AND pg_catalog.pg_function_is_visible(p.oid))
  UNION
    -- Several operators that stand next to each other are one run of characters.
    SELECT o.oprcode
    FROM pg_catalog.pg_operator o, pg_catalog.unnest(%(operators)s::text[]) AS run
    WHERE o.oid >= 16384 AND pg_catalog.strpos(run, o.oprname::text) > 0
),
-- What is named, and all that it leads to: what views, policies and checks use, the types of columns
-- and arguments, what these are made of, and every cast from or to them.
reached AS (
    SELECT 'pg_catalog.pg_proc'::regclass::oid AS kind, oid FROM called
  UNION
    SELECT 'pg_catalog.pg_class'::regclass, c.oid
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = ANY(%(names)s::name[]) AND c.oid >= 16384
      AND (pg_catalog.pg_table_is_visible(c.oid) OR n.nspname = ANY(%(names)s::name[]))
  UNION
    SELECT 'pg_catalog.pg_type'::regclass, t.oid
    FROM pg_catalog.pg_type t
    WHERE t.typname = ANY(%(names)s::name[]) AND t.oid >= 16384
  UNION
    SELECT 'pg_catalog.pg_cast'::regclass, c.oid
    FROM pg_catalog.pg_cast c
    WHERE c.oid >= 16384 AND c.castsource < 16384 AND c.casttarget < 16384
  UNION
    SELECT step.kind, step.oid
    FROM reached r, LATERAL (
        -- A function is believed: of what it uses, only its types are reached.
        SELECT d.refclassid AS kind, d.refobjid AS oid
        FROM pg_catalog.pg_depend d
        WHERE d.classid = r.kind AND d.objid = r.oid AND d.refobjid >= 16384
          AND (d.refclassid = 'pg_catalog.pg_type'::regclass
               OR (d.refclassid IN ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_proc'::regclass)
                   AND d.classid IN ('pg_catalog.pg_rewrite'::regclass,
                                     'pg_catalog.pg_policy'::regclass,
                                     'pg_catalog.pg_constraint'::regclass)))
      UNION ALL
        SELECT 'pg_catalog.pg_rewrite'::regclass, w.oid
        FROM pg_catalog.pg_rewrite w JOIN pg_catalog.pg_class c ON c.oid = w.ev_class
        WHERE r.kind = 'pg_catalog.pg_class'::regclass AND c.oid = r.oid AND c.relkind = 'v'
      UNION ALL
        SELECT 'pg_catalog.pg_policy'::regclass, p.oid
        FROM pg_catalog.pg_policy p
        WHERE r.kind = 'pg_catalog.pg_class'::regclass AND p.polrelid = r.oid
      UNION ALL
        SELECT 'pg_catalog.pg_constraint'::regclass, c.oid
        FROM pg_catalog.pg_constraint c
        WHERE r.kind = 'pg_catalog.pg_type'::regclass AND c.contypid = r.oid
      UNION ALL
        SELECT 'pg_catalog.pg_cast'::regclass, c.oid
        FROM pg_catalog.pg_cast c
        WHERE r.kind = 'pg_catalog.pg_type'::regclass AND r.oid IN (c.castsource, c.casttarget)
      UNION ALL
        SELECT 'pg_catalog.pg_type'::regclass, a.atttypid
        FROM pg_catalog.pg_type t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.typrelid
        WHERE r.kind = 'pg_catalog.pg_type'::regclass AND t.oid = r.oid AND a.atttypid >= 16384
      UNION ALL
        SELECT 'pg_catalog.pg_type'::regclass, a.aggtranstype
        FROM pg_catalog.pg_aggregate a
        WHERE r.kind = 'pg_catalog.pg_proc'::regclass AND a.aggfnoid::oid = r.oid
          AND a.aggtranstype >= 16384
    ) AS step
),
trees AS (
    SELECT w.ev_action::text AS tree
    FROM reached r JOIN pg_catalog.pg_rewrite w ON w.oid = r.oid
    WHERE r.kind = 'pg_catalog.pg_rewrite'::regclass
  UNION ALL
    SELECT p.polqual::text
    FROM reached r JOIN pg_catalog.pg_policy p ON p.oid = r.oid
    WHERE r.kind = 'pg_catalog.pg_policy'::regclass
  UNION ALL
    SELECT c.conbin::text
    FROM reached r JOIN pg_catalog.pg_constraint c ON c.oid = r.oid
    WHERE r.kind = 'pg_catalog.pg_constraint'::regclass
  UNION ALL
    SELECT p.proargdefaults::text
    FROM reached r JOIN pg_catalog.pg_proc p ON p.oid = r.oid
    WHERE r.kind = 'pg_catalog.pg_proc'::regclass
),
written AS (
    SELECT oid FROM called
  UNION
    SELECT m[1]::oid
    FROM trees, pg_catalog.regexp_matches(
        tree, ':(?:funcid|opfuncid|aggfnoid|winfnoid) ([0-9]+)', 'g') AS m
),
within AS (
    SELECT r.oid FROM reached r WHERE r.kind = 'pg_catalog.pg_proc'::regclass
  UNION
    SELECT oid FROM written
  UNION
    SELECT c.castfunc
    FROM reached r JOIN pg_catalog.pg_cast c ON c.oid = r.oid
    WHERE r.kind = 'pg_catalog.pg_cast'::regclass
  UNION
    SELECT pg_catalog.unnest(ARRAY[t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin,
                        g.rngcanonical, g.rngsubdiff]::oid[])
    FROM reached r
    JOIN pg_catalog.pg_type t ON t.oid = r.oid
    LEFT JOIN pg_catalog.pg_range g ON g.rngtypid = t.oid
    WHERE r.kind = 'pg_catalog.pg_type'::regclass
  UNION
    -- Sorting and grouping compare by these, whatever the operators' names are.
    SELECT s.amproc
    FROM reached r
    JOIN pg_catalog.pg_amproc s ON r.oid IN (s.amproclefttype, s.amprocrighttype)
    JOIN pg_catalog.pg_opfamily f ON f.oid = s.amprocfamily
    JOIN pg_catalog.pg_am a ON a.oid = f.opfmethod AND a.amname IN ('btree', 'hash')
    JOIN pg_catalog.pg_proc p ON p.oid = s.amproc AND NOT 'internal'::regtype = ANY(p.proargtypes)
    WHERE r.kind = 'pg_catalog.pg_type'::regclass
  UNION
    SELECT o.oprcode
    FROM reached r
    JOIN pg_catalog.pg_amop m ON r.oid IN (m.amoplefttype, m.amoprighttype)
    JOIN pg_catalog.pg_am a ON a.oid = m.amopmethod AND a.amname IN ('btree', 'hash')
    JOIN pg_catalog.pg_operator o ON o.oid = m.amopopr
    WHERE r.kind = 'pg_catalog.pg_type'::regclass
),
used AS (
    SELECT oid FROM within
  UNION
    SELECT pg_catalog.unnest(ARRAY[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggmtransfn,
                        a.aggminvtransfn, a.aggmfinalfn]::oid[])
    FROM pg_catalog.pg_aggregate a
    WHERE a.aggfnoid::oid IN (SELECT oid FROM within)
)
SELECT n.nspname, p.proname, p.oid IN (SELECT oid FROM called), l.lanname,
       p.provolatile = 'v'
FROM used
JOIN pg_catalog.pg_proc p ON p.oid = used.oid
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_language l ON l.oid = p.prolang
WHERE (p.proname = ANY(%(refused)s::name[])
       OR (p.proname = ANY(%(inputs)s::name[]) AND p.oid IN (SELECT oid FROM written))
       OR (NOT l.lanpltrusted AND l.lanname NOT IN ('c', 'internal'))
       OR (p.provolatile = 'v' AND NOT (
           n.nspname = 'pg_catalog' AND p.proname = ANY(%(harmless)s::name[]))))
  AND NOT (p.proname::text = ANY(%(allowed)s::text[])
           OR n.nspname || '.' || p.proname = ANY(%(allowed)s::text[]))
ORDER BY 3 DESC, 1, 2
LIMIT 1
"""


def check_functions(
    connection: "Connection[Any]", words: Sequence[Word], allowed: Collection[str]
) -> None:
    """Raise `ToolError` if the statement could call a function that does more than read.

    One that could be called through a view, a policy, an operator, an aggregate, the default of an
    argument, or a cast or check of any type that is involved counts too. `allowed` are names that
    are not checked, with or without their schema.
    """
    found = connection.execute(_QUERY, _lookup(words, allowed)).fetchone()
    if found is not None:
        schema, name, is_direct, language, is_volatile = found
        ways = "an operator, an aggregate, a view, a policy, a type, a cast or a default"
        place = "calls" if is_direct else f"could call, through {ways},"
        raise ToolError(
            f"Refused: the query {place} {schema}.{name}(), {_why(language, is_volatile)}. "
            "Only functions that do nothing but compute or read can be called."
        )


def _why(language: str, is_volatile: bool) -> str:
    if language not in ("c", "internal", "sql", "plpgsql"):
        return f"written in {language}, which can reach beyond the database"
    if is_volatile:
        return "which is declared VOLATILE: it may change something"
    return "which can run other functions or statements, or takes a transaction number"


def _lookup(words: Sequence[Word], allowed: Collection[str]) -> dict[str, Any]:
    calls = list(_calls(words))
    names = {form for word in words if word.is_name for form in _forms(word)}
    return {
        "schemas": [schema for schema, _ in calls],
        "calls": [name for _, name in calls],
        "attributes": sorted({form for word in _attributes(words) for form in _forms(word)}),
        "names": sorted(names),
        "operators": sorted({*_ALWAYS, *(word.text for word in words if word.kind == "operator")}),
        "refused": _REFUSED,
        "inputs": _INPUTS,
        "harmless": _HARMLESS,
        "allowed": sorted(allowed),
    }


def _calls(words: Sequence[Word]) -> "set[tuple[str | None, str]]":
    """Every name before a parenthesis, with the schema before it if there is one."""
    found: set[tuple[str | None, str]] = set()
    for at, word in enumerate(words[:-1]):
        if word.is_name and words[at + 1].text == "(":
            qualified = at >= 2 and words[at - 1].text == "." and words[at - 2].is_name
            schemas = _forms(words[at - 2]) if qualified else (None,)
            found.update((schema, name) for schema in schemas for name in _forms(word))
    return found


def _attributes(words: Sequence[Word]) -> list[Word]:
    return [word for before, word in pairwise(words) if word.is_name and before.text == "."]


def _forms(word: Word) -> tuple[str, ...]:
    """A name as the server may fold it: in some encodings it lowers more letters than ASCII's."""
    lower = word.text.lower()
    return (word.text,) if word.kind == "quoted" or lower == word.text else (word.text, lower)
