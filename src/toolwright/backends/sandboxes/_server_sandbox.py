"""Walls around a program that we start and talk to: an MCP server, a plugin."""

import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolwright._private import make_parents, make_private_directory
from toolwright._temporary import passing_directory
from toolwright.backends._own_paths import PYTHON
from toolwright.backends.executors import Limits
from toolwright.backends.sandboxes._allowed_hosts import AllowedHosts
from toolwright.backends.sandboxes._open import standing_walls
from toolwright.backends.sandboxes._os_sandbox import OsSandbox
from toolwright.backends.sandboxes._secrets import HostSecret
from toolwright.backends.sandboxes._walls import Walls, python_paths, way_through
from toolwright.concurrency import in_io_thread
from toolwright.errors import UsageError

__all__ = ["Confined", "ServerSandbox"]

_INNER_PATH = f"{PYTHON.parent}:/usr/local/bin:/usr/bin:/bin"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
_RUNNERS = ("npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx")
"""Programs that fetch a package and run it, so that they need a place to keep it."""


@dataclass(frozen=True, slots=True)
class Confined:
    """How to start a program behind its walls."""

    argv: list[str]
    env: dict[str, str]
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSandbox:
    """Where an MCP server or a plugin runs when it is not trusted with this machine.

    It sees the system's programs, its own files and an empty directory. It reaches no network but
    `allow_hosts` and the hosts of its `secrets`, which it never gets to see.
    """

    allow_hosts: Sequence[str] | AllowedHosts = ()
    """Hosts it may reach, like `"pypi.org"` or `"*.example.com"`."""
    secrets: Mapping[str, HostSecret] = field(default_factory=dict)
    """Variables that hold a placeholder inside; requests to a secret's hosts carry the secret."""
    workspace: str | Path | None = None
    """The directory it works in and may change; otherwise one that is removed afterwards."""
    readable: Sequence[str | Path] = ()
    """More that it may read, under the same paths. Its program and script need not be listed."""
    cache: str | Path | None = None
    """Where `npx`, `uvx` and the like keep what they fetch; otherwise a directory for this command
    alone in the user's cache. Never a cache that is used outside: its content is the server's."""
    limits: Limits = field(default_factory=lambda: Limits(timeout=None))
    walls: Walls | Sequence[Walls] = ()
    """As for `open_sandbox`."""

    @asynccontextmanager
    async def open(
        self, command: str, args: Sequence[str], env: Mapping[str, str]
    ) -> AsyncIterator[Confined]:
        """Put up the walls for one start of a program; `StoreError` where none can stand."""
        walls = await standing_walls(self.walls)
        program = _found(command)
        cache = await in_io_thread(self._cache, program, args)
        with passing_directory() as empty:
            sandbox = await OsSandbox.open(
                self.workspace or empty,
                walls,
                allow_hosts=self.allow_hosts,
                secrets=self.secrets,
                readable=(*self.readable, *await in_io_thread(self._needed, program, args, cache)),
                writable=cache,
                limits=self.limits,
            )
            async with sandbox:
                # Last, so that programs that are called by name are the usual ones.
                path = f"{_INNER_PATH}:{Path(program).parent}"
                given = {"PATH": path, **_cache_variables(cache), **env}
                argv, variables = sandbox.behind_walls([program, *args], env=given)
                yield Confined(argv, variables, walls.limits(replace(self.limits, timeout=None)))

    def _needed(self, program: str, args: Sequence[str], cache: Sequence[Path]) -> list[Path]:
        own = [*cache, *([Path(self.workspace).resolve()] if self.workspace else [])]
        known = (*own, *python_paths(), *(Path(path).resolve() for path in self.readable))
        real = Path(program).resolve()
        changeable = way_through(Path(program), own) is not None
        if changeable and not _is_system(real) and not any(map(real.is_relative_to, known)):
            raise UsageError(
                f"The program {program!r} lies where the server may change it, and leads to "
                f"{str(real)!r}: name the directory that this belongs to in readable=, or another "
                "program."
            )
        return _needed(program, args, own)

    def _cache(self, program: str, args: Sequence[str]) -> list[Path]:
        if self.cache is None and Path(program).name not in _RUNNERS:
            return []
        cache = Path(self.cache) if self.cache else _own_cache(program, args)
        make_parents(cache)
        make_private_directory(cache)
        return [cache.resolve()]


def _own_cache(program: str, args: Sequence[str]) -> Path:
    """A directory for one command, so that no server finds what another one put there."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    named = "\0".join([program, *args]).encode("utf-8", "surrogateescape")
    return base / "toolwright" / "servers" / hashlib.sha256(named).hexdigest()[:32]


def _cache_variables(caches: Sequence[Path]) -> dict[str, str]:
    return {
        name: str(cache / folder)
        for cache in caches
        for name, folder in (
            ("npm_config_cache", "npm"),
            ("UV_CACHE_DIR", "uv"),
            ("UV_TOOL_DIR", "uv-tools"),
            ("UV_PYTHON_INSTALL_DIR", "uv-pythons"),
            ("PIPX_HOME", "pipx"),
            ("XDG_CACHE_HOME", "other"),
        )
    }


def _found(command: str) -> str:
    """The program: the one that is there inside, otherwise the one that is found outside."""
    found = shutil.which(command, path=_INNER_PATH) or shutil.which(command)
    if found is None:
        raise UsageError(f"There is no program {command!r}; install it, or give its full path.")
    return os.path.abspath(found)


def _needed(program: str, args: Sequence[str], own: Sequence[Path]) -> list[Path]:
    """What must be readable for the program to start: itself, its script, and what they belong to.

    `own` is what the program may change: where a link in there leads is not made readable for it.
    """
    paths: list[Path] = []
    for file in [Path(program), *(Path(arg) for arg in args if os.path.isabs(arg))]:
        if file.is_file():
            changeable = way_through(Path(os.path.abspath(file)), own) is not None
            for place in (file,) if changeable else (file, file.resolve()):
                paths += _belongings(place)
    return [path for path in dict.fromkeys(paths) if not _is_system(path)]


def _belongings(file: Path) -> list[Path]:
    if (file.parent.parent / "pyvenv.cfg").exists():
        return [file.parent.parent]
    if "node_modules" in file.parts:
        depth = file.parts.index("node_modules") + 1
        return [Path(*file.parts[:depth])]
    # Programs that lie beside each other call each other, as uvx calls uv.
    return [file.parent] if file.parent.name == "bin" else [file]


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in _SYSTEM)
