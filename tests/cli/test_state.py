"""Where the program keeps sessions: one private file for each working directory, whatever its name."""

import os
import stat
from pathlib import Path

import anyio
import pytest
from tests.cli.program import DESK, here

from toolwright import Agent, Orchestrator, load_agent_file
from toolwright.backends import sqlite_path
from toolwright.cli._state import default_store
from toolwright.testing import ScriptedModel

ODD = {
    "question": "why?",
    "options": "a?mode=memory",
    "percent": "100%25",
    "quoted": "a%20b",
    "lines": "new\nline",
    "long": "ä" * 120,
    "bytes": os.fsdecode(b"bad\xff"),
}


@pytest.fixture(params=ODD.values(), ids=list(ODD))
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A directory with an odd name, alone in its own, with an agent in it."""
    place = tmp_path / "alone" / request.param
    place.mkdir(parents=True)
    (place / "desk.py").write_text(DESK)
    return place


def test_sessions_are_found_again_in_a_directory_of_any_name(odd: Path, state: Path) -> None:
    here("run", "Hi", "-a", "desk:agent", cwd=odd)
    assert here("sessions", "list", "-a", "desk:agent", cwd=odd).stdout.count("Hi") == 1
    [database] = (state / "toolwright" / "sessions").iterdir()
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert os.listdir(odd.parent) == [odd.name]


def test_a_relative_store_of_an_agent_file_is_beside_it(odd: Path) -> None:
    (odd / "agent.yaml").write_text("store: sqlite:///kept%20here/a.db\nmodel: me\n")
    loaded = load_agent_file(odd / "agent.yaml")
    assert sqlite_path(loaded.store_address) == odd / "kept here" / "a.db"
    assert sqlite_path(loaded.store) == odd / "kept here" / "a.db"
    waiting = here("tools", "call", "bash", "command=touch x", cwd=odd, check=None)
    assert '"pending"' in waiting.stdout
    assert stat.S_IMODE((odd / "kept here" / "a.db").stat().st_mode) == 0o600
    assert os.listdir(odd.parent) == [odd.name]


def test_a_store_that_is_named_is_the_same_for_every_command(tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(DESK)
    there = ("-a", "desk:agent", "--store", "sqlite:///my%20sessions.db")
    here("run", "Hi", *there, cwd=tmp_path)
    assert "Hi" in here("sessions", "list", *there, cwd=tmp_path).stdout
    assert (tmp_path / "my sessions.db").is_file()


def test_long_names_that_begin_alike_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = set()
    for end in ("a", "b"):
        place = tmp_path / ("x" * 240 + end)
        place.mkdir()
        monkeypatch.chdir(place)
        addresses.add(default_store())
    assert len(addresses) == 2


def test_tasks_are_found_under_a_quoted_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def enqueue() -> None:
        async with Orchestrator("sqlite:///my%20tasks.db") as queue:
            queue.register(Agent(name="clerk", model=ScriptedModel()))
            await queue.enqueue("clerk", "File it.")

    anyio.run(enqueue)
    listed = here("tasks", "list", "--from", "sqlite:///my%20tasks.db", cwd=tmp_path)
    assert "clerk" in listed.stdout
