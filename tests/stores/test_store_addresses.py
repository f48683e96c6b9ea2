"""One address says where sessions are kept."""

import gc
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from toolwright import Agent, Runner
from toolwright.backends import MemoryStore, SqlStore, open_store
from toolwright.errors import StoreError, UsageError
from toolwright.messages import Scope
from toolwright.testing import ScriptedModel

pytestmark = pytest.mark.anyio

ADA = Scope(app_name="app", user_id="ada", session_id="s1")


def test_each_form_of_address_gives_its_store() -> None:
    assert isinstance(open_store("memory://"), MemoryStore)
    assert isinstance(open_store("sqlite:///file.db"), SqlStore)
    assert isinstance(open_store("postgresql://ada@localhost/name"), SqlStore)
    assert isinstance(open_store("postgres://ada@localhost/name"), SqlStore)


def test_a_store_is_taken_as_it_is() -> None:
    store = MemoryStore()
    assert open_store(store) is store


@pytest.mark.parametrize("wrong", ["", "file.db", "mysql://host/x", "memory", "memory://x", "://"])
def test_a_wrong_address_is_refused_with_the_right_forms(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"memory://.*sqlite:///file\.db.*postgresql://"):
        open_store(wrong)


@pytest.mark.parametrize(
    "wrong", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite://x.db"]
)
def test_an_sqlite_address_without_a_file_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match="names no file"):
        open_store(wrong)


def test_an_option_that_sqlite_would_ignore_is_refused() -> None:
    with pytest.raises(UsageError, match="`, which begins options, and SQLite addresses take none"):
        open_store("sqlite:///file.db?mode=ro")


def test_what_is_neither_store_nor_address_is_refused() -> None:
    with pytest.raises(UsageError, match="neither a store nor an address"):
        open_store(Path("file.db"))  # type: ignore[arg-type]


async def test_nothing_is_opened_before_it_is_used(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/new.db")
    assert os.listdir(tmp_path) == []
    await store.open(ADA)
    assert "new.db" in os.listdir(tmp_path)
    await store.close()


async def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = open_store(f"sqlite:///{tmp_path}/file/new.db")
    with pytest.raises(StoreError, match=r"file/new\.db.*Not a directory"):
        await store.open(ADA)


async def test_a_password_is_not_shown_when_a_server_cannot_be_reached() -> None:
    store = open_store("postgresql://ada:hunter2@127.0.0.1:1/name?connect_timeout=2")
    with pytest.raises(StoreError, match=r"postgresql://ada:\*\*\*@127\.0\.0\.1:1/name") as caught:
        await store.open(ADA)
    assert "hunter2" not in str(caught.value)


async def test_a_closed_store_can_be_used_again(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/sessions.db")
    await store.open(ADA)
    await store.close()
    assert await store.find("app", "s1") is not None
    await store.close()


@pytest.mark.parametrize("kind", ["memory", "sql memory", "sqlite"])
async def test_a_store_that_runners_share_keeps_everything_when_one_of_them_is_closed(
    kind: str, tmp_path: Path
) -> None:
    stores = {
        "memory": MemoryStore,
        "sql memory": lambda: SqlStore("memory://"),
        "sqlite": lambda: SqlStore(f"sqlite:///{tmp_path}/s.db"),
    }
    store = stores[kind]()
    first, second = (
        Runner(Agent(name="a", model=ScriptedModel("one", "two")), store=store) for _ in range(2)
    )
    await first.run("x", session_id="s")
    await second.close()
    assert (await first.run("y", session_id="s")).text == "two"
    assert len(await first.sessions()) == 1
    await first.close()


async def test_a_database_in_memory_goes_with_the_last_who_has_it() -> None:
    store = SqlStore("memory://")
    await store.find("app", "s1")
    await store.close()
    connection = await store.database.read(lambda c: c.connection.dbapi_connection)
    assert isinstance(connection, sqlite3.Connection)
    del store
    with anyio.fail_after(10):
        while _is_open(connection):  # The thread that has read from it lets go a moment later.
            gc.collect()
            await anyio.sleep(0.001)


def _is_open(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


def test_without_the_extra_the_error_names_it() -> None:
    program = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "from toolwright.backends import open_store\n"
        "open_store('memory://')\n"
        "open_store('sqlite:///x.db')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'toolwright[sql]'" in done.stderr
