"""Whose files may run: code, programs and servers only from directories that the person trusts."""

import hashlib
import os
import shlex
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from toolwright._mcp_env_file import read_env_file
from toolwright._mcp_file import is_disabled, read_mcp_file
from toolwright._mcp_variables import directory_of, fill_in
from toolwright._private import make_parents, read_plain_file, write_plain_file
from toolwright.cli import _exit as exits
from toolwright.cli._go import is_interactive
from toolwright.cli._out import note, note_line, prompt, say_line
from toolwright.cli._shorten import shorten
from toolwright.cli._state import state_directory
from toolwright.errors import UsageError
from toolwright.kits import (
    AgentFile,
    find_code,
    import_object,
    is_path,
    openapi_addresses,
    read_agent_file,
)
from toolwright.messages import shown_json
from toolwright.models import MODEL_KEYS

__all__ = ["import_trusted", "is_trusted", "is_trusted_file", "trust", "trusted_file"]

_LONGEST_PATH = 100_000
_VARIABLE = "TOOLWRIGHT_TRUST"
_REPOSITORIES = (
    ".git",
    ".hg",
    ".jj",
    ".sl",
    ".svn",
    ".bzr",
    ".pijul",
    "_darcs",
    "CVS",
    ".fslckout",
    "_FOSSIL_",
    "_MTN",
    ".got",
)
"""What the top of a repository has in it; a link to nowhere too, which a later command may fill."""
_MOST_SHOWN = 10_000
_MOST_LINES = 300
"""More than that, and nobody would read it all: who is asked must have seen everything."""
_ONLY_SAID = {"description", "instructions"}
_SHORT = 300


def trust(
    directory: Path = Path(),
    /,
    *,
    revoke: Annotated[bool, Parameter(negative=())] = False,
    list_all: Annotated[bool, Parameter(name="--list", negative=())] = False,
) -> int:
    """Trust a directory: commands may run what its files name.

    That is code that an agent's file or --agent names, plugins and servers. What is below the
    directory is trusted with it, other repositories are not.

    Args:
        directory: The current one, if not given.
        revoke: Do not trust it any longer.
        list_all: List the directories that are trusted.
    """
    if list_all and revoke:
        raise UsageError("--list and --revoke are two commands: give one of them.")
    if list_all:
        for path in sorted(_kept()):
            say_line(path)
        return exits.DONE
    place = _real(directory)
    if revoke:
        _mark(place).unlink(missing_ok=True)
        if is_trusted(place):
            above = ", ".join(str(path) for path in _covering(place) if str(path) in _kept())
            raise UsageError(f"It still is, with {above}: revoke that, or change {_VARIABLE}.")
        say_line(f"{place} is not trusted.")
        return exits.DONE
    if not place.is_dir():
        raise UsageError(f"There is no directory {str(place)!r}.")
    _keep(place)
    say_line(f"{place} is trusted.")
    return exits.DONE


def is_trusted(directory: Path) -> bool:
    """Whether the person has said so, with `toolwright trust` or in the environment."""
    return any(
        place in _named() or _read(_mark(place)) == str(place) for place in _covering(directory)
    )


def trusted_file(path: Path) -> Path:
    """The path of an agent's file, if what it names may run."""
    _look_here_only_if_trusted()  # What the question needs is not imported from here either.
    if path.exists():
        for place in _places_of(path):
            _require(place, str(path), lambda: _of_file(path))
    _look_here_only_if_trusted()
    return path


def is_trusted_file(path: Path) -> bool:
    """Whether what an agent's file names may run; nobody is asked."""
    _look_here_only_if_trusted()
    return all(is_trusted(place) for place in _places_of(path))


def _places_of(path: Path) -> tuple[Path, Path]:
    """Where a file stands and, for it may be a link, where it is from: both must be trusted."""
    return path.parent, _real(path).parent


def import_trusted(name: str) -> Any:
    """The object that `package.module:name` or `path/to/file.py:name` names.

    It is looked for in the current directory first, if that is trusted.
    """
    written = name.rpartition(":")[0]
    for place in _code_places(written):
        _require(place, name, lambda: f"imports {written}")
    _look_here_only_if_trusted()
    return import_object(name)


