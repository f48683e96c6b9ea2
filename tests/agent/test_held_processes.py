"""Two real processes want one session: one runs it, and what is killed or stopped is taken over."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tests._postgres import new_database
from tests.agent._held_process import HANG, STOP

pytestmark = [pytest.mark.anyio, pytest.mark.xdist_group("held")]
ROOT = Path(__file__).parents[2]


class Rival:
    """A process that runs the session, and what it says."""

    def __init__(self, pid: int, pipe: Path) -> None:
        self.pid = pid
        self._pipe = pipe
        self._lines: Iterator[str] | None = None

    async def says(self) -> str:
        """The next line."""
        with anyio.fail_after(20):
            return await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)

    def _read(self) -> str:
        self._lines = self._lines or self._pipe.open()
        return next(self._lines, "").strip()


class Arena:
    """Starts processes in milliseconds, by forking; they are killed in the end."""

    def __init__(self, process: subprocess.Popen[str], url: str, directory: Path) -> None:
        self._process = process
        self._url = url
        self._directory = directory
        self._numbers = itertools.count()
        self.started: list[Rival] = []

    def start(self, habit: str = "", *, lease: float = 30.0, wait: float = 0.0) -> Rival:
        pipe = self._directory / f"tell-{next(self._numbers)}"
        os.mkfifo(pipe)
        words = [self._url, str(self._directory / "ledger"), str(pipe), habit, lease, wait]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        self.started.append(Rival(int(self._process.stdout.readline()), pipe))
        return self.started[-1]

    def ledger(self) -> list[str]:
        return (self._directory / "ledger").read_text().splitlines()


@pytest.fixture(scope="module")
def forks() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.agent._held_process"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def arena(
    request: pytest.FixtureRequest, forks: subprocess.Popen[str], tmp_path: Path
) -> Iterator[Arena]:
    url = new_database() if request.param == "postgres" else f"sqlite:///{tmp_path}/s.db"
    made = Arena(forks, url, tmp_path)
    yield made
    for rival in made.started:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rival.pid, signal.SIGKILL)


async def test_a_second_process_is_refused_and_takes_over_at_once_when_the_first_is_killed(
    arena: Arena,
) -> None:
    first = arena.start(HANG)
    assert await first.says() == "pays"
    second = arena.start()
    said = await second.says()
    assert said.startswith(f"SessionHeld: Session 's' is held by process {first.pid} on ")
    assert arena.ledger() == [f"a by {first.pid}"]
    os.kill(first.pid, signal.SIGKILL)
    # Its lease is longer than this process would be waited for.
    third = arena.start()
    said = await third.says()
    assert said.startswith("done: This call was interrupted and its outcome is unknown")
    assert said.endswith("; paid b")
    assert arena.ledger() == [f"a by {first.pid}", f"b by {third.pid}"]


async def test_a_process_that_is_stopped_past_its_lease_begins_no_effect_when_it_goes_on(
    arena: Arena,
) -> None:
    sleeper = arena.start(STOP, lease=0.4)
    assert await sleeper.says() == "stops"
    other = arena.start(wait=15.0)
    assert await other.says() == "done: paid a; paid b"
    paid = [f"a by {sleeper.pid}", f"b by {other.pid}"]
    assert arena.ledger() == paid
    os.kill(sleeper.pid, signal.SIGCONT)
    assert "Session 's' is not held by this run any more" in await sleeper.says()
    assert arena.ledger() == paid
