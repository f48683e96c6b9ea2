"""What this program runs from or reads back as its own: no command and no tool may change it.

Beside what is known from the start, whatever starts a program outside the walls or keeps records
says so when it is made: it counts from the next command and the next call of a tool on.
"""

import contextlib
import logging
import os
import shutil
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from toolwright._own_program import PYTHON, own_program
from toolwright._private import demand_own_way, make_parents, make_private_file
from toolwright._temporary import forget_guests, guest_places, our_temporary_directories
from toolwright.errors import UsageError

__all__ = [
    "PYTHON",
    "SYSTEM_PATH",
    "OwnBelow",
    "check_writable",
    "chosen_program",
    "closed_below",
    "find_program",
    "forget_all",
    "held_below",
    "hidden_below",
    "hide_database",
    "hide_directory",
    "hold_program",
    "make_database",
    "make_directory_of_records",
    "only_tried",
    "own_below",
    "own_program",
    "records_below",
    "rely_on",
    "searched_for_modules",
    "unless_refused",
    "way_to",
    "without_guests",
]

SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
               "/run/current-system/sw/bin")  # fmt: skip
"""Where a system keeps its programs; no part of PATH, which may name directories of a project."""
_SYSTEM = tuple(
    map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev"))
)
_MOST_LINKS = 40
"""As many as the system follows on one way."""
_MOST_BELOW = 200
"""Each costs every command a mount."""
_BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite adds to a database's name: whoever writes one of these files writes the database."""
_OURS = ".toolwright"
"""The name of a directory, or of a file in one, that says that all in it is this program's records."""
_HARMLESS = (".gitignore", ".gitkeep", ".DS_Store", "Thumbs.db", "desktop.ini")
"""What others leave in a directory without anybody missing it."""
_SCRIPTS_OF_NODE = (".js", ".mjs", ".cjs", ".ts")
_log = logging.getLogger("toolwright")
_programs: dict[Path, Path] = {}
"""Programs that this one starts outside the walls, by their real paths, and what each belongs to."""
_directories: dict[Path, None] = {}
"""Real directories with records of ours and nothing else."""
_databases: dict[Path, None] = {}
"""Real files of databases."""
_alone: dict[Path, None] = {}
"""Real directories of databases that had nothing else in them: hidden for good, whatever comes in."""
_searched: dict[Path, None] = {}
"""Real directories where programs that this one starts look for modules."""
_links: dict[Path, None] = {}
"""Links by which any of these was named."""
_relied_on: list[Path] = []
"""Real paths that sandboxes of this program mount: no guest of another may replace them."""
_said: tuple[dict[Path, Any], ...] = (
    _programs, _directories, _databases, _alone, _searched, _links,
)  # fmt: skip
_saying = threading.RLock()
"""Whoever says something may take it back; nobody else says anything meanwhile."""
_RUN = "read-only: this program runs from it, and what is written would run"
_KEPT = "closed: this program keeps its own records in it"


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


@dataclass(frozen=True, slots=True)
class OwnBelow:
    """What of ours lies in what commands can see, as real paths."""

    held: tuple[Path, ...] = ()
    """Below what they can write to: to be read, and no more."""
    hidden: tuple[Path, ...] = ()
    """Our records: they are not to be seen at all."""
    pinned: tuple[Path, ...] = ()
    """Theirs to change, but to stay where it is, because another sandbox looks it up there."""


def hold_program(path: str | os.PathLike[str], *, alone: bool = False) -> None:
    """Say that this program starts another outside the walls: commands may not change it.

    What lies in the same directory, virtual environment or `node_modules` belongs to it, unless it
    stands `alone`. Raises `UsageError` where a sandbox that is open could not hold it.
    """
    absolute = Path(os.path.abspath(path))
    files = {absolute.parent.resolve() / absolute.name, absolute.resolve()}
    parts = {file: file for file in files}
    if not alone:
        parts = {part: whole for file in files for part, whole in _parts_of(file)}
    _take_up((_programs, parts), (_links, dict.fromkeys(_links_on(str(absolute)))))


def searched_for_modules(directory: str | os.PathLike[str]) -> None:
    """Say that a program that this one starts looks there for what it loads: it is warned of."""
    with _saying:
        _searched[Path(directory).resolve()] = None


