"""What an operating system's sandbox is: a program in front of the command."""

import contextlib
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from toolwright._temporary import guest_places
from toolwright.backends._own_paths import way_to
from toolwright.backends.executors import Capabilities, Limits
from toolwright.errors import UsageError

__all__ = [
    "SYSTEM_ETC",
    "Room",
    "Walls",
    "between",
    "check_ways",
    "enter",
    "is_open_end",
    "open_ends",
    "python_paths",
    "settled",
    "system_paths",
    "way_through",
]

_MOST_OPEN_ENDS = 1000
"""Each costs every command a mount, and bubblewrap takes no more than 9000 words."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/System", "/Library",
           "/opt/homebrew")  # fmt: skip
SYSTEM_ETC = (
    "alternatives", "bash.bashrc", "ca-certificates", "crypto-policies", "debian_version",
    "gai.conf", "group", "lsb-release", "os-release",
    "host.conf", "hosts", "inputrc", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime",
    "mime.types", "nsswitch.conf", "passwd", "profile", "protocols", "resolv.conf",
    "services", "terminfo", "timezone",
    "pki/ca-trust", "pki/java", "pki/tls/cert.pem", "pki/tls/certs", "pki/tls/openssl.cnf",
    "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf",
)  # fmt: skip
"""What of /etc programs need to work. Not among it: shadow, ssh, sudoers, private keys beside
certificates, anyone's settings: if this program is root, what only root may read can be read there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What the walls enclose, and the openings they have."""

    workspace: Path
    """Readable and writable."""
    scratch: Path
    """A directory of its own for temporary files, where the walls cannot make one."""
    packages: Path
    """Readable: Python packages that were installed for this sandbox."""
    readable: tuple[Path, ...] = ()
    """Further paths that may be read, beside the system's; without links that could be changed."""
    open_ends: tuple[Path, ...] = ()
    """Sockets and pipes below these: whoever can read them could talk through them."""
    writable: tuple[Path, ...] = ()
    """Further directories that may be read and written, beside the workspace."""
    held: tuple[Path, ...] = ()
    """What lies below writable directories and this program runs from: to be read, and no more."""
    hidden: tuple[Path, ...] = ()
    """Records of this program below any of these: directories and files that are to be empty."""
    pinned: tuple[Path, ...] = ()
    """What another sandbox looks up below writable directories: to stay where it is."""
    network: bool = False
    proxy: Path | None = None
    """The socket of a proxy, when single hosts may be reached through one."""
    scratch_bytes: int = 256 * 1024 * 1024


class Walls(Protocol):
    """One way to confine a command. `probe` runs it, since a host may forbid what it has."""

    name: str
    opens_hosts: bool
    """Whether single hosts can be let through."""
    holds_below: bool
    """Whether what is `held`, `hidden` and `pinned` can be, below a directory that can be written to."""

    async def probe(self) -> str | None:
        """None when it works here, otherwise why it does not."""
        ...

    def capabilities(self, room: Room) -> Capabilities:
        """What it enforces."""
        ...

    def limits(self, limits: Limits) -> Limits:
        """The limits for the command and the walls' own processes together."""
        ...

    def inside(self, room: Room) -> str:
        """The workspace's path as commands see it."""
        ...

    def packages(self, room: Room) -> str:
        """The packages' path as commands see it."""
        ...

    def environment(self, room: Room) -> dict[str, str]:
        """Variables that must differ from those outside."""
        ...

    def around(self, argv: Sequence[str], cwd: str, room: Room) -> list[str]:
        """The command to start so that `argv` runs confined, in `cwd` as seen from inside."""
        ...


def between(place: Path, held: Sequence[Path]) -> list[Path]:
    """The directories between `place` and what is held below it, the outer ones first: if one could be
    renamed, another could take its place.
    """
    found = {
        up for path in held for up in path.parents if place in up.parents and place in path.parents
    }
    return sorted(found, key=lambda path: (len(path.parts), path))


def enter(cwd: str) -> list[str]:
    """What to put in front of a command so that it starts in `cwd`."""
    return ["/bin/sh", "-c", 'cd -- "$1" && shift && exec "$@"', "sh", cwd]


