"""Run commands as processes of this machine, with nothing between them and it."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import anyio

from toolwright._sealed import Sealed
from toolwright.backends.executors._executor import (
    Capabilities,
    Command,
    Finished,
    Limits,
    OnOutput,
    require_runnable,
    shell_argv,
)
from toolwright.backends.executors._job import ProcessJob
from toolwright.backends.executors._process import Process, ProcessSpec, Running
from toolwright.errors import ToolError, UsageError

__all__ = ["INHERITED", "LocalExecutor", "clean_environment"]

INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM",
             "TMPDIR")  # fmt: skip
"""The variables a command gets from this program; all others, secrets among them, stay here."""


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command: what is harmless of ours, and what was given."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {"PATH": os.defpath, **inherited, **(extra or {})}


class LocalExecutor(Sealed):
    """Runs commands on this machine with this program's rights. Not a sandbox.

    Commands start in `workspace` and get a clean environment plus `env`. A time limit, a
    cancellation or the end of this program ends a command and all its descendants, unless it works
    against that: with the same rights, it can kill the process that watches it.
    """

    def __init__(
        self,
        workspace: str | Path = ".",
        *,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        if sys.platform == "win32":
            raise UsageError("LocalExecutor needs POSIX processes; on Windows use it inside WSL.")
        self.workspace = Path(workspace).absolute()
        self.env = dict(env or {})
        self.limits = limits or Limits()
        self._shell = shutil.which("bash") or "/bin/sh"
        self._running = Running()
        self._jobs: list[ProcessJob] = []
        self._closed = False

    @classmethod
    async def open(
        cls,
        workspace: str | Path = ".",
        *,
        env: Mapping[str, str] | None = None,
        network: bool = True,
        allow_hosts: Sequence[str] = (),
    ) -> Self:
        """The same as the constructor; refuses to promise a confined network."""
        if not network or allow_hosts:
            raise UsageError("LocalExecutor cannot confine the network; open a sandbox instead.")
        return cls(workspace, env=env)

    @property
    def capabilities(self) -> Capabilities:
        """What is really enforced here: limits and an end, but no walls."""
        linux = sys.platform == "linux"
        return Capabilities(
            leaves_nothing=linux,
            memory_limited=linux,
            processes_limited=True,
            real_bash=True,
            real_python=True,
            notes=(
                "Commands run on this machine with the rights of this program.",
                "A command that kills the process which watches it can leave others running.",
            ),
        )

    async def run(
        self,
        command: Command,
        *,
        stdin: str | bytes | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        merge: bool = False,
        on_output: OnOutput | None = None,
        spill: Path | None = None,
    ) -> Finished:
        """Run a command to its end; nothing it started is left running."""
        spec = self._spec(command, cwd, env, limits or self.limits)
        process = Process(replace(spec, stdin=stdin, merge=merge, spill=spill))
        return await self._running.communicate(process, on_output)

    async def start(
        self,
        command: Command,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> ProcessJob:
        """Run a command in the background; it has no time limit unless `limits` gives one."""
        unhurried = replace(self.limits, timeout=None)
        spec = self._spec(command, cwd, env, limits or unhurried)
        job = ProcessJob(Process(spec), spec.limits.output)
        self._jobs = [*(one for one in self._jobs if one.poll() is None), job]
        return job

    async def read_file(self, path: str) -> bytes:
        """A file's content; a relative path starts at the workspace."""
        try:
            return await anyio.Path(self.workspace / path).read_bytes()
        except (OSError, ValueError) as error:
            raise ToolError(f"Cannot read {path!r}: {_cause(error)}.") from error

    async def write_file(self, path: str, data: str | bytes) -> None:
        """Write a file and the directories above it; a relative path starts at the workspace."""
        target = anyio.Path(self.workspace / path)
        try:
            await target.parent.mkdir(parents=True, exist_ok=True)
            await target.write_bytes(data.encode() if isinstance(data, str) else data)
        except (OSError, ValueError) as error:
            raise ToolError(f"Cannot write {path!r}: {_cause(error)}.") from error

    async def close(self) -> None:
        """End what runs, in the background or not."""
        self._closed = True
        async with anyio.create_task_group() as group:
            group.start_soon(self._running.close)
            for job in self._jobs:
                group.start_soon(job.stop)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _spec(
        self, command: Command, cwd: str | None, env: Mapping[str, str] | None, limits: Limits
    ) -> ProcessSpec:
        if self._closed:
            raise UsageError(f"This {type(self).__name__} is closed; open another one.")
        require_runnable(command)
        argv = shell_argv(self._shell, command) if isinstance(command, str) else list(command)
        place = str(self.workspace / cwd) if cwd else str(self.workspace)
        return ProcessSpec(
            argv=argv,
            cwd=place,
            env=clean_environment({**self.env, **(env or {})}),
            limits=limits,
        )


def _cause(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