def _code_places(written: str) -> Iterator[Path]:
    """The directories that the code is from, as far as it is not installed."""
    root = Path.cwd()
    if not is_path(written):
        if written.partition(".")[0] not in sys.builtin_module_names:
            yield from _imported_from(root, written)
        return
    found = find_code(written, [root])
    if found is None:
        return  # There is none, which is told where it is looked for.
    code, root = found
    yield root
    # The packages around a file run with it.
    for place in (code, *code.parents[: len(code.relative_to(root).parts) - 1]):
        if place.is_dir():
            yield _real(place)
            place /= "__init__.py"
        yield _real(place).parent


def _imported_from(root: Path, name: str) -> Iterator[Path]:
    """Where Python would take a module and the packages around it from, if it looks in `root` first.

    Nothing is imported. What Python finds by another entry of its path is installed, also where
    that lies below `root`, as an environment may.
    """
    search = [str(root), *(entry for entry in sys.path if entry and Path(entry) != root)]
    own = {root}
    for number in range(1, name.count(".") + 2):
        found = PathFinder.find_spec(".".join(name.split(".")[:number]), search)
        if found is None:
            return
        search = list(found.submodule_search_locations or ())
        places = [Path(place) for place in (*search, found.origin) if place]
        inside = [place for place in places if _holder_of(place) in own]
        for place in inside:
            yield root
            yield _real(place) if place.is_dir() else _real(place).parent
        own = set(inside)


def _holder_of(place: Path) -> Path:
    """The directory in which a module or package is found."""
    return place.parent.parent if place.name.startswith("__init__.") else place.parent


def _require(directory: Path, wanted: str, names: Callable[[], str]) -> None:
    """Raise `UsageError` unless the directory is trusted; a person at a terminal is asked."""
    if is_trusted(directory):
        return
    place = _real(directory)
    if is_interactive():
        shown = names()
        if len(shown) > _MOST_SHOWN or shown.count("\n") >= _MOST_LINES:
            raise UsageError(
                f"{wanted} is not used: it can run programs with your rights, {str(place)!r} is not "
                "trusted, and what it names is too much to show. Look at the files, then:\n"
                f"  toolwright trust {shlex.quote(str(place))}"
            )
        if _says_yes(place, wanted, shown):
            _keep(place)
            return
    raise UsageError(
        f"{wanted} is not used: it can run programs with your rights, and {str(place)!r} is not "
        "trusted. If you know where it is from:\n"
        f"  toolwright trust {shlex.quote(str(place))}\n"
        f"or name the directory in {_VARIABLE}."
    )


def _says_yes(place: Path, wanted: str, names: str) -> bool:
    note_line(f"You have not trusted {place} yet. {wanted} can run programs with your rights:")
    note(f"{names}\n")
    from toolwright.cli._lines import drop_typed_ahead  # noqa: PLC0415 - slow, and seldom needed

    drop_typed_ahead()
    prompt("Trust this directory from now on? [y/N] ")
    with _interruptible():
        return sys.stdin.readline().strip().lower() in ("y", "yes")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends a read that blocks the event loop, which would only note that it was wanted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _of_file(path: Path) -> str:
    """All that the file says beyond the defaults, and what it names says in turn; nothing is done.

    What is only said is shortened, and servers that do not start are counted; the rest is whole.
    """
    settings: AgentFile = read_agent_file(path)
    said = settings.model_dump(mode="json", exclude_defaults=True)
    said |= {key: shorten(said[key], _SHORT) for key in _ONLY_SAID & said.keys()}
    shown = [shown_json({"preset": settings.tools.preset, **said}, indent=2)]
    for name in settings.tools.mcp_files:
        shown += [f"{name}:", _servers_of(path.parent / name)]
    for api in settings.tools.openapi:
        shown += [f"{api.source}:", _addresses_of(path.parent, api)]
    return "\n".join(shown)