def hide_directory(path: str | os.PathLike[str]) -> Path:
    """Say that a directory has records of ours, which commands may not see; its real path.

    Raises `UsageError` where a sandbox that is open could not hide it.
    """
    real = Path(path).resolve()
    _take_up(
        (_directories, {real: None}), (_links, dict.fromkeys(_links_on(os.path.abspath(path))))
    )
    return real


def hide_database(path: str | os.PathLike[str]) -> None:
    """Say the same of the SQLite database in a file, and of what SQLite puts beside it."""
    real = Path(path).resolve()
    _take_up((_databases, {real: None}), (_links, dict.fromkeys(_links_on(os.path.abspath(path)))))


def rely_on(paths: Iterable[Path]) -> Callable[[], None]:
    """Have no guest replace these real paths, until what is returned is called."""
    added = list(paths)
    _relied_on.extend(added)
    return partial(_rely_no_more, added)


def _rely_no_more(paths: list[Path]) -> None:
    while paths:
        with contextlib.suppress(ValueError):
            _relied_on.remove(paths.pop())


def forget_all() -> None:
    """Forget what was said, as at the start of a program: for tests, which are many programs in one."""
    for said in (*_said, _relied_on):
        said.clear()
    forget_guests()


@contextlib.contextmanager
def unless_refused() -> Iterator[None]:
    """Take back what is said in this block if it fails: who is refused when it is made holds nothing."""
    with _saying:
        before = [dict(said) for said in _said]
        try:
            yield
        except BaseException:
            _take_back(before)
            raise


@contextlib.contextmanager
def only_tried() -> Iterator[None]:
    """Take back what is said in this block: what is made in it is not used."""
    with _saying:
        before = [dict(said) for said in _said]
        try:
            yield
        finally:
            _take_back(before)


def _take_back(before: Sequence[Mapping[Path, Any]]) -> None:
    # Path by path: others look at these meanwhile, and must not find them empty.
    for said, earlier in zip(_said, before, strict=True):
        for path in said.keys() - earlier.keys():
            del said[path]
        said.update(earlier)


@unless_refused()
def _take_up(*added: tuple[dict[Path, Any], Mapping[Path, Any]]) -> None:
    """Remember paths, unless a sandbox that is open could not keep them: then it says so now."""
    is_new = any(path not in said for said, paths in added for path in paths)
    for said, paths in added:
        said.update(paths)
    for place in guest_places() if is_new else ():
        held_below(place)
        hidden_below(place)


def _parts_of(file: Path) -> Iterator[tuple[Path, Path]]:
    """A program and what else it loads, each with what it belongs to."""
    if (file.parent.parent / "pyvenv.cfg").exists():
        yield file, file.parent.parent
    elif "node_modules" in file.parts:
        yield file, Path(*file.parts[: file.parts.index("node_modules") + 1])
    else:
        yield file, file if file.is_dir() else file.parent
    if file.suffix in _SCRIPTS_OF_NODE:
        modules = (up / "node_modules" for up in file.parents)
        yield from ((path, path) for path in modules if path.is_dir())


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


def chosen_program(variable: str) -> str | None:
    """The real path of the program that a variable names; a relative one is looked up once, from where
    this program is when it is first asked for.
    """
    value = os.environ.get(variable)
    return _real_once(value) if value else None


@cache
def _real_once(path: str) -> str:
    return os.path.realpath(path)


def without_guests(entries: Iterable[str], start: str | os.PathLike[str]) -> list[str]:
    """Of the directories of a PATH, those that no guest can change, or could: it would decide what is
    started. What is left out is logged; what is held there is not left out.
    """
    places = guest_places(gone=True)
    if not places:
        return list(entries)
    held: list[Path] = []
    for place in places:
        with contextlib.suppress(UsageError):
            held += held_below(place)
    kept: list[str] = []
    for entry in entries:
        way = list(way_to(Path(os.path.abspath(os.path.join(start, entry)))))
        theirs = [at for at in way if any(_is_in(at, place) for place in places)]
        decide = [*(at for at in theirs if at.is_symlink()), *theirs[-1:]]
        if all(any(_is_in(at, path) for path in held) for at in decide):
            kept.append(entry)
        else:
            _warn_of_entry(entry)
    return kept


