"""Whose files may run: code, programs and servers only from directories that the person trusts."""

import hashlib
import os
import shlex
import stat
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from toolwright.cli import _exit as exits
from toolwright.cli._go import is_interactive
from toolwright.cli._out import note_line, prompt, say_line
from toolwright.cli._state import make_private, state_directory
from toolwright.errors import UsageError
from toolwright.kits import AgentFile, import_object, is_path, read_agent_file

__all__ = ["import_trusted", "is_trusted", "trust", "trusted_file"]

_VARIABLE = "TOOLWRIGHT_TRUST"


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
    if path.exists():
        _require(path.parent, str(path), lambda: _of_file(path))
    _look_here_only_if_trusted()
    return path


def import_trusted(name: str) -> Any:
    """The object that `package.module:name` or `path/to/file.py:name` names.

    It is looked for in the current directory first, if that is trusted.
    """
    written, here = name.rpartition(":")[0], Path.cwd()
    if is_path(written):
        file = Path(os.path.normpath(here / written))
        place = here if here in (file, *file.parents) else file.parent
    else:
        top = written.partition(".")[0]
        place = here if top and PathFinder.find_spec(top, [str(here)]) else None
    if place is not None and place.is_dir():
        _require(place, name, lambda: iter([f"imports {written}"]))
    _look_here_only_if_trusted()
    return import_object(name)


def _require(directory: Path, wanted: str, names: Callable[[], Iterator[str]]) -> None:
    """Raise `UsageError` unless the directory is trusted; a person at a terminal is asked."""
    if is_trusted(directory):
        return
    place = _real(directory)
    if is_interactive() and _says_yes(place, wanted, names()):
        _keep(place)
        return
    raise UsageError(
        f"{wanted} is not used: it can run programs with your rights, and {str(place)!r} is not "
        "trusted. If you know where it is from:\n"
        f"  toolwright trust {shlex.quote(str(place))}\n"
        f"or name the directory in {_VARIABLE}."
    )


def _says_yes(place: Path, wanted: str, names: Iterator[str]) -> bool:
    note_line(f"You have not trusted {place} yet. {wanted} can run programs with your rights:")
    for line in names:
        note_line(f"  {line}")
    from toolwright.cli._lines import drop_typed_ahead  # noqa: PLC0415 - slow, and seldom needed

    drop_typed_ahead()
    prompt("Trust this directory from now on? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _of_file(path: Path) -> Iterator[str]:
    """What the file would have done, without doing it."""
    settings: AgentFile = read_agent_file(path)
    tools = settings.tools
    yield from (f"imports {name}" for name in tools.functions)
    yield from (f"starts {plugin.path}" for plugin in tools.plugins)
    for server in tools.mcp:
        command = " ".join([server.command or "", *server.args])
        yield f"connects to {server.url}" if server.url else f"starts {command}"
    yield from (f"starts or connects to what {file} names" for file in tools.mcp_files)
    yield from (f"connects to what {api.source} names" for api in tools.openapi)
    yield from (f"has the skill {folder}" for folder in tools.skills)
    yield f"its tools: {tools.preset}, in {path.parent / tools.work_dir}"
    approvals = settings.approvals
    allowed = [*approvals.allow, *(["the rest"] if approvals.otherwise == "allow" else [])]
    if allowed:
        yield f"nobody is asked about: {', '.join(allowed)}"


def _look_here_only_if_trusted() -> None:
    """Python itself may look for modules in the current directory, or not, as it was started."""
    here = Path.cwd()
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry) != here]
    if is_trusted(here):
        sys.path.insert(0, str(here))


def _covering(directory: Path) -> Iterator[Path]:
    """The directories whose trust covers this one: itself, and those above it in its repository.

    Of the root and of one's home only what lies in them directly is meant: the rest is from anywhere.
    """
    place = _real(directory)
    yield place
    apart = (_real(Path.home()), Path(place.anchor))
    while not (place / ".git").exists() and place.parent not in apart and place not in apart:
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
        make_private(mark)
        mark.write_bytes(os.fsencode(place))
    except OSError as error:
        raise UsageError(
            f"That {str(place)!r} is trusted cannot be kept in {mark.parent}: {error.strerror}. "
            f"Name the directory in {_VARIABLE}."
        ) from error


def _read(mark: Path) -> str:
    """What a mark says, if it is a file of this person's own."""
    try:
        with os.fdopen(os.open(mark, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            status = os.fstat(file.fileno())
            own = status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode)
            return os.fsdecode(file.read()) if own else ""
    except OSError:
        return ""


def _kept() -> set[str]:
    folder = state_directory() / "trusted"
    marks = folder.iterdir() if folder.is_dir() else iter(())
    return {path for path in [*map(_read, marks), *map(str, _named())] if path}
