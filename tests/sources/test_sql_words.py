"""Statements are taken apart as the servers do it, and MySQL's are judged by their words."""

import re

import pymysql.converters
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolwright.errors import ToolError
from toolwright.sources.sql._mysql import mysql_statement
from toolwright.sources.sql._words import Word, mysql_words, placeholders, postgres_words

PIECES = [
    "'", "''", "\\", "\\'", "E'", "e'", "U&'", "N'", "B'", '"', '""', "$", "$$", "$a$", "$:a", "$1",
    "a", "pg_x(", "é", "1", "1e5", ".", "::", ":", ":a", ":=", "--", "-- ", "/*", "*/", "/*!", "/*+",
    "#", "`", "%", "%(a)s", "%%", "+", "(", ")", ";", "\n", "\r", " ", "\u00a0", "@", "?", "=",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=15).map("".join)


def shown(words: list[Word]) -> list[tuple[str, str]]:
    return [(word.kind, word.text) for word in words]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT a", [("word", "select"), ("word", "a")]),
        ('"A""b".É', [("quoted", 'A"b'), ("symbol", "."), ("word", "É")]),
        ("E'a\\'b'\n'c\\'d' e", [("string", "E'a\\'b'\n'c\\'d'"), ("word", "e")]),
        ("E'a'--'\n'\\'' e", [("string", "E'a'--'\n'\\''"), ("word", "e")]),
        ("'a'\n'\\' e", [("string", "'a'"), ("string", "'\\'"), ("word", "e")]),
        ("$a$ $$ $a$ b", [("string", ""), ("word", "b")]),
        ("a$b$ c", [("word", "a$b$"), ("word", "c")]),
        ("/* /* */ a */ b --c\nd", [("word", "b"), ("word", "d")]),
        ("1+--2\n-3", [("number", "1"), ("operator", "+"), ("operator", "-"), ("number", "3")]),
        (" a ; ; ", [("word", "a")]),
    ],
)
def test_postgres_words(query: str, wanted: list[tuple[str, str]]) -> None:
    assert shown(postgres_words(query)) == wanted


def test_only_a_name_after_a_single_colon_is_bound() -> None:
    words = postgres_words("SELECT a::int, :b, ':c', d[1:e], f(g := 1), $$:h$$, \":i\" -- :j")
    assert [word.text for word in words if word.kind == "bind"] == ["b"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT `a``b` # c", [("word", "select"), ("quoted", "a`b")]),
        ("'a\\'b' \"c\\\"d\" e", [("string", "'a\\'b'"), ("string", '"c\\"d"'), ("word", "e")]),
        ("a--b -- c", [("word", "a"), ("symbol", "-"), ("symbol", "-"), ("word", "b")]),
        ("/* /* */ a", [("word", "a")]),
        ("a --\x7f ' \n b", [("word", "a"), ("word", "b")]),
    ],
)
def test_mysql_words(query: str, wanted: list[tuple[str, str]]) -> None:
    assert shown(mysql_words(query)) == wanted


@given(TEXTS)
def test_what_is_sent_has_the_same_words(query: str) -> None:
    """Nothing becomes another word because a placeholder has come next to it."""
    assume(not re.search(r":\w+:", query))  # read again, the second would be bound
    try:
        words = postgres_words(query)
    except ToolError:
        return
    sent = placeholders(query, words, {word.text: 1 for word in words if word.kind == "bind"})
    written = re.sub(r"%(%|\(\w+\)s)", lambda m: "%" if m[0] == "%%" else "$777", sent)
    again = postgres_words(written)
    unbound = [word for word in words if word.kind != "bind"]
    assert _text(again).replace("$777", "") == _text(unbound)


def _text(words: list[Word]) -> str:
    """The words without what was between them."""
    return "".join(f":{word.text}" if word.kind == "bind" else word.text for word in words).lower()


