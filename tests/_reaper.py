"""Ends what a test run has started and left behind: run beside it, it outlives even a `kill -9`."""

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

__all__ = ["RUN", "in_memory", "start_reaper", "temporary_prefix"]

RUN = "TOOLWRIGHT_TEST_RUN"
"""The variable that names the run in the environment of every process that it starts."""
_GRACE_SECONDS = 5.0
_PROC = Path("/proc")
_MEMORY = Path("/dev/shm")
_ROOM = 2_000_000_000


def start_reaper() -> None:
    """Mark this process's children, and watch over them; once for a run and all its workers."""
    if RUN in os.environ or not hasattr(os, "pidfd_open"):
        return
    run = os.environ[RUN] = uuid.uuid4().hex[:8]
    subprocess.Popen(
        [sys.executable, __file__, str(os.getpid()), run],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def temporary_prefix() -> str:
    """How the names of this run's own temporary directories begin; short, for sockets."""
    return f"tw{os.environ.get(RUN, '')}-"


def in_memory() -> Path:
    """Where files need no disk, if this machine has such a place and room there.

    A commit takes ten milliseconds on a slow disk, and a new Postgres database hundreds.
    """
    if os.access(_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(_MEMORY).free >= _ROOM:
        return _MEMORY
    return Path(tempfile.gettempdir())


def _reap(watched: int, run: str) -> None:
    """Wait until the run is over, then end its processes and remove its directories."""
    if (handle := _handle(watched)) is not None:
        select.select([handle], [], [])
    for kind in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + _GRACE_SECONDS
        for process in _left(run):
            _send(process, kind)
        while _left(run) and time.monotonic() < until:
            time.sleep(0.05)
    for place in {Path(tempfile.gettempdir()), _MEMORY}:
        for folder in place.glob(f"tw{run}-*"):
            shutil.rmtree(folder, ignore_errors=True)


def _handle(process: int) -> int | None:
    """Becomes readable when the process has ended; None when it has already."""
    try:
        return os.pidfd_open(process)
    except ProcessLookupError:
        return None


def _left(run: str) -> set[int]:
    """The run's processes and all below them: some are started with another environment."""
    parents: dict[int, int] = {}
    found: set[int] = set()
    for folder in _PROC.glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] == "Z":
            continue
        parents[int(folder.name)] = int(fields[1])
        if f"{RUN}={run}".encode() in environment:
            found.add(int(folder.name))
    found.discard(os.getpid())
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _send(process: int, kind: signal.Signals) -> None:
    try:
        os.kill(process, kind)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    _reap(int(sys.argv[1]), sys.argv[2])
