"""Bubblewrap: a command in namespaces of its own, with a file system put together for it."""

import atexit
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from toolwright._sealed import Sealed
from toolwright._temporary import remove_tree, temporary_directory
from toolwright.backends._own_paths import PYTHON, chosen_program, hold_program
from toolwright.backends.executors import Capabilities, Limits
from toolwright.backends.executors._sealed_file import sealed_file
from toolwright.backends.sandboxes._bwrap_binary import (
    CHOSEN,
    BwrapBinary,
    found_binaries,
    raise_if_passing,
    read_binary,
)
from toolwright.backends.sandboxes._seccomp import MACHINES, bubblewrap_filter
from toolwright.backends.sandboxes._walls import (
    SYSTEM_ETC,
    Room,
    between,
    is_open_end,
    python_paths,
    system_paths,
)
from toolwright.concurrency import in_io_thread
from toolwright.errors import StoreError, UsageError

__all__ = ["Bubblewrap"]

_WORKSPACE = "/workspace"
_PACKAGES = "/packages"
_SOCKET = "/run/proxy"
_PORT = 3128
_FORWARD = Path(__file__).with_name("_forward.py").read_text(encoding="utf-8")
"""Handed over as text: this package's files are not visible inside."""
_ALONE = ("--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000",
          "--cap-drop", "ALL", "--hostname", "sandbox", "--die-with-parent",
          "--new-session")  # fmt: skip


_FILTERED = 'exec 9< "$1"; shift; exec "$@"'
"""Gives bubblewrap its filter for system calls as an open file, the only way it takes one."""