def open_ends(paths: Sequence[str | Path]) -> tuple[Path, ...]:
    """The sockets and pipes below these paths.

    Raises `UsageError` if one of the paths is one itself, or there are too many to close them off.
    """
    found: list[Path] = []
    waiting = [str(Path(path).absolute()) for path in paths]
    for path in waiting:
        if is_open_end(Path(path).resolve()):
            raise UsageError(f"{path!r} is a socket or a pipe, which cannot be made readable only.")
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                # Most are told apart without asking for more than their directory says.
                elif not entry.is_file(follow_symlinks=False) and not entry.is_symlink():
                    found += [Path(entry.path)] if is_open_end(Path(entry.path)) else []
    if len(found) > _MOST_OPEN_ENDS:
        raise UsageError(
            f"{len(found)} sockets and pipes are below the readable paths, such as {str(found[0])!r}; "
            f"at most {_MOST_OPEN_ENDS} can be closed off. Name the directories that are needed."
        )
    return tuple(found)


def settled(
    readable: Sequence[str | Path], workspace: Path, writable: Sequence[str | Path]
) -> tuple[Path, ...]:
    """`readable` as it may be looked up again and again, though what runs inside changes the rest.

    A path in a directory that may be changed could be made a link to anywhere: its directory stands
    for it, and links are followed inside. A `writable` one there is refused, and a workspace there.
    """
    places: list[Path] = []
    own_directories = [workspace]
    for path in writable:
        absolute, real = Path(os.path.abspath(path)), Path(path).resolve()
        if (own := way_through(absolute, own_directories)) is not None:
            name = "the workspace" if own == workspace else repr(str(own))
            raise UsageError(
                f"{str(path)!r} is to be writable and lies in {name}, where commands could "
                "make it a link to anywhere; give a directory outside of it."
            )
        if inside := [place for place in own_directories if real in place.parents]:
            raise UsageError(
                f"{str(inside[0])!r} lies in {str(path)!r}, which is to be writable: commands could "
                "make it a link to anywhere. Give directories of which none lies in the other."
            )
        own_directories.append(real)
    for path in readable:
        absolute = Path(os.path.abspath(path))
        own = way_through(absolute, own_directories)
        if own is None:
            places += [absolute]
        elif absolute.is_relative_to(own):
            places += [own] if own == workspace else []
        else:
            raise UsageError(
                f"{str(path)!r} leads through {str(own)!r}, where commands can change what it leads "
                "to; name what is to be readable by its own path."
            )
    check_ways((*places, *own_directories))
    return tuple(dict.fromkeys(places))


def check_ways(paths: Sequence[str | Path]) -> None:
    """Raise `UsageError` where one is reached by a link that a guest of this program may have made.

    Of any sandbox, and of those that are closed, too: a link stays, and decides what is mounted.
    """
    guests = guest_places(gone=True)
    for path in paths if guests else ():
        for here in way_to(Path(os.path.abspath(path))):
            if here.is_symlink() and any(here.is_relative_to(place) for place in guests):
                raise UsageError(
                    f"{str(path)!r} leads through the link {str(here)!r}, which commands in a sandbox "
                    "may have made: what it leads to is not opened to another one. Name what is meant "
                    "by its own path, outside of what commands can write to."
                )


def way_through(path: Path, own: Sequence[Path]) -> Path | None:
    """The first of the directories `own` that the way to `path` comes to, links included."""
    for here in way_to(path):
        for directory in own:
            if here.is_relative_to(directory):
                return directory
    return None


def is_open_end(path: Path) -> bool:
    """Whether it is a socket or a pipe, now; a link to one is not."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)


@cache
def system_paths() -> tuple[Path, ...]:
    """The real directories that everybody behind walls can read, whatever was opened for them."""
    named = [*_SYSTEM, *(f"/etc/{name}" for name in SYSTEM_ETC), *python_paths()]
    return tuple(dict.fromkeys(Path(path).resolve() for path in named if os.path.isdir(path)))


def python_paths() -> tuple[Path, ...]:
    """What the interpreter needs to be readable, outside the system's own directories."""
    prefix = Path(sys.base_prefix).resolve()
    outside = not prefix.is_relative_to("/usr") or prefix.is_relative_to("/usr/local")
    return (prefix,) if outside and os.path.isdir(prefix) else ()
