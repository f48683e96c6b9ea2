"""Several processes share one database."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests._loaded import LoadedProgram
from tests._postgres import new_database

from toolwright.backends import open_store
from toolwright.messages import Given, Pending, PendingOpened, Scope, StateChanged

pytestmark = pytest.mark.anyio

SHARED = Scope(app_name="app", user_id="ada", session_id="shared")
NAMES = ("one", "two")
_PROGRAM = Path(__file__).with_name("_process.py")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_database() if request.param == "postgres" else f"sqlite:///{tmp_path}/shared.db"


def _start(address: str, work: str, name: str) -> LoadedProgram:
    command = [sys.executable, str(_PROGRAM), address, work, name]
    return LoadedProgram(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _work_together(address: str, work: str) -> dict[str, int]:
    """Start one process per name, let them go at the same time, and return what they say."""
    started = {name: _start(address, work, name) for name in NAMES}
    for process in started.values():
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started.values():
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = {name: process.communicate(timeout=60)[0] for name, process in started.items()}
    return {name: int(count) for name, count in said.items()}


async def test_processes_that_write_to_one_session_lose_nothing(address: str) -> None:
    # The database is made by whichever process comes first.
    _work_together(address, "append")
    store = open_store(address)
    events = await store.events(SHARED)
    assert [event.seq for event in events] == list(range(1, 81))
    assert await store.state(SHARED) == dict.fromkeys(NAMES, 39)
    await store.close()


async def test_processes_that_answer_the_same_calls_win_each_call_once(address: str) -> None:
    store = open_store(address)
    await store.open(SHARED)
    asked = [Pending(call_id=f"c{n}", name="ask", kind="choice") for n in range(50)]
    await store.append(SHARED, [PendingOpened(seq=n, pending=p) for n, p in enumerate(asked, 1)])
    won = _work_together(address, "answer")
    assert sum(won.values()) == 50
    calls = await store.open_calls("app")
    assert {name: [c.answer for c in calls].count(Given(value=name)) for name in NAMES} == won
    await store.close()


def _kill_while_writing(address: str) -> int:
    """Kill a process that writes without end; the last event it has said to be written."""
    with _start(address, "endless", "killed") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        for _ in range(40):
            process.stdout.readline()
        process.kill()
        # Not `communicate`: it would miss the lines that were read ahead.
        written = [int(line) for line in process.stdout.read().split()]
    return written[-1] if written else 39


async def test_what_a_killed_process_wrote_is_whole_and_can_be_gone_on_with(address: str) -> None:
    said = _kill_while_writing(address)
    store = open_store(address)
    row = await store.open(SHARED)
    events = await store.events(SHARED)
    assert row.last_seq in (said, said + 1)
    assert [event.seq for event in events] == list(range(1, row.last_seq + 1))
    assert await store.state(SHARED) == {"killed": row.last_seq, "user:last": row.last_seq}
    await store.append(SHARED, [StateChanged(seq=row.last_seq + 1, delta={"next": True})])
    await store.close()