def _addresses_of(base: Path, api: Any) -> str:
    """Where the tools of an OpenAPI document would send what they are given."""
    try:
        addresses = openapi_addresses(base, api)
    except (UsageError, ImportError, ValueError, RecursionError) as error:
        return f"(cannot be read: {error})"
    if addresses is None:
        return "(from the web: it says itself where its tools send what they are given)"
    return shown_json(addresses, indent=2)


def _servers_of(file: Path) -> str:
    """The servers of an `mcp.json` that would start."""
    if not file.is_file():
        return "(there is no such file)"
    try:
        servers = read_mcp_file(file)
    except UsageError as error:
        return f"(starts nothing: {error})"
    started = {
        name: _with_env_file(server, file, f"MCP server {name!r}")
        for name, server in servers.items()
        if not is_disabled(server)
    }
    left_out = len(servers) - len(started)
    more = f"\n(and {left_out} that are disabled)" if left_out else ""
    return shown_json(started, indent=2) + more


def _with_env_file(server: dict[str, Any], file: Path, where: str) -> dict[str, Any]:
    """The server with the variables of its `envFile`: they can say what runs as those of `env` can."""
    written = server.get("envFile")
    if not isinstance(written, str):
        return server
    return {**server, "envFile": {written: _variables_of(written, directory_of(file), where)}}


def _variables_of(written: str, base: Path, where: str) -> dict[str, str] | str:
    try:
        filled = fill_in(written, base, where, withheld=MODEL_KEYS)
        if not filled:
            return {}
        path = base / filled
        if path.exists() and not path.is_file():  # A pipe would block, or give its content away.
            return "(not shown: it is not a regular file)"
        return read_env_file(path, where)
    except (UsageError, OSError, ValueError) as error:
        return f"(cannot be read: {error})"


def _look_here_only_if_trusted() -> None:
    """Python itself may look for modules in the current directory, or not, as it was started.

    Last: an agent may write there, and a module of an installed name would run in its place.
    """
    here = Path.cwd()
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry) != here]
    if is_trusted(here):
        sys.path.append(str(here))


def _covering(directory: Path) -> Iterator[Path]:
    """The directories whose trust covers this one: itself, and those above it in its repository.

    Of the root and of one's home only what lies in them directly is meant: the rest is from anywhere.
    """
    place = _real(directory)
    yield place
    apart = (_real(Path.home()), Path(place.anchor))
    while not any(os.path.lexists(place / mark) for mark in _REPOSITORIES):
        if place in apart or place.parent in apart:
            return
        place = place.parent
        yield place


def _real(directory: Path) -> Path:
    return Path(os.path.realpath(directory))


def _named() -> list[Path]:
    """What the environment trusts."""
    named = [Path(entry) for entry in os.environ.get(_VARIABLE, "").split(os.pathsep) if entry]
    for path in named:
        if not path.is_absolute():
            raise UsageError(f"{_VARIABLE} must have absolute paths; got {str(path)!r}.")
    return [_real(path) for path in named]


def _mark(place: Path) -> Path:
    """The file that says that a directory is trusted: one for each, so that nothing is rewritten."""
    return state_directory() / "trusted" / hashlib.sha256(os.fsencode(place)).hexdigest()


def _keep(place: Path) -> None:
    mark = _mark(place)
    try:
        make_parents(mark)
        write_plain_file(mark, os.fsencode(place), mode=0o600)
    except OSError as error:
        raise UsageError(
            f"That {str(place)!r} is trusted cannot be kept in {mark.parent}: {error.strerror}. "
            f"Name the directory in {_VARIABLE}."
        ) from error


def _read(mark: Path) -> str:
    """What a mark says, if it is a file of this person's own."""
    try:
        status = mark.lstat()
        own = status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode)
        return os.fsdecode(read_plain_file(mark, _LONGEST_PATH)) if own else ""
    except OSError:
        return ""


def _kept() -> set[str]:
    folder = state_directory() / "trusted"
    marks = folder.iterdir() if folder.is_dir() else iter(())
    return {path for path in [*map(_read, marks), *map(str, _named())] if path}
