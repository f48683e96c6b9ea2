"""Every statement of the five documents has a test that names it, and the page shows them all."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from scripts.statements import PAGE, Statement, page_with, read_statements

ROOT = Path(__file__).resolve().parents[2]
STATEMENTS = read_statements()


@cache
def _named(file: str) -> dict[str, list[str]]:
    """The rows that each test of a file names."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: list(_rows(node)) for node in tree.body if isinstance(node, kinds)}


def _rows(test: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for mark in test.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.row":
            yield from (ast.literal_eval(argument) for argument in mark.args)


@pytest.mark.parametrize("one", STATEMENTS, ids=lambda one: one.id)
def test_a_statement_has_a_test_that_names_it(one: Statement) -> None:
    file, _, name = one.test.partition("::")
    assert one.statement
    assert one.id in _named(file)[name]


def test_only_a_statement_that_a_name_is_public_hangs_on_a_test_of_names() -> None:
    by_name = "tests/docs/test_coverage.py::test_each_feature_exists_with_its_arguments"
    said = [one.statement for one in STATEMENTS if one.test == by_name]
    assert said
    assert [text for text in said if not text.startswith("public name ")] == []


def test_no_statement_is_there_twice_and_no_test_names_one_that_is_not_there() -> None:
    known = Counter(one.id for one in STATEMENTS)
    assert [row for row, count in known.items() if count > 1] == []
    files = (ROOT / "tests").rglob("test_*.py")
    marked = [file for file in files if "pytest.mark.row(" in file.read_text(encoding="utf-8")]
    named = {row for file in marked for rows in _named(str(file)).values() for row in rows}
    assert named == set(known)


def test_the_page_shows_the_statements_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == page_with(STATEMENTS, page), "run `python scripts/statements.py`"
