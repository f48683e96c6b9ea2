"""A database remembers which version of the tables it has."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import MetaData, create_engine, create_mock_engine, text
from tests._postgres import new_database

from toolwright.backends import Hold, open_store
from toolwright.backends.memory import _schema as memory
from toolwright.backends.sql import _schema as sessions
from toolwright.errors import StoreError
from toolwright.messages import (
    Event,
    Given,
    Pending,
    PendingAnswered,
    PendingOpened,
    RunEnded,
    RunStarted,
    Scope,
    StateChanged,
    ToolEnded,
    ToolResult,
)
from toolwright.tasks import _schema as tasks

pytestmark = pytest.mark.anyio

ADA = Scope(app_name="app", user_id="ada", session_id="s1")


def _address(kind: str, directory: Path) -> str:
    return new_database() if kind == "postgres" else f"sqlite:///{directory}/sessions.db"


def _set_version(address: str, version: int) -> None:
    engine = create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE toolwright_schema SET version = {version}"))
    engine.dispose()


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_a_database_of_a_newer_version_is_refused(kind: str, tmp_path: Path) -> None:
    address = _address(kind, tmp_path)
    store = open_store(address)
    await store.open(ADA)
    await store.close()
    _set_version(address, 7)
    with pytest.raises(StoreError, match=r"have version 7; .* up to 4\. Upgrade toolwright"):
        await open_store(address).open(ADA)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_a_database_that_is_there_keeps_its_sessions(kind: str, tmp_path: Path) -> None:
    address = _address(kind, tmp_path)
    first = open_store(address)
    await first.open(ADA)
    await first.append(ADA, [StateChanged(seq=1, delta={"n": 1})])
    await first.close()
    second = open_store(address)
    assert (await second.open(ADA)).last_seq == 1
    assert await second.state(ADA) == {"n": 1}
    await second.close()


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
@pytest.mark.parametrize("version", [1, 2, 3])
async def test_a_database_of_an_older_version_gets_what_is_new_and_keeps_its_sessions(
    kind: str, tmp_path: Path, version: int
) -> None:
    address = _address(kind, tmp_path)
    old = open_store(address)
    await old.open(ADA)
    await old.append(ADA, [StateChanged(seq=1, delta={"n": 1})])
    await old.close()
    _make_old(address, version)
    store = open_store(address)
    asked = [Pending(call_id=call, name="ask", kind="choice") for call in ("b", "a")]
    opened = [PendingOpened(seq=n, pending=pending) for n, pending in enumerate(asked, 2)]
    await store.append(ADA, opened)
    assert [row.pending.call_id for row in await store.open_calls("app")] == ["b", "a"]
    hold = Hold(id="h", since=0.0, first=True)
    await store.append(ADA, [StateChanged(seq=4, delta={"n": 2})], hold)
    assert await store.state(ADA) == {"n": 2}
    holder = await store.holder(ADA)
    assert holder is not None
    assert not holder.is_gone
    await store.close()
    again = open_store(address)
    assert (await again.open(ADA)).last_seq == 4
    await again.close()


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_runs_that_an_older_version_left_unfinished_are_found(
    kind: str, tmp_path: Path
) -> None:
    address = _address(kind, tmp_path)
    old = open_store(address)
    asked = Pending(call_id="c", name="ask", kind="choice")
    logs: dict[str, Sequence[Event]] = {
        "empty": [],
        "done": [RunStarted(seq=1), RunEnded(seq=2, status="done")],
        "answered": [PendingOpened(seq=1, pending=asked), RunEnded(seq=2, status="paused")],
        **{f"cut-off-{n}": [RunStarted(seq=1)] for n in range(201)},
    }
    for name, events in logs.items():
        await old.open(Scope(app_name="app", user_id="ada", session_id=name))
        if events:
            await old.append(Scope(app_name="app", user_id="ada", session_id=name), events)
    await old.close()
    _make_old(address, 3)
    store = open_store(address)
    cut_off = {name for name in logs if name.startswith("cut-off")}
    found = [row.scope.session_id for row in await store.unfinished("app")]
    assert len(found) == len(cut_off)
    assert set(found) == cut_off
    await store.answer("app", "answered", "c", Given(value="x"))
    found = [row.scope.session_id for row in await store.unfinished("app")]
    assert set(found) == {*cut_off, "answered"}
    await store.close()


NEW = {
    2: {"sessions": ("hold", "holder", "held_since"), "workers": ("started", "beat_at")},
    3: {"pending": ("position",)},
    4: {"sessions": ("unfinished",)},
}
"""The columns that each version has added, by table."""


def _make_old(address: str, version: int) -> None:
    """As an older version has left it, in the database of a task queue."""
    engine = create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    tables = [new for number, new in NEW.items() if number > version]
    with engine.begin() as connection:
        connection.execute(text("DROP INDEX toolwright_sessions_unfinished"))
        for table, columns in [item for new in tables for item in new.items()]:
            for column in columns:
                connection.execute(text(f"ALTER TABLE toolwright_{table} DROP COLUMN {column}"))
    engine.dispose()
    _set_version(address, version)


def _digest(metadata: MetaData) -> str:
    """Changes with every table, column and index that either database would get."""
    made = [*_statements(metadata, "sqlite://"), *_statements(metadata, "postgresql+psycopg://")]
    return hashlib.sha256("\n".join(sorted(made)).encode()).hexdigest()[:16]


def _statements(metadata: MetaData, address: str) -> list[str]:
    """The statements that make the tables; indexes come in any order."""
    said: list[str] = []

    def note(made: Any, *_: Any, **__: Any) -> None:
        said.append(" ".join(str(made.compile(dialect=engine.dialect)).split()))

    engine = create_mock_engine(address, note)
    metadata.create_all(engine, checkfirst=False)
    return said


@pytest.mark.parametrize(
    ("schema", "digests"),
    [
        pytest.param(sessions, {4: "4c71d20c040b0fad"}, id="sessions"),
        pytest.param(
            tasks,
            {
                1: "62bfcc769e79f817",
                2: "47202457c614b137",
                3: "5f0e7d11af438717",
                4: "76e944600488f1d5",
                5: "cb8b33b9ec8eaf5a",
                6: "0b07e27bf3097c0f",
                7: "891061192b5a2b93",
                8: "a6a5a0bfd8bc0cdc",
            },
            id="tasks",
        ),
        pytest.param(memory, {1: "cfa0520328609d3f"}, id="memory"),
    ],
)
def test_a_schema_that_has_changed_has_another_number(
    schema: ModuleType, digests: dict[int, str]
) -> None:
    # When this fails: raise VERSION beside the tables, and add a line for it here. Never change one:
    # there are databases of that version.
    assert digests.get(schema.VERSION) == _digest(schema.METADATA)


async def test_the_answer_to_a_closed_call_is_not_kept(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/sessions.db")
    await store.open(ADA)
    asked = Pending(call_id="c1", name="login", kind="credential")
    await store.append(ADA, [PendingOpened(seq=1, pending=asked)])
    await store.answer("app", "s1", "c1", Given(value={"token": "very-secret-value"}))
    result = ToolResult(call_id="c1", name="login", status="ok")
    used = PendingAnswered(seq=2, call_id="c1")
    await store.append(ADA, [used, ToolEnded(seq=3, result=result)])
    await store.close()
    assert b"very-secret-value" not in (tmp_path / "sessions.db").read_bytes()