READS = [
    "SELECT 1",
    "select * from pets where name = :name;",
    "WITH x AS (SELECT 1) SELECT * FROM x",
    "(SELECT 1) UNION (SELECT 2)",
    "VALUES ROW(1)",
    "TABLE pets",
    "SELECT 'it''s; -- fine', \"a;b\", `into` FROM `for` # INTO",
    "SELECT count(*), now(), uuid(), rand(), last_insert_id()",
    "SELECT * FROM pets FORCE INDEX (a) WHERE JSON_EXTRACT(a, '$.b') = 1",
    "SHOW TABLES",
    "SHOW CREATE TABLE pets",
    "DESCRIBE pets",
    "EXPLAIN SELECT * FROM pets",
    "EXPLAIN ANALYZE SELECT * FROM pets",
    "EXPLAIN DELETE FROM pets",
    "SELECT @@version, @a",
]
REFUSED = [
    "INSERT INTO pets VALUES (1)",
    "UPDATE pets SET a = 1",
    "DELETE FROM pets",
    "REPLACE INTO pets VALUES (1)",
    "DROP TABLE pets",
    "CREATE TEMPORARY TABLE x (a INT)",
    "TRUNCATE pets",
    "SET GLOBAL read_only = 0",
    "SET STATEMENT tx_read_only = 0 FOR DROP TABLE pets",
    "BEGIN",
    "COMMIT",
    "START TRANSACTION READ WRITE",
    "XA START 'x'",
    "LOCK TABLES pets WRITE",
    "FLUSH TABLES WITH READ LOCK",
    "KILL 1",
    "CALL go()",
    "DO SLEEP(9)",
    "HANDLER pets OPEN",
    "LOAD DATA INFILE 'x' INTO TABLE pets",
    "LOAD DATA LOCAL INFILE 'x' INTO TABLE pets",
    "PREPARE p FROM 'DELETE FROM pets'",
    "EXECUTE IMMEDIATE 'DELETE FROM pets'",
    "INSTALL PLUGIN x SONAME 'y.so'",
    "GRANT ALL ON *.* TO x",
    "ANALYZE TABLE pets",
    "OPTIMIZE TABLE pets",
    "RESET MASTER",
    "PURGE BINARY LOGS TO 'x'",
    "CHANGE MASTER TO MASTER_HOST = 'x'",
    "SHUTDOWN",
    "USE mysql",
    "CACHE INDEX pets IN x",
    "SELECT 1; DELETE FROM pets",
    "SELECT 1 INTO OUTFILE '/x'",
    "SELECT 1 INTO DUMPFILE '/x'",
    "SELECT 1 INTO @a",
    "SELECT @a := 1",
    "SELECT * FROM pets FOR UPDATE",
    "SELECT * FROM pets FOR SHARE",
    "SELECT * FROM pets LOCK IN SHARE MODE",
    "SELECT * FROM pets PROCEDURE ANALYSE()",
    "SELECT GET_LOCK('a', 9)",
    "SELECT get_lock /* x */ ('a', 9)",
    "SELECT `get_lock`('a', 9)",
    "SELECT RELEASE_ALL_LOCKS()",
    "SELECT SLEEP(99)",
    "SELECT BENCHMARK(1e9, sha2('a', 256))",
    "SELECT LOAD_FILE('/x')",
    "SELECT LAST_INSERT_ID(5)",
    "SELECT NEXTVAL(s)",
    "SELECT NEXT VALUE FOR s",
    "SELECT SETVAL(s, 5)",
    "SELECT MASTER_POS_WAIT('x', 4)",
    "SELECT sys_exec('x')",
    "SELECT group_replication_set_as_primary('x')",
    "SELECT keyring_key_remove('x')",
    "SELECT /*! SLEEP(9) */",
    "SELECT 1 /*!50000 INTO OUTFILE '/x' */",
    "SELECT 1 /*M! INTO OUTFILE '/x' */",
    "SELECT /*+ SET_VAR(max_execution_time = 0) */ 1",
    "SELECT /*+ MAX_EXECUTION_TIME(0) */ 1",
    "SELECT 'a\\'' , SLEEP(9), ''",
    "SELECT 1--SLEEP(9)\n, SLEEP(9)",
    "EXPLAIN ANALYZE UPDATE pets, x SET a = 1",
    "EXPLAIN FORMAT=JSON INTO @a SELECT 1",
    "SELECT 'not closed",
    "SELECT `not closed",
    "SELECT /* not closed",
    "",
    "# nothing",
]


@pytest.mark.parametrize("query", READS)
def test_mysql_statements_that_read_are_taken(query: str) -> None:
    sent = mysql_statement(query, {"name": "O'Hara"})
    assert sent.startswith("(") == (query.split()[0].upper() not in ("SHOW", "DESCRIBE", "EXPLAIN"))


@pytest.mark.parametrize("query", REFUSED)
def test_mysql_statements_that_do_more_are_refused(query: str) -> None:
    with pytest.raises(ToolError, match=r"^Refused: "):
        mysql_statement(query, {})


def test_values_for_mysql_are_escaped_and_percent_signs_stay() -> None:
    sent = mysql_statement("SELECT '5%' WHERE a = :a -- :b", {"a": "O'Hara"})
    escaped = pymysql.converters.escape_item("O'Hara", "utf8mb4")
    assert sent % {"a": escaped} == "(SELECT '5%' WHERE a =  'O\\'Hara' \n)"


def test_a_name_without_a_value_is_told() -> None:
    with pytest.raises(ToolError, match="has :b, but parameters has no 'b'"):
        mysql_statement("SELECT :b", {"a": 1})


def test_very_long_statements_are_refused() -> None:
    with pytest.raises(ToolError, match="at most 100000"):
        postgres_words("SELECT '" + "x" * 100_000 + "'")