@cache
def _warn_of_entry(entry: str) -> None:
    """Once for each, however many programs are started."""
    _log.warning(
        "PATH has %r, where commands in a sandbox can write: programs that this one starts outside "
        "are not looked up there. Give their full paths, which are then held.",
        entry,
    )


def check_writable(
    places: Iterable[Path], walls: str, *, holds_below: bool, readable: Iterable[Path] = ()
) -> None:
    """Raise `UsageError` where these walls would let commands change what this program runs from.

    What cannot be told from somebody's own code, modules where Python looks for them, is logged.
    """
    writable = [place.resolve() for place in places]
    below = own_below(writable, readable, walls, holds_below=holds_below)
    entries = [Path(entry).resolve() for entry in sys.path]
    # Where a program was started from a file that lies right in the directory, it looks there, too.
    entries += [*_searched, *(whole for whole in tuple(_programs.values()) if whole in writable)]
    for place in writable:
        for entry in entries:
            if _is_in(entry, place) and not any(_is_in(entry, path) for path in below.held):
                _warn_of_modules(str(entry))


def own_below(
    writable: Sequence[Path], readable: Iterable[Path], walls: str, *, holds_below: bool
) -> OwnBelow:
    """What of ours commands would see now; `UsageError` where these walls cannot keep it."""
    held = [path for place in writable for path in held_below(place)]
    hidden = [path for place in writable for path in hidden_below(place)]
    for place in map(Path.resolve, readable):
        if not any(_is_in(place, other) for other in writable):
            hidden += hidden_below(place, is_writable=False)
    hidden = list(_outermost(hidden))
    held = [path for path in held if not any(_is_in(path, other) for other in hidden)]
    # All of them, not the outermost only: each is a place that another sandbox looks up.
    pinned = {
        path
        for path in (*guest_places(), *map(_directory_of, tuple(_relied_on)))
        if any(_is_below(path, place) for place in writable)
        and not any(_is_in(path, other) for other in (*held, *hidden))
        and path.exists()
    }
    if not holds_below and (held or hidden):
        _refuse(writable, held, hidden, walls)
    _check_number((*hidden, *held, *pinned))
    return OwnBelow(tuple(held), tuple(hidden), tuple(sorted(pinned)))


def _directory_of(path: Path) -> Path:
    """Of a file, where it lies: as a mount point no editor could replace it, and a link that somebody
    puts in its place is refused when it is next looked up.
    """
    return path.parent if path.is_file() else path


def _check_number(paths: Sequence[Path]) -> None:
    if len(paths) > _MOST_BELOW:
        raise UsageError(
            f"{len(paths)} paths of this program lie where commands can see them, such as "
            f"{str(paths[0])!r}; at most {_MOST_BELOW} can be kept apart. Name a smaller directory as the "
            "workspace, or remove what is not needed."
        )


def _refuse(
    writable: Sequence[Path], held: Sequence[Path], hidden: Sequence[Path], walls: str
) -> None:
    first = (*held, *hidden)[0]
    place = next((place for place in writable if _is_below(first, place)), first.parent)
    if held:
        raise UsageError(
            f"{str(place)!r} holds {str(first)!r}, which this program runs from, and {walls} cannot "
            "keep commands from changing it. Use bubblewrap, name a sub-directory as the workspace, or "
            "keep it outside of the workspace (an environment as with UV_PROJECT_ENVIRONMENT, a server "
            "with sandbox=ServerSandbox())."
        )
    raise UsageError(
        f"{str(place)!r} holds {str(first)!r}, where this program keeps its own records, and {walls} "
        "cannot hide it from commands. Use bubblewrap, or keep the records outside of what commands "
        "can see, as with store='sqlite:////var/lib/app/sessions.db'."
    )


@cache
def _warn_of_modules(entry: str) -> None:
    """Once for each, however many sandboxes are opened."""
    _log.warning(
        "Commands in the sandbox can write to %r, where this program, or one that it starts, looks for "
        "modules: what it imports later may be theirs, and then runs outside. Name a sub-directory as the "
        "workspace, start Python with -P or PYTHONSAFEPATH=1, and servers in a directory of their own.",
        entry,
    )


