"""Databases for the tasks, and a nursery of worker processes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from tests._postgres import new_database

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/tasks.db" if request.param == "sqlite" else new_database()


class Nursery:
    """Starts workers in milliseconds, by forking."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @contextmanager
    def worker(self, url: str, log: Path, kill_at: int | str | None = None) -> Iterator[int]:
        """The id of a worker process, which is killed in the end."""
        words = [url, str(log), *([] if kill_at is None else [str(kill_at)])]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())
        try:
            yield pid
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


async def wait_for_end(pid: int) -> None:
    """Return when a process that is not our child has ended."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        with anyio.fail_after(30):
            await anyio.wait_readable(watched)
    finally:
        os.close(watched)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    command = [sys.executable, "-m", "tests.tasks._story"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Nursery(process)
        process.kill()
