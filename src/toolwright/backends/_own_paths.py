"""What this program runs from or reads back as its own: no command and no tool may change it."""

import logging
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from toolwright._own_program import PYTHON, own_program
from toolwright._temporary import our_temporary_directories
from toolwright.errors import UsageError

__all__ = [
    "PYTHON",
    "SYSTEM_PATH",
    "check_writable",
    "find_program",
    "held_below",
    "identities_below",
    "own_program",
    "way_to",
]

SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
               "/run/current-system/sw/bin")  # fmt: skip
"""Where a system keeps its programs; no part of PATH, which may name directories of a project."""
_SYSTEM = tuple(
    map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev"))
)
_MOST_LINKS = 40
"""As many as the system follows on one way."""
_log = logging.getLogger("toolwright")


@dataclass(frozen=True, slots=True)
class _Own:
    """Real paths, all links resolved."""

    whole: tuple[Path, ...]
    """Directories with much else in them: held as one where they lie below a writable directory,
    while such a directory may lie in one of them."""
    parts: tuple[Path, ...]
    """What is run and loaded; nothing at or below it is for others to write."""
    links: tuple[Path, ...]
    """Links by which these are reached: whoever replaces one decides what is run."""


def find_program(name: str, *, outside: Sequence[Path]) -> str | None:
    """Where a program is: the system's, or one of PATH that does not lie in these directories."""
    named = [
        entry for entry in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(entry)
    ]
    for entry in (*SYSTEM_PATH, *named):
        found = shutil.which(name, path=entry)
        if found and not any(_is_in(Path(found).resolve(), place) for place in outside):
            return found
    return None


def check_writable(places: Iterable[Path], walls: str, *, holds_below: bool) -> None:
    """Raise `UsageError` where these walls would let commands change what this program runs from.

    What cannot be told from somebody's own code, modules where Python looks for them, is logged.
    """
    for place in map(Path.resolve, places):
        held = held_below(place)
        if held and not holds_below:
            raise UsageError(
                f"{str(place)!r} holds {str(held[0])!r}, which this program runs from, and {walls} cannot "
                "keep commands from changing it. Use bubblewrap, name a sub-directory as the workspace, or "
                "keep the environment outside of it, as with UV_PROJECT_ENVIRONMENT."
            )
        for entry in (Path(entry).resolve() for entry in sys.path):
            if _is_in(entry, place) and not any(_is_in(entry, path) for path in held):
                _warn_of_modules(str(entry))


@cache
def _warn_of_modules(entry: str) -> None:
    """Once for each, however many sandboxes are opened."""
    _log.warning(
        "Commands in the sandbox can write to %r, where this program looks for modules: what it imports "
        "later may be theirs, and then runs outside. Name a sub-directory as the workspace, or start "
        "Python with -P or PYTHONSAFEPATH=1.",
        entry,
    )


def held_below(place: Path) -> tuple[Path, ...]:
    """What of ours lies below a real directory that commands can write to: the outermost paths.

    Raises `UsageError` where no wall could keep them apart, because all of the directory is ours,
    the system is in it, or a link in it leads to what is ours.
    """
    own = _own_now()
    if system := [path for path in _SYSTEM if place in path.parents]:
        raise UsageError(
            f"{str(place)!r} holds the system itself, such as {str(system[0])!r}, so commands cannot "
            "be allowed to write there; name a directory of the project as the workspace."
        )
    if around := [path for path in own.parts if _is_in(place, path)]:
        raise _unfit(place, f"lies in {str(around[0])!r}")
    base, library = Path(sys.base_prefix).resolve(), Path(sysconfig.get_path("stdlib")).resolve()
    if _is_in(place, base) and (_is_in(PYTHON, place) or _is_in(library, place)):
        raise _unfit(place, "is where Python itself is installed")
    ours = (*own.whole, *own.parts, *our_temporary_directories(place))
    held = _outermost(path for path in ours if place in path.parents)
    for path in (*own.links, *(path for path in held if not path.exists())):
        if place in path.parents and not any(
            _is_in(path, other) for other in held if other.exists()
        ):
            raise _unfit(place, f"holds {str(path)!r}, which commands could replace")
    return held


