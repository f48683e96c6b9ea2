"""A program that forks may use its store in both processes."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests._postgres import new_database


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_forked_child_uses_the_store_of_its_parent(tmp_path: Path, kind: str) -> None:
    url = new_database() if kind == "postgres" else f"sqlite:///{tmp_path}/s.db"
    program = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("_forking.py")), url]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
