"""What it means to run commands somewhere: the `Executor` protocol and the values it exchanges."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, Protocol, Self, runtime_checkable

from toolwright._sealed import sealed
from toolwright.errors import ToolError, UsageError

__all__ = [
    "Capabilities",
    "Command",
    "Ended",
    "Executor",
    "Finished",
    "Job",
    "Limits",
    "OnOutput",
    "Sandbox",
    "demand",
    "require_runnable",
    "shell_argv",
]

Command = str | Sequence[str]
"""A string is read by the shell; a sequence is a program and its arguments, and no shell is asked."""
OnOutput = Callable[[Literal["stdout", "stderr"], str], None]
"""Told of output as it comes."""
Ended = Literal["exited", "timeout", "memory", "processes", "stopped"]
"""Why a command is over: by itself, or because it was killed for one of these reasons."""


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a command may use; None means no limit."""

    timeout: float | None = 120.0
    """Seconds of wall-clock time."""
    cpu_seconds: int | None = None
    memory: int | None = None
    """Bytes: of address space per process, and of resident memory of all of them together. What no
    process has mapped, such as files in memory, is not counted."""
    file_size: int | None = None
    """Bytes of any one file it writes."""
    processes: int | None = None
    """How many processes and their descendants it may have at a time, itself not counted."""
    open_files: int | None = None
    output: int = 1024 * 1024
    """Bytes kept of each stream: its first half and its last half."""
    grace: float = 0.5
    """Seconds between asking the processes to end (TERM) and ending them (KILL)."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            may_be_zero = field.name in ("grace", "output", "processes")
            if value is None or (math.isfinite(value) and value > 0):
                continue
            if value != 0 or not may_be_zero:
                what = "allows nothing" if math.isfinite(value) else "is no amount"
                raise UsageError(
                    f"The limit {field.name}={value!r} {what}; give a positive number, or None for "
                    "no limit."
                )


def require_runnable(command: Command) -> None:
    """`UsageError` for an empty one, `ToolError` for one that no program can be started with."""
    words = [command.strip()] if isinstance(command, str) else list(command)
    if not words or words == [""]:
        raise UsageError("The command is empty; give a program to run.")
    if any("\0" in word for word in words):
        raise ToolError(
            "The command has a NUL character, which cannot be part of any; leave it out, or let a "
            r"program make it: printf '\0'."
        )


def shell_argv(shell: str, command: str) -> list[str]:
    """What to start so that the shell runs `command`, in pieces where it is too long for one argument."""
    if len(command) <= _PIECE:
        return [shell, "-c", command]
    pieces = [command[at : at + _PIECE] for at in range(0, len(command), _PIECE)]
    return [shell, "-c", 'IFS=; eval "unset IFS; set --; $*"', shell, *pieces]


_PIECE = 30_000
"""Characters, of up to four bytes: Linux takes at most 128 KB as one argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended, and what it wrote until then."""

    exit_code: int
    """As the program gave it; minus the signal's number when a signal ended it."""
    stdout: str
    stderr: str = ""
    ended: Ended = "exited"
    truncated: bool = False
    """Whether the middle of an output was left out."""
    spilled: Path | None = None
    """Where the whole output is, when a file for it was named and it was too long to keep."""
    seconds: float = 0.0
    value: str | None = None
    """After `run_code`: the last expression's value as Python writes it, if there was one."""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.ended == "exited" and self.exit_code == 0

    @property
    def timed_out(self) -> bool:
        """Whether it was killed because its time was up."""
        return self.ended == "timeout"


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an executor really enforces on this machine, found out rather than hoped for."""

    filesystem_confined: bool = False
    """Commands read and write nothing outside the workspace but the system's read-only files."""
    network_confined: bool = False
    """Commands reach no address that was not allowed."""
    processes_confined: bool = False
    """Commands neither see nor signal processes other than their own."""
    leaves_nothing: bool = False
    """No process outlives its command; unless `processes_confined`, one that kills its launcher may
    leave some."""
    memory_limited: bool = False
    processes_limited: bool = False
    real_bash: bool = False
    """The machine's own bash and programs, rather than an interpreter that resembles them."""
    real_python: bool = False
    """CPython with its whole library, rather than an interpreter of a part of the language."""
    installs_packages: bool = False
    notes: tuple[str, ...] = ()
    """What it cannot do, in words."""


class Job(Protocol):
    """A command running in the background."""

    id: str

    def read(self) -> str:
        """Output that has come since the last `read`, both streams together."""
        ...

    def poll(self) -> Finished | None:
        """How it ended, or None while it runs."""
        ...

    async def wait(self) -> Finished:
        """Wait until it has ended. Cancelling the wait leaves the job running."""
        ...

    async def stop(self) -> Finished:
        """End it and everything it started. A job that has ended stays as it was."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Runs commands in one place: this machine, a sandbox, another machine.

    A command that fails, is killed or cannot be found is a `Finished`, not an exception. Raised are:

    - `ToolError`, when the model could ask differently: a file that is not there, a path that leads
      outside, a working directory that is known not to be there;
    - `UsageError`, when the program is wrong: an executor that is closed, an empty command, something
      that this executor cannot do;
    - `StoreError`, when the place itself fails: a sandbox that does not start, a lost connection.

    Cancelling `run` ends the command and everything it started before the cancellation goes on.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What is really enforced here."""
        ...

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
        """Run a command to its end; nothing it started is left running.

        Without `stdin` the command reads the null device. `env` is added to the executor's own
        clean environment. With `merge`, stderr goes into stdout, in the order written. Output
        beyond `limits.output` goes to the file `spill` as well, where one is named.
        """
        ...

    async def start(
        self,
        command: Command,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Job:
        """Run a command in the background; it has no time limit unless `limits` gives one."""
        ...

    async def read_file(self, path: str) -> bytes:
        """A file's content, as a command there would read it."""
        ...

    async def write_file(self, path: str, data: str | bytes) -> None:
        """Write a file and the directories above it, as a command there would."""
        ...

    async def close(self) -> None:
        """End whatever runs and let go of everything; who waits in `run` gets a command that was
        stopped. May be called twice.
        """
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc: object) -> None: ...


@runtime_checkable
class Sandbox(Executor, Protocol):
    """An executor that also runs Python and installs packages for it.

    The interpreter stays warm: what one piece of code defines, the next one finds.
    """

    async def run_code(self, code: str, *, limits: Limits | None = None) -> Finished:
        """Run Python; `value` is that of a last expression, and `stderr` has the traceback."""
        ...

    async def install(self, packages: Sequence[str]) -> Finished:
        """Install packages for `run_code` and commands, from wheels only: no build script runs."""
        ...


def demand(executor: Executor, *names: str) -> None:
    """Raise `UsageError` unless the executor really enforces each of these `Capabilities`."""
    known = {f.name for f in fields(Capabilities)} - {"notes"}
    if unknown := sorted(set(names) - known):
        raise UsageError(f"No such capability: {unknown}; there are {sorted(known)}.")
    missing = [name for name in names if not getattr(executor.capabilities, name)]
    if missing:
        notes = " ".join(executor.capabilities.notes)
        raise UsageError(
            f"{type(executor).__name__} does not provide {', '.join(missing)} on this machine; "
            f"use a sandbox that does, or stop demanding it. {notes}".rstrip()
        )