def held_below(place: Path) -> tuple[Path, ...]:
    """What of ours lies below a real directory that commands can write to: the outermost paths.

    Raises `UsageError` where no wall could keep them apart, because all of the directory is ours,
    the system is in it, or a link in it leads to what is ours.
    """
    own, called = _own_now(), _called_below(place)
    if system := [path for path in _SYSTEM if _is_below(path, place)]:
        raise UsageError(
            f"{str(place)!r} holds the system itself, such as {str(system[0])!r}, so commands cannot "
            "be allowed to write there; name a directory of the project as the workspace."
        )
    if around := [path for path in own.parts if _is_in(place, path) or _is_around(path, place)]:
        raise _unfit(place, f"lies in {str(around[0])!r}")
    base, library = Path(sys.base_prefix).resolve(), Path(sysconfig.get_path("stdlib")).resolve()
    if _is_in(place, base) and (_is_in(PYTHON, place) or _is_in(library, place)):
        raise _unfit(place, "is where Python itself is installed")
    ours = [*map(called, own.whole), *map(called, own.parts), *_started_in(place, called)]
    held = _outermost(path for path in ours if _is_below(path, place))
    links = [*map(called, own.links), *map(called, tuple(_links))]
    links += [path for path in held if path.is_symlink()]
    for path in (*links, *(path for path in held if not path.exists())):
        if _is_below(path, place) and not any(
            _is_in(path, other) for other in held if other.exists() and not other.is_symlink()
        ):
            raise _unfit(place, f"holds {str(path)!r}, which commands could replace")
    return held


def _started_in(place: Path, called: "_Called") -> list[Path]:
    """Of programs that are started, what they belong to, or themselves where that is not below."""
    known = [(called(file), called(whole)) for file, whole in tuple(_programs.items())]
    return [whole if _is_below(whole, place) else file for file, whole in known]


def hidden_below(place: Path, *, is_writable: bool = True) -> tuple[Path, ...]:
    """Our records below a real directory that commands can see: what is to be empty there.

    A database is hidden with its directory, since SQLite makes and removes files beside it. Where
    that cannot be, as the directory is all that commands work in or has other files, `UsageError` says
    where to move it; where commands can only read, the other files are hidden with it.
    """
    called = _called_below(place)
    directories = tuple(map(called, tuple(_directories)))
    around = [path for path in directories if _is_in(place, path) or _is_around(path, place)]
    if is_writable and around:
        raise _holds_records(place, around[0], "lies in")
    found = [
        path for path in (*directories, *our_temporary_directories(place)) if _is_below(path, place)
    ]
    for known in tuple(_databases):
        file = called(known)
        if not _is_below(file, place) or any(_is_in(file, path) for path in found):
            continue
        others = _others_in(known.parent)
        needed = [path for path in _own_now().parts if _is_in(path, file.parent)]
        if file.parent == place or needed or (others and is_writable):
            raise _holds_records(place, file, "holds", others)
        if others:
            _warn_of_hidden(str(file), str(file.parent / others[0]))
        found.append(file.parent)
    # Before they are compared with each other: anybody may make directories with our names.
    _check_number(found)
    return _outermost(found)


def _others_in(directory: Path) -> list[str]:
    """What in a database's directory is not this program's, so that somebody would miss it."""
    if directory in _alone:
        return []
    known = {
        f"{file.name}{more}"
        for file in tuple(_databases)
        if file.parent == directory
        for more in _BESIDE
    }
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        names = []
    if directory.name == _OURS or _OURS in names:
        names = []
    others = sorted(
        name
        for name in names
        if name not in known and name not in _HARMLESS and directory / name not in _directories
    )
    if not others:
        _alone[directory] = None
    return others


def make_database(path: str | os.PathLike[str]) -> None:
    """Make the file of a database, for nobody but this user; one that exists stays as it is.

    `OSError` if somebody else may have put it there, or a file that SQLite would read with it. An
    existing one is not opened: to close it again would drop the locks that other connections of this
    process hold on it.
    """
    file = Path(path)
    make_private_file(file)
    real = file.resolve()
    for more in _BESIDE:
        demand_own_way(real.with_name(f"{real.name}{more}"))


