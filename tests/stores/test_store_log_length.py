"""SQLite's write-ahead log does not grow without bound, and a reader does not keep it long."""

import sqlite3
from pathlib import Path

import pytest

from toolwright.backends import open_store
from toolwright.backends.sql import _database
from toolwright.messages import Scope, StateChanged

pytestmark = pytest.mark.anyio
SCOPE = Scope(app_name="app", user_id="u", session_id="s")


async def test_the_log_is_emptied_as_soon_as_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_database, "_LOG_BYTES", 100_000)
    monkeypatch.setattr(_database, "_LOG_WAIT_MS", 1)
    store, log = open_store(f"sqlite:///{tmp_path}/s.db"), tmp_path / "s.db-wal"
    await store.open(SCOPE)
    with sqlite3.connect(tmp_path / "s.db", isolation_level=None) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM toolwright_events").fetchall()
        for number in range(1, 61):
            await store.append(SCOPE, [StateChanged(seq=number, delta={"n": number})])
        long = log.stat().st_size
        reader.execute("COMMIT")
    reader.close()
    await store.append(SCOPE, [StateChanged(seq=61, delta={"n": 61})])
    assert long > 100_000
    assert log.stat().st_size < 100_000
    assert (await store.state(SCOPE), len(await store.events(SCOPE))) == ({"n": 61}, 61)
    await store.close()
