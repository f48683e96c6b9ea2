"""A path may have any characters: the database is in the file that was meant, and private."""

import contextlib
import os
import re
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from toolwright import Orchestrator, SqlToolset
from toolwright.backends import (
    SqlStore,
    StoreBackend,
    new_key,
    open_credentials,
    open_memory,
    sqlite_address,
    sqlite_path,
)
from toolwright.errors import UsageError
from toolwright.messages import MemoryEntry, Scope
from toolwright.tasks._bell import LocalBell, open_bell

ADA = Scope(app_name="app", user_id="ada", session_id="s1")

odd_names = st.text(
    st.sampled_from([*"ab.%?#&=+:;@ä →\n\t\x7f\"'\\~$|*[](){}25", "\udcff", "\u202e", "🙂"]),
    min_size=1,
    max_size=20,
).filter(lambda name: name not in (".", "..", ":memory:"))


@contextlib.contextmanager
def working_in(name: str) -> Iterator[Path]:
    """A working directory with this name, below one that holds nothing else."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as above:
        place = Path(above).resolve() / name
        place.mkdir()
        os.chdir(place)
        try:
            yield place
        finally:
            os.chdir(before)
            assert os.listdir(above) == [name]


@given(name=odd_names, absolute=st.booleans())
@example(name="why?", absolute=True)
@example(name="100%25", absolute=False)
@example(name="a?mode=memory", absolute=True)
def test_an_address_leads_back_to_its_path(name: str, absolute: bool) -> None:
    path = Path("/data" if absolute else "data", name, f"{name}.db")
    address = sqlite_address(path)
    assert sqlite_path(address) == path
    assert address.isprintable()
    address.encode()


@given(name=odd_names, absolute=st.booleans())
@example(name="why?", absolute=True)
@example(name="a%20b", absolute=False)
@settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_store_uses_the_file_it_is_given_and_nobody_else_reads_it(
    name: str, absolute: bool
) -> None:
    file = f"{name}.db"

    async def use(store: SqlStore) -> None:
        await store.open(ADA)
        assert set(os.listdir()) == {file, f"{file}-wal", f"{file}-shm"}
        assert {stat.S_IMODE(os.stat(made).st_mode) for made in os.listdir()} == {0o600}
        await store.close()

    with working_in(name) as place:
        path = place / file if absolute else Path(file)
        store = SqlStore(sqlite_address(path))
        anyio.run(use, store)
        assert sqlite_path(str(store.database)) == path


def test_all_that_takes_an_address_uses_the_file_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWRIGHT_CREDENTIALS_KEY", new_key())

    async def use(address: str) -> None:
        memory = open_memory(address)
        await memory.add(ADA, [MemoryEntry(content="likes tea")])
        await memory.close()
        await StoreBackend(address).write("/note", b"tea")
        tasks = Orchestrator(address)
        assert await tasks.list() == []
        await tasks.close()
        await open_credentials(address).save(ADA, "key", "s3cret")
        tools = SqlToolset(address)
        assert len(await tools.list_tools(None)) > 0
        await tools.close()

    with working_in("100%25 why?") as place:
        anyio.run(use, sqlite_address(place / "a%20?b.db"))
        assert {name[:8] for name in os.listdir()} == {"a%20?b.d"}
        with contextlib.closing(sqlite3.connect("a%20?b.db")) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            found = database.execute("SELECT component FROM toolwright_schema").fetchall()
    assert {component for (component,) in found} == {"sessions", "memory", "files", "tasks"}
    assert "credentials" in tables


def test_one_file_has_one_bell_however_its_address_is_written() -> None:
    bells = [
        open_bell(f"sqlite:///{name}")
        for name in ("my tasks.db", "my%20tasks.db", "my%2520tasks.db")
    ]
    places = []
    for bell in bells:
        assert isinstance(bell, LocalBell)
        places.append(bell._directory)
    assert places[0] == places[1] != places[2]


def test_a_link_that_leads_nowhere_yet_is_followed_to_a_private_file(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "there.db")

    async def use() -> None:
        store = SqlStore(sqlite_address(tmp_path / "link.db"))
        await store.open(ADA)
        await store.close()

    anyio.run(use)
    assert stat.S_IMODE((tmp_path / "there.db").stat().st_mode) == 0o600


def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "shared.db").touch(mode=0o660)
    (tmp_path / "shared.db").chmod(0o660)

    async def use() -> None:
        store = SqlStore(sqlite_address(tmp_path / "shared.db"))
        await store.open(ADA)
        await store.close()

    anyio.run(use)
    assert stat.S_IMODE((tmp_path / "shared.db").stat().st_mode) == 0o660


@pytest.mark.parametrize("address", ["postgresql://host/name", "memory://", "sqlite+x:///a.db"])
def test_other_databases_have_no_path(address: str) -> None:
    assert sqlite_path(address) is None


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("sqlite:///why?/a.db", "%3F"),
        ("sqlite:///a%00b", "null character"),
        ("sqlite:///./:memory:", "names no file"),
        ("sqlite://host/a.db", "names no file"),
    ],
    ids=["options", "null", "memory", "host"],
)
def test_an_address_of_no_file_is_refused_with_the_reason(address: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        sqlite_path(address)


def test_nobody_puts_a_path_into_an_address_or_takes_it_out_by_hand() -> None:
    by_hand = re.compile(r"""sqlite:///\{|(partition|removeprefix|split)\(["']sqlite""")
    root = Path(__file__).parents[2]
    files = [
        file
        for place in ("src", "examples", "bench", "docs")
        for file in (root / place).rglob("*.py")
    ]
    assert len(files) > 300
    assert [str(file) for file in files if by_hand.search(file.read_text())] == []


def test_turning_a_new_file_to_wal_waits_for_whoever_has_it(tmp_path: Path) -> None:
    """SQLite refuses at once, whatever the timeout is; so two that begin at once would not both begin."""
    from toolwright.backends.sql._database import _write_ahead

    class Busy:
        refusals = 3

        def execute(self, statement: str) -> None:
            if self.refusals:
                self.refusals -= 1
                raise sqlite3.OperationalError("database is locked")
            connection.execute(statement)

    with contextlib.closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        busy = Busy()
        _write_ahead(busy)
        assert busy.refusals == 0
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