def make_directory_of_records(directory: Path) -> None:
    """Make a missing directory for records, for nobody but this user; one of databases is marked."""
    if not directory.exists():
        make_parents(directory)
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
            directory.chmod(0o700)
            if any(file.parent == directory for file in tuple(_databases)):
                (directory / _OURS).touch()


@cache
def _warn_of_hidden(database: str, other: str) -> None:
    _log.warning(
        "%r is hidden from commands with its directory, and so are other files there, such as %r. Give "
        "the database a directory of its own.",
        database,
        other,
    )


def _holds_records(place: Path, path: Path, how: str, others: Sequence[str] = ()) -> UsageError:
    beside = (
        f"Beside it lies {others[0]!r}, so its directory cannot be hidden with it; if all in there is this "
        f"program's, put an empty file {_OURS!r} there. "
        if others
        else ""
    )
    return UsageError(
        f"Commands cannot be allowed in {str(place)!r}: it {how} {str(path)!r}, where this "
        f"program keeps its own records, such as what people have answered. {beside}Keep them elsewhere "
        "('sqlite:////var/lib/app/sessions.db'), give the database a directory of its own, which is "
        "then hidden ('sqlite:///.toolwright/sessions.db'), or name a sub-directory as the workspace."
    )


def records_below(place: Path) -> list[Path]:
    """Directories and files that tools do not read, though they may not be there yet."""
    databases = tuple(_databases)
    files = [Path(f"{file}{more}") for file in databases for more in _BESIDE]
    alone = [file.parent for file in databases if not _others_in(file.parent)]
    records = (*tuple(_directories), *our_temporary_directories(place), *alone, *files)
    return [path for path in map(_called_below(place), records) if _is_below(path, place)]


Closed = Mapping[tuple[int, int] | tuple[int, int, str], str]
"""Why a file or directory is closed to tools, by its device and inode, or by those of its directory and
its name in there."""


def closed_below(root: str, *, to_writing: bool) -> Closed:
    """What is ours at, above or below a real directory that tools read, or write to."""
    place, own = Path(root), _own_now()
    closed: dict[Any, str] = {}
    for path in records_below(place):
        # By its name as well: SQLite takes what it finds beside a database for a part of it.
        if parent := _identity(path.parent):
            closed[*parent, path.name] = _KEPT
        closed[_identity(path)] = _KEPT
    if to_writing:
        called = _called_below(place)
        known = [*map(called, own.whole), *map(called, own.parts), *_started_in(place, called)]
        ours = [path for path in known if _is_below(path, place)]
        ours += [place] if any(_is_in(place, path) for path in own.parts) else []
        closed.update({_identity(path): _RUN for path in ours})
    closed.pop(None, None)
    return closed


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
    parts += [chosen_program(name) or "" for name in ("TOOLWRIGHT_BWRAP", "MONTY_BIN")]
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
    # What lies beside the program that was started is its author's, whatever commands put there.
    started = os.path.abspath(getattr(sys.modules.get("__main__"), "__file__", None) or "-")
    if os.path.realpath(entry) in (os.path.realpath(os.path.dirname(started)), os.getcwd()):
        return False
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
        if not any(_is_below(path, other) for other in found):
            found.append(path)
    return tuple(found)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


_Called = Callable[[Path], Path]


def _called_below(place: Path) -> _Called:
    """Gives a path the name that it has below a real directory, if another path leads to that, too, as
    where one volume is mounted twice: real paths differ then, devices and inodes do not.
    """
    here, known = _identity(place), dict[Path, tuple[int, int] | None]()

    def called(path: Path) -> Path:
        if here is None or _is_in(path, place):
            return path
        for up in (path, *path.parents):
            if up not in known:
                known[up] = _identity(up)
            if known[up] == here:
                return place / path.relative_to(up)
        return path

    return called


def _is_around(path: Path, place: Path) -> bool:
    """Whether a directory is one that a place lies in, by another name."""
    around = _identity(path)
    return around is not None and any(_identity(up) == around for up in (place, *place.parents))


def _is_in(path: Path, place: Path) -> bool:
    return path == place or _is_below(path, place)


def _is_below(path: Path, place: Path) -> bool:
    """By their text, which real paths have only one of: asked some hundred times for each command."""
    return str(path).startswith(f"{str(place).rstrip('/')}/")
