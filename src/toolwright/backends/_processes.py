"""Which process this is, and whether another one of the same machine still runs."""

import os
import socket
import uuid
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Process", "described", "is_running", "new_name", "this_process"]

_ENDED = ("Z", "X")
"""The states of a process that has ended and that nobody has asked about yet."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process. Its id alone is not enough: ids are used again."""

    machine: str
    pid: int
    started: str = ""
    """When, as its machine counts; empty where that is not known."""


def this_process() -> Process:
    """The process that this runs in."""
    pid = os.getpid()
    _, started = _state(pid)
    return Process(_machine(), pid, started)


def is_running(process: Process) -> bool:
    """Whether a process still runs; one of another machine may."""
    if process.machine != _machine():
        return True
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # Another user's.
        pass
    state, started = _state(process.pid)
    another = bool(started and process.started) and started != process.started
    return state not in _ENDED and not another


def new_name() -> str:
    """A name for this process that no other has, and that people can read."""
    return f"{socket.gethostname()}-{this_process().pid}-{uuid.uuid4().hex[:6]}"


def described(name: str) -> str:
    """The process that gave itself this name, in words."""
    host, pid, _ = name.rsplit("-", 2)
    return f"process {pid} on {host}"


def _machine() -> str:
    """Tells apart machines, their boots, and containers on one machine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()


def _state(pid: int) -> tuple[str, str]:
    """A process's state and when it was started; empty where the system does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "", ""
    # The second field is the program's name, which may hold anything, brackets too.
    fields = text.rpartition(")")[2].split()
    return fields[0], fields[19]