class Bubblewrap(Sealed):
    """All namespaces unshared, the system read-only, the workspace at `/workspace`, no rights.

    Below a directory that commands can write to only what is held is mounted, and the directories on
    the way to it: before 0.12, bubblewrap could be led astray there by a symbolic link, which
    commands cannot put in place of either, since a mount point can be neither renamed nor removed.
    """

    name = "bubblewrap"
    opens_hosts = True
    holds_below = True

    def __init__(self, binary: str | os.PathLike[str] | None = None) -> None:
        """Use the `bwrap` at `binary`.

        Without one, the newest that works here is used, of the system's and the one that
        `pip install 'toolwright[sandbox]'` brings; the variable `TOOLWRIGHT_BWRAP` names another.
        """
        self._given: str | None = None
        if binary is not None:
            hold_program(binary, alone=True)
            # Once: a link may lead elsewhere later.
            self._given = os.path.realpath(binary)

    async def probe(self) -> str | None:
        """Start a program in it; the answer is remembered.

        Raises `UsageError` where the `bwrap` that `TOOLWRIGHT_BWRAP` names does not work, and
        `StoreError`, which is not remembered, where the machine is too busy to tell.
        """
        return (await in_io_thread(_probed, self._given)).problem

    @property
    def binary(self) -> BwrapBinary | None:
        """Which `bwrap` it is, with its version and known advisories; None where none works."""
        return _probed(self._given).binary

    def capabilities(self, room: Room) -> Capabilities:
        """Everything; the network only as long as it is not opened."""
        return Capabilities(
            filesystem_confined=True,
            network_confined=not room.network,
            processes_confined=True,
            leaves_nothing=True,
            memory_limited=True,
            processes_limited=True,
            real_bash=True,
            real_python=True,
            installs_packages=True,
            notes=(
                "The workspace can be filled up to the size of its disk.",
                "Where the workspace lies outside can be found out.",
                str(self.binary),
            ),
        )

    def limits(self, limits: Limits) -> Limits:
        """Up to three processes are not the command's: two of bubblewrap, one for the proxy."""
        if limits.processes is None:
            return limits
        return replace(limits, processes=limits.processes + 3)

    def inside(self, room: Room) -> str:
        """Always the same path, whatever the workspace is called outside."""
        return _WORKSPACE

    def packages(self, room: Room) -> str:
        """Always the same path, too."""
        return _PACKAGES

    def environment(self, room: Room) -> dict[str, str]:
        """A home that vanishes with the command, and the proxy where there is one."""
        address = f"http://127.0.0.1:{_PORT}"
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        proxy = {**dict.fromkeys(names, address), "NODE_USE_ENV_PROXY": "1"} if room.proxy else {}
        return {**proxy, "HOME": "/tmp", "TMPDIR": "/tmp", "PWD": _WORKSPACE, "USER": "sandbox"}  # noqa: S108

    def around(self, argv: Sequence[str], cwd: str, room: Room) -> list[str]:
        """`bwrap …options… -- argv`."""
        size = str(room.scratch_bytes)
        network = ["--share-net"] if room.network else []
        forward = (
            [str(PYTHON), "-I", "-S", "-c", _FORWARD, _SOCKET, str(_PORT)] if room.proxy else []
        )
        return [
            *_started(self.binary, network=room.network),
            *_ALONE, *network, *_system(),
            *_proc(), "--dev", "/dev",
            "--size", size, "--tmpfs", "/tmp",  # noqa: S108
            "--size", size, "--tmpfs", "/dev/shm",  # noqa: S108
            *_readable(room), "--ro-bind", str(room.packages), _PACKAGES,
            "--bind", str(room.workspace), _WORKSPACE, *_kept(room),
            "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", cwd, "--", *forward, *argv,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Probed:
    """The binary that works here, or why none does."""

    binary: BwrapBinary | None
    problem: str | None = None


@cache
def _probed(given: str | None) -> _Probed:
    if sys.platform != "linux":
        return _Probed(None, "bubblewrap needs Linux")
    if platform.machine() not in MACHINES:
        return _Probed(None, f"no filter for system calls is known for {platform.machine()!r}")
    binaries = found_binaries() if given is None else [read_binary(given)]
    problem = "bubblewrap is not installed: pip install 'toolwright[sandbox]'"
    for binary in binaries:
        # An older one may be allowed what the newest is not, as by AppArmor, which goes by path.
        problem = _try(binary)
        if problem is None:
            return _Probed(binary)
    if given is None and chosen_program(CHOSEN):
        raise UsageError(
            f"{CHOSEN} names a bubblewrap that does not work: {problem}. Name another, or unset the "
            "variable to use the newest that works."
        )
    return _Probed(None, problem)


def _try(binary: BwrapBinary) -> str | None:
    command = [*_started(binary, network=False), *_ALONE, *_system(), *_proc(),
               "--dev", "/dev", "--", "true"]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=False, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise_if_passing(binary, error)
        return f"{binary} could not be started: {error}"
    if done.returncode != 0:
        raise_if_passing(binary, done)
    return None if done.returncode == 0 else f"{binary} is forbidden here: {done.stderr.strip()}"


def _started(binary: BwrapBinary | None, *, network: bool) -> list[str]:
    """bubblewrap with its filter for system calls: a sealed file of this process without a name."""
    if binary is None:
        raise StoreError("No bubblewrap works on this machine; probe() says why.")
    filter_file = f"/proc/{os.getpid()}/fd/{_filter(network)}"
    return ["/bin/sh", "-c", _FILTERED, "sh", filter_file, binary.path, "--seccomp", "9"]


@cache
def _filter(network: bool) -> int:
    """The descriptor of a filter, which lives as long as this program."""
    return sealed_file("filter", bubblewrap_filter(network=network))


@cache
def _nothing() -> str:
    """An empty file that lives as long as this program, in a directory that is held like all of ours."""
    directory = temporary_directory()
    atexit.register(remove_tree, directory)
    file = directory / "nothing"
    file.touch()
    return str(file)


def _kept(room: Room) -> list[str]:
    """What is held, read-only over itself; what is hidden, empty; and the directories on the way there
    and what is pinned, as mount points.
    """
    options: list[str] = []
    places = [(room.workspace, Path(_WORKSPACE)), *((path, path) for path in room.writable)]
    for outside, inside in places:
        below = [path for path in (*room.held, *room.hidden) if outside in path.parents]
        pinned = [path for path in room.pinned if outside in path.parents]
        ways = [*between(outside, (*below, *pinned)), *pinned]
        free = [up for up in ways if not any(up.is_relative_to(path) for path in room.held)]
        for path in sorted({*free, *below}, key=lambda path: (len(path.parts), path)):
            options += _mounted(path, inside / path.relative_to(outside), room)
    seen = {*_seen(room), *system_paths()}
    for path in room.hidden:
        options += _mounted(path, path, room) if seen.intersection(path.parents) else []
    return options


def _mounted(path: Path, inside: Path, room: Room) -> list[str]:
    if path in room.hidden:
        return _empty(path, inside)
    return ["--ro-bind" if path in room.held else "--bind", str(path), str(inside)]


def _empty(path: Path, inside: Path) -> list[str]:
    if path.is_dir():
        return ["--tmpfs", str(inside), "--remount-ro", str(inside)]
    return ["--ro-bind", _nothing(), str(inside)]


def _seen(room: Room) -> tuple[Path, ...]:
    """What can be read under its own path. With an environment that this program runs from, that is the
    workspace, too: its scripts, and links to sources, have paths outside in them.
    """
    below = any(room.workspace in path.parents for path in room.held)
    more = (room.workspace,) if below and room.workspace not in room.readable else ()
    return (*room.readable, *more)


@cache
def _proc() -> tuple[str, ...]:
    """Processes and what the kernel tells everybody, read-only.

    To the kernel, root in a namespace is still who owns its settings and tables, rights or not.
    """
    options = ["--proc", "/proc"]
    for path in _kernels_own():
        mask = ("--tmpfs", path, "--remount-ro", path)
        options += mask if os.path.isdir(path) else ("--ro-bind", _nothing(), path)
    return (*options, "--remount-ro", "/proc")


def _kernels_own() -> Iterator[str]:
    """What of /proc this user may read and others may not. Settings are left out: each mount costs
    a millisecond, and what they say is no secret.
    """
    # These are told apart by who asks, and a user in a namespace is still the same one.
    yield from (path for path in ("/proc/keys", "/proc/key-users") if os.path.exists(path))
    left_out = {"self", "thread-self", "net", "sys"}
    for place, directories, files in os.walk("/proc"):
        directories[:] = [n for n in directories if not n.isdigit() and n not in left_out]
        private = {name for name in (*directories, *files) if _is_private(f"{place}/{name}")}
        yield from (f"{place}/{name}" for name in sorted(private))
        directories[:] = [name for name in directories if name not in private]


def _is_private(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return found.st_uid == os.geteuid() and found.st_mode & 0o404 == 0o400


@cache
def _system() -> tuple[str, ...]:
    """The system's directories: read-only, and the links that stand for some of them."""
    options: list[str] = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = f"/{name}"
        if os.path.islink(path):
            options += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            options += ["--ro-bind", path, path]
    for name in SYSTEM_ETC:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return tuple(options)


def _readable(room: Room) -> list[str]:
    options: list[str] = []
    for path in (*python_paths(), *_seen(room)):
        options += ["--ro-bind", str(path), str(path)]
    for path in room.open_ends:
        # Not what has gone meanwhile, or is something else: an empty file cannot be mounted there.
        if is_open_end(path) and any(path.is_relative_to(above) for above in room.readable):
            options += ["--ro-bind", _nothing(), str(path)]
    for path in room.writable:
        options += ["--bind", str(path), str(path)]
    if room.proxy:
        options += ["--bind", str(room.proxy), _SOCKET]
    return options
