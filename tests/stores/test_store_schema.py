"""A database remembers which version of the tables it has."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from tests._postgres import new_database

from toolwright.backends import Hold, open_store
from toolwright.errors import StoreError
from toolwright.messages import Given, Scope, StateChanged

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
    with pytest.raises(StoreError, match=r"have version 7; .* up to 2\. Upgrade toolwright"):
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
async def test_a_database_of_an_older_version_gets_what_is_new_and_keeps_its_sessions(
    kind: str, tmp_path: Path
) -> None:
    address = _address(kind, tmp_path)
    old = open_store(address)
    await old.open(ADA)
    await old.append(ADA, [StateChanged(seq=1, delta={"n": 1})])
    await old.close()
    _undo_version_two(address)
    store = open_store(address)
    hold = Hold(id="h", since=0.0, first=True)
    await store.append(ADA, [StateChanged(seq=2, delta={"n": 2})], hold)
    assert await store.state(ADA) == {"n": 2}
    holder = await store.holder(ADA)
    assert holder is not None
    assert not holder.is_gone
    await store.close()
    again = open_store(address)
    assert (await again.open(ADA)).last_seq == 2
    await again.close()


def _undo_version_two(address: str) -> None:
    """As version 1 has left it, in the database of a task queue."""
    engine = create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        for column in ("hold", "holder", "held_since"):
            connection.execute(text(f"ALTER TABLE toolwright_sessions DROP COLUMN {column}"))
        for column in ("started", "beat_at"):
            connection.execute(text(f"ALTER TABLE toolwright_workers DROP COLUMN {column}"))
    engine.dispose()
    _set_version(address, 1)


async def test_the_answer_to_a_closed_call_is_not_kept(tmp_path: Path) -> None:
    from toolwright.messages import Pending, PendingAnswered, PendingOpened, ToolEnded, ToolResult

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
