"""Reading from Postgres: which statements are taken, and how each is run so that it only reads."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from toolwright.errors import ToolError
from toolwright.sources.sql._limits import QueryLimits, as_table
from toolwright.sources.sql._postgres_functions import check_functions
from toolwright.sources.sql._postgres_session import driver_of
from toolwright.sources.sql._words import Word, placeholders, postgres_words

__all__ = ["read_postgres"]

_READS = ("select", "with", "values", "table", "(")
_PLANNED = ("insert", "update", "delete", "merge")
_EXPLAIN_OPTIONS = (
    "analyze", "analyse", "verbose", "costs", "settings", "generic_plan", "buffers", "serialize",
    "wal", "timing", "summary", "memory", "format",
)  # fmt: skip


def read_postgres(
    connection: Connection,
    query: str,
    values: Mapping[str, Any],
    limits: QueryLimits,
    *,
    functions: Collection[str],
) -> dict[str, Any]:
    """The result of a statement that reads; any other is refused.

    The transaction is read-only already. A query is declared as a cursor, which the server does
    for one statement that reads and for nothing else. EXPLAIN and SHOW cannot be declared; they
    are sent in a message that holds a single statement.
    """
    words = postgres_words(query)
    is_query = _is_query(words)
    driver = driver_of(connection)
    check_functions(driver, words, functions)
    text = placeholders(query, words, values)
    if is_query:
        with driver.cursor(name="toolwright") as declared:
            declared.execute(text, values)  # type: ignore[arg-type]
            rows = declared.fetchmany(limits.rows + 1)
            return as_table([column.name for column in declared.description or ()], rows, limits)
    # binary: without values the driver would else send it as a script of statements.
    with driver.cursor() as cursor:
        cursor.execute(text, values, binary=True)  # type: ignore[arg-type]
        return as_table([column.name for column in cursor.description or ()], cursor, limits)


def _is_query(words: Sequence[Word]) -> bool:
    """Whether it is a query rather than an EXPLAIN or SHOW; raises for everything else."""
    first = words[0].text if words[0].kind in ("word", "symbol") else ""
    if first in _READS:
        return True
    if first == "show" and all(word.is_name or word.text == "." for word in words):
        return False
    if first == "explain":
        options, planned = _explained(words[1:])
        if planned in _READS or (planned in _PLANNED and not {"analyze", "analyse"} & options):
            return False
    raise ToolError(
        f"Refused: a statement that begins with {words[0].text!r} may do more than read. Taken are "
        "SELECT, WITH, VALUES, TABLE, SHOW, and EXPLAIN of these; without ANALYZE also EXPLAIN of "
        "INSERT, UPDATE, DELETE and MERGE."
    )


def _explained(words: Sequence[Word]) -> tuple[set[str], str]:
    """The options of an EXPLAIN, and the first word of what is explained."""
    options: set[str] = set()
    at = 0
    if len(words) > 1 and words[0].text == "(" and words[1].text in _EXPLAIN_OPTIONS:
        at = next((i for i, word in enumerate(words) if word.text == ")"), len(words)) + 1
        options = {word.text for word in words[:at]}
    while at < len(words) and words[at].text in ("analyze", "analyse", "verbose"):
        options.add(words[at].text)
        at += 1
    return options, words[at].text if at < len(words) else ""
