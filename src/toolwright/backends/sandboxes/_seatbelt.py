"""Seatbelt: the sandbox that macOS brings along, by its `sandbox-exec` program."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from toolwright.backends.executors import Capabilities, Limits
from toolwright.backends.sandboxes._walls import Room, between, enter, python_paths
from toolwright.concurrency import in_io_thread

__all__ = ["Seatbelt", "profile"]

_SYSTEM = ("/usr", "/bin", "/sbin", "/System", "/Library", "/opt/homebrew",
           *(f"/private/etc/ssl/{name}" for name in ("cert.pem", "certs", "openssl.cnf")),
           "/private/var/db/timezone", "/private/var/select", "/dev")  # fmt: skip
_PROGRAM = "/usr/bin/sandbox-exec"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper")


class Seatbelt:
    """A profile that denies everything but the system's files, the workspace and its own processes."""

    name = "seatbelt"
    opens_hosts = False
    holds_below = True

    async def probe(self) -> str | None:
        """Start a program in it; the answer is remembered."""
        return await in_io_thread(_probe)

    def capabilities(self, room: Room) -> Capabilities:
        """All but the limits that macOS does not enforce."""
        return Capabilities(
            filesystem_confined=True,
            network_confined=not room.network,
            processes_confined=True,
            real_bash=True,
            real_python=True,
            processes_limited=True,
            installs_packages=True,
            notes=(
                "macOS does not enforce memory limits, and a process that leaves its parent's "
                "group and is orphaned can outlive its command.",
            ),
        )

    def limits(self, limits: Limits) -> Limits:
        """Unchanged: `sandbox-exec` becomes the command."""
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
        """`sandbox-exec -p profile sh -c 'cd …; exec …'`."""
        return [_PROGRAM, "-p", profile(room), *enter(cwd), *argv]


def profile(room: Room) -> str:
    """The rules for a room, in Seatbelt's language; the last one that fits counts."""
    readable = (*_SYSTEM, *python_paths(), *room.readable, room.packages)
    writable = (room.workspace, room.scratch, *room.writable)
    kept = (*room.held, *room.hidden, *room.pinned)
    pinned = [up for place in writable for up in between(Path(place), kept)] + [*room.pinned]
    rules = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow process-info* (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        *(f"(allow file-read* (subpath {_quoted(path)}))" for path in readable),
        *(f"(allow file-read* file-write* (subpath {_quoted(path)}))" for path in writable),
        *(f"(deny file-write* (subpath {_quoted(path)}))" for path in room.held),
        *(f"(deny file-read* file-write* (subpath {_quoted(path)}))" for path in room.hidden),
        *(f"(deny file-write* (literal {_quoted(path)}))" for path in pinned),
        *(f"(allow file-write-data (literal {_quoted(path)}))" for path in _DEVICES),
    ]
    if room.network:
        rules += ["(allow network*)", "(allow mach-lookup)"]
    return "\n".join(rules)


def _quoted(path: str | Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@cache
def _probe() -> str | None:
    if sys.platform != "darwin":
        return "sandbox-exec needs macOS"
    if not os.path.exists(_PROGRAM):
        return "sandbox-exec is not on this machine"
    command = [_PROGRAM, "-p", "(version 1)(allow default)", "/usr/bin/true"]
    done = subprocess.run(command, capture_output=True, timeout=10, check=False, text=True)
    return None if done.returncode == 0 else f"sandbox-exec is forbidden here: {done.stderr}"