def identities_below(root: str) -> frozenset[tuple[int, int]]:
    """Device and inode of what is ours at, above or below a real directory that tools write to."""
    place, own = Path(root), _own_now()
    ours = [
        path for path in (*own.whole, *our_temporary_directories(place)) if place in path.parents
    ]
    ours += [path for path in own.parts if place in path.parents]
    ours += [place] if any(_is_in(place, path) for path in own.parts) else []
    found = (_identity(path) for path in ours)
    return frozenset(identity for identity in found if identity is not None)


def _unfit(place: Path, why: str) -> UsageError:
    return UsageError(
        f"Commands cannot be allowed to write to {str(place)!r}: it {why}, and this program runs from "
        "there. Name another workspace, such as a sub-directory, or keep the environment outside of it, "
        "as with UV_PROJECT_ENVIRONMENT."
    )


def _own_now() -> _Own:
    return _own(tuple(sys.path), sys.pycache_prefix)


@lru_cache(maxsize=8)
def _own(search: tuple[str, ...], bytecode: str | None) -> _Own:
    whole = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *_linked_from()]
    whole += [bytecode] if bytecode else []
    parts = [
        sysconfig.get_path(name)
        for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
    ]
    parts += [os.path.dirname(sys.executable), str(PYTHON.parent), str(Path(__file__).parents[1])]
    parts += [os.path.join(sys.prefix, "pyvenv.cfg")]
    parts += [os.environ.get(name, "") for name in ("TOOLWRIGHT_BWRAP", "MONTY_BIN")]
    parts = [
        path for path in (*parts, *filter(_has_packages, search)) if path and os.path.exists(path)
    ]
    paths = [*whole, *parts, sys.executable]
    return _Own(
        _real(whole), _real(parts), tuple({link for path in paths for link in _links_on(path)})
    )


def _has_packages(entry: str) -> bool:
    """Whether distributions are installed in it; somebody's own code is theirs to have changed."""
    if os.path.basename(entry) in ("site-packages", "dist-packages"):
        return True
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(entry)) if entry else False
    except OSError:
        return False


def _linked_from() -> list[str]:
    """Where installers keep what they install by hard links: a change there is one here."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    caches = [os.environ.get("UV_CACHE_DIR", ""), os.path.join(home, "uv")]
    prefixes = {Path(prefix) for prefix in (sys.prefix, sys.base_prefix)}
    conda = [prefix for prefix in prefixes if (prefix / "conda-meta").is_dir()]
    caches += [str(place / "pkgs") for prefix in conda for place in (prefix, prefix.parent.parent)]
    return [path for path in caches if path and os.path.isdir(path)]


def _real(paths: Iterable[str]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(Path(path).resolve() for path in paths))


def _links_on(path: str) -> Iterator[Path]:
    """The links that are followed on the way to a path, each where it really is."""
    return (place for place in way_to(Path(os.path.abspath(path))) if place.is_symlink())


def way_to(path: Path) -> Iterator[Path]:
    """Every real place that the way to an absolute path comes to, from the root, links among them."""
    at, steps, links = Path(path.anchor), list(reversed(path.parts[1:])), 0
    yield at
    while steps:
        step = at / steps.pop()
        if step.name == "..":
            at = at.parent
            continue
        yield step
        if links < _MOST_LINKS and step.is_symlink():
            target, links = Path(os.readlink(step)), links + 1
            at = Path(target.anchor) if target.is_absolute() else at
            steps += reversed(target.parts[target.is_absolute() :])
        else:
            at = step


def _outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    found: list[Path] = []
    for path in sorted(set(paths), key=lambda path: (len(path.parts), path)):
        if not any(other in path.parents for other in found):
            found.append(path)
    return tuple(found)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_in(path: Path, place: Path) -> bool:
    return path == place or place in path.parents
