"""Landlock and seccomp: for Linux machines that forbid bubblewrap its namespaces."""

import ctypes
import platform
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import anyio.to_thread

from toolwright.backends.executors import Capabilities, Limits
from toolwright.backends.sandboxes._walls import SYSTEM_ETC, Room, enter, python_paths

__all__ = ["Landlock"]

_CONFINE = Path(__file__).with_name("_confine.py")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
           *(f"/etc/{name}" for name in SYSTEM_ETC))  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_SIGNALS_SCOPED = 6
"""From this version on, Landlock keeps signals inside."""


class Landlock:
    """The same file system, most of it closed; no sockets, no signals to outside, no rights.

    Needs no privileges and no namespaces. Paths are those outside, and processes outside can be
    known to exist, though neither read nor signalled.
    """

    name = "landlock"
    opens_hosts = False

    async def probe(self) -> str | None:
        """Start a program in it; the answer is remembered."""
        return await anyio.to_thread.run_sync(_probe)

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
                "Names, sizes and times of files outside can be seen, their content cannot.",
                "The workspace and temporary files can be filled up to the size of their disk.",
            ),
        )

    def limits(self, limits: Limits) -> Limits:
        """Unchanged: the launcher becomes the command."""
        return limits

    def inside(self, room: Room) -> str:
        """The same path as outside."""
        return str(room.workspace)

    def packages(self, room: Room) -> str:
        """The same path as outside."""
        return str(room.packages)

    def environment(self, room: Room) -> dict[str, str]:
        """A home of its own, as long as the sandbox is open."""
        return {"HOME": str(room.scratch), "TMPDIR": str(room.scratch), "USER": "sandbox"}

    def around(self, argv: Sequence[str], cwd: str, room: Room) -> list[str]:
        """`python _confine.py …options… -- sh -c 'cd …; exec …'`."""
        readable = (*_SYSTEM, *python_paths(), *room.readable, room.packages)
        writable = (*_DEVICES, room.workspace, room.scratch)
        options = [word for path in readable for word in ("--ro", str(path))]
        options += [word for path in writable for word in ("--rw", str(path))]
        network = ["--network"] if room.network else []
        return [
            sys.executable, "-I", "-S", str(_CONFINE), *network, *options, "--", *enter(cwd), *argv,
        ]  # fmt: skip


@cache
def _version() -> int:

    return ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1)


@cache
def _probe() -> str | None:
    if sys.platform != "linux":
        return "Landlock needs Linux"
    if platform.machine() not in ("x86_64", "aarch64"):
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
