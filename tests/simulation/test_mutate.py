"""The lines that `make mutate` changes are changed as somebody might by mistake."""

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[2] / "scripts" / "mutate.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = importlib.util.spec_from_file_location("mutate", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCE = '''
LIMIT = 3


def find(items: list[int], wanted: int = 1) -> bool:
    """Whether it is there."""
    total = len(items) + 1
    if wanted in items and total > 2:
        items.clear()
        return True
    return False
'''


def test_each_place_gives_another_program_that_can_be_read(script: Any) -> None:
    count = len(script.places(ast.parse(SOURCE)))
    made = [script.mutate(SOURCE, number)[0] for number in range(count)]
    assert len(set(made)) == count
    for text in made:
        ast.parse(text)


def test_comparisons_logic_constants_and_statements_are_changed(script: Any) -> None:
    count = len(script.places(ast.parse(SOURCE)))
    now = {script.mutate(SOURCE, number)[2] for number in range(count)}
    assert {
        "total = len(items) - 1",
        "if wanted in items or total > 2:",
        "if wanted not in items and total > 2:",
        "if wanted in items and total >= 2:",
        "return None",
        "pass",
    } <= now


def test_docstrings_and_annotations_are_left_alone(script: Any) -> None:
    count = len(script.places(ast.parse(SOURCE)))
    for number in range(count):
        text = script.mutate(SOURCE, number)[0]
        assert '"""Whether it is there."""' in text
        assert "def find(items: list[int], wanted: int=1) -> bool:" in text


def test_a_change_that_a_test_notices_does_not_survive(script: Any, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    code, test = Path("src/adder.py"), "test_adder.py"
    (tmp_path / code).write_text("def add(a, b):\n    return a + b\n")
    (tmp_path / test).write_text(
        "from adder import add\n\ndef test_it():\n    assert add(2, 3) == 5\n"
    )
    wrong = "def add(a, b):\n    return a - b\n"
    slow = "def add(a, b):\n    return b + a\n"
    assert script.judge(tmp_path, code, wrong, [test]) == "noticed"
    assert script.judge(tmp_path, code, slow, [test]) == "survived"
    assert (tmp_path / code).read_text().endswith("a + b\n")


def test_a_change_whose_tests_do_not_end_is_counted_apart(script: Any, tmp_path: Path) -> None:
    code, test = Path("adder.py"), "test_adder.py"
    (tmp_path / code).write_text("")
    (tmp_path / test).write_text("def test_it():\n    __import__('threading').Event().wait()\n")
    assert script.judge(tmp_path, code, "# changed", [test], 0.1) == "timed out"
    assert (tmp_path / code).read_text() == ""


def test_those_tests_run_first_that_are_most_about_the_file_and_those_that_fail_do_not(
    script: Any,
) -> None:
    here, elsewhere = Path("src/log.py"), [f"src/run.py:{n}" for n in range(9)]
    traced = {
        "wide": script.Traced("", 1.0, True, ["src/log.py:7", *elsewhere]),
        "narrow": script.Traced("", 1.0, True, ["src/log.py:7", "src/log.py:8"]),
        "other": script.Traced("", 1.0, True, ["src/log.py:8"]),
        "broken": script.Traced("", 1.0, False, ["src/log.py:7"]),
    }
    assert script.tests_for(traced, here, 7) == ["narrow", "wide"]
