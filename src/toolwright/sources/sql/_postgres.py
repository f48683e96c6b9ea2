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
    first = words[0]
    if _is_one_of(_READS, first):
        return True
    if _is_one_of(("show",), first) and all(word.is_name or word.text == "." for word in words):
        return False
    if _is_one_of(("explain",), first):
        options, planned = _explained(words[1:])
        # The server runs EXPLAIN ANALYZE of SELECT … INTO even where it may only read.
        if _is_one_of(_READS, planned) and not any(_is_one_of(("into",), word) for word in words):
            return False
        if _is_one_of(_PLANNED, planned) and not {"analyze", "analyse"} & options:
            return False
    raise ToolError(
        f"Refused: a statement that begins with {words[0].text!r} may do more than read. Taken are "
        "SELECT, WITH, VALUES, TABLE, SHOW, and EXPLAIN of these without INTO; without ANALYZE also "
        "EXPLAIN of INSERT, UPDATE, DELETE and MERGE."
    )


def _explained(words: Sequence[Word]) -> tuple[set[str], Word | None]:
    """The options of an EXPLAIN, and the first word of what is explained."""
    options: set[str] = set()
    at = 0
    # Between parentheses stands a query or, extensions add to them, any options.
    if len(words) > 1 and words[0].text == "(" and not _is_one_of(_READS, words[1]):
        at = next((i for i, word in enumerate(words) if word.text == ")"), len(words)) + 1
        options = {word.text for word in words[:at]}
    while at < len(words) and words[at].text in ("analyze", "analyse", "verbose"):
        options.add(words[at].text)
        at += 1
    return options, words[at] if at < len(words) else None


def _is_one_of(texts: Collection[str], word: Word | None) -> bool:
    """Whether it is one of these words of the language, not a quoted name that looks like it."""
    return word is not None and word.kind in ("word", "symbol") and word.text in texts
