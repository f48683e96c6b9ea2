"""A program that forks may use its store and its runner in both processes."""

import os
import sys
from pathlib import Path

import pytest
from tests._loaded import run_loaded
from tests._postgres import new_database


def run(program: str, kind: str, directory: Path) -> None:
    url = new_database() if kind == "postgres" else f"sqlite:///{directory}/s.db"
    words = [sys.executable, str(Path(__file__).with_name(program)), url]
    done = run_loaded(words, cwd=directory, env=dict(os.environ))
    assert done.returncode == 0, done.stderr


KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_forked_child_uses_the_store_of_its_parent(tmp_path: Path, kind: str) -> None:
    run("_forking.py", kind, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_going_is_not_that_of_a_forked_child(tmp_path: Path, kind: str) -> None:
    run("_forking_in_a_run.py", kind, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_forked_children_listen_for_tasks_each_by_itself(tmp_path: Path, kind: str) -> None:
    run("_forking_tasks.py", kind, tmp_path)
