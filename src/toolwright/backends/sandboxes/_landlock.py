"""Landlock and seccomp: for Linux machines that forbid bubblewrap its namespaces."""

import ctypes
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from toolwright.backends._own_paths import own_program
from toolwright.backends.executors import Capabilities, Limits
from toolwright.backends.sandboxes._seccomp import MACHINES, landlock_filter, supervised_calls
from toolwright.backends.sandboxes._walls import SYSTEM_ETC, Room, enter, python_paths
from toolwright.concurrency import in_io_thread

__all__ = ["Landlock"]

_CONFINE = Path(__file__).with_name("_confine.py").read_text(encoding="utf-8")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
           *(f"/etc/{name}" for name in SYSTEM_ETC))  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_SIGNALS_SCOPED = 6
"""From this version on, Landlock keeps signals inside."""
_SUPERVISOR_BYTES = 16 * 1024 * 1024


class Landlock:
    """The same file system, most of it closed; no sockets, no signals to outside, no rights.

    Needs no privileges and no namespaces. Paths are those outside: of a file outside commands can
    find out what `stat` tells and where a link leads; of a process, whether it exists, its group,
    session, priority, scheduling and CPU time. They can neither read nor change either. That is more
    than bubblewrap shows, so `open_sandbox` takes it only if asked.
    """

    __slots__ = ()
    name = "landlock"
    opens_hosts = False
    holds_below = False

    async def probe(self) -> str | None:
        """Start a program in it; the answer is remembered."""
        return await in_io_thread(_probe)

    def capabilities(self, room: Room) -> Capabilities:
        """All but what the kernel's version lacks."""
        return Capabilities(
            filesystem_confined=True,
            network_confined=not room.network,
            processes_confined=_version() >= _SIGNALS_SCOPED,
            leaves_nothing=True,
            memory_limited=True,
            processes_limited=True,
            real_bash=True,
            real_python=True,
            installs_packages=True,
            notes=(
                "Of a file outside can be found out: whether it exists, its size, times, owner and "
                "mode, and where a link leads.",
                "Of a process outside can be found out: whether it exists, its group, session, priority, "
                "scheduling, processors and used CPU time.",
                "There are no extended attributes, no shared memory and no file watches.",
                "The workspace and temporary files can be filled up to the size of their disk.",
            ),
        )

    def limits(self, limits: Limits) -> Limits:
        """One process, which supervises, is not the command's; nor is its memory."""
        more = None if limits.processes is None else limits.processes + 1
        memory = None if limits.memory is None else limits.memory + _SUPERVISOR_BYTES
        return replace(limits, processes=more, memory=memory)

    def inside(self, room: Room) -> str:
        """The same path as outside."""
        return str(room.workspace)

    def packages(self, room: Room) -> str:
        """The same path as outside."""
        return str(room.packages)

    def environment(self, room: Room) -> dict[str, str]:
        """A home of its own, as long as the sandbox is open; no settings of the machine for git,
        which gives up on a file that is there and cannot be read.
        """
        home = str(room.scratch)
        return {"HOME": home, "TMPDIR": home, "USER": "sandbox", "GIT_CONFIG_NOSYSTEM": "1"}

    def around(self, argv: Sequence[str], cwd: str, room: Room) -> list[str]:
        """`python -c _confine.py …options… -- sh -c 'cd …; exec …'`."""
        readable = (*_SYSTEM, *python_paths(), *room.readable, room.packages)
        writable = (*_DEVICES, room.workspace, room.scratch, *room.writable)
        options = [word for path in readable for word in ("--ro", str(path))]
        options += [word for path in writable for word in ("--rw", str(path))]
        network = ["--network"] if room.network else []
        options += ["--filter", landlock_filter(network=room.network).hex()]
        supervised = ",".join(f"{number}={call}" for number, call in supervised_calls().items())
        options += ["--supervised", supervised]
        return own_program(_CONFINE, *network, *options, "--", *enter(cwd), *argv)


@cache
def _version() -> int:
    return ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1)


@cache
def _probe() -> str | None:
    if sys.platform != "linux":
        return "Landlock needs Linux"
    if platform.machine() not in MACHINES:
        return f"the filter for system calls does not know {platform.machine()!r}"
    if _version() < 1:
        return "this kernel has no Landlock, or it is turned off"
    room = Room(workspace=Path("/usr"), scratch=Path("/usr"), packages=Path("/usr"))
    command = Landlock().around(["true"], "/", room)
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=False, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the Landlock launcher could not be started: {error}"
    return None if done.returncode == 0 else f"Landlock is forbidden here: {done.stderr.strip()}"
