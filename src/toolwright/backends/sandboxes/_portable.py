"""A sandbox without the operating system: a bash and a Python that are only interpreters."""

import asyncio
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Self

import anyio.to_thread

from toolwright.backends.executors import (
    Capabilities,
    Command,
    Finished,
    Job,
    Limits,
    OnOutput,
)
from toolwright.backends.executors._capture import Capture
from toolwright.backends.sandboxes._monty import MontyPython
from toolwright.errors import ToolError, UsageError

try:
    from bashkit import Bash, ExecResult, FileSystem
except ImportError as error:
    raise ImportError(
        "The portable sandbox needs an extra: pip install 'toolwright[sandbox]'"
    ) from error

__all__ = ["PortableSandbox"]

_WORKSPACE = "/workspace"
_LONGEST = 3600.0
"""Seconds; never without a limit: only time stops a fork bomb in this interpreter."""


class PortableSandbox:
    """Commands on bashkit, Python on Monty; the same on every system. No process is started.

    What they are not: bashkit knows about 160 programs and none of the machine's own; Monty runs a
    part of Python without third-party packages. Neither has background jobs.
    """

    workspace = _WORKSPACE

    def __init__(
        self,
        workspace: str | Path,
        *,
        env: Mapping[str, str] | None = None,
        allow_hosts: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> None:
        directory = Path(workspace).resolve()
        if not directory.is_dir():
            raise UsageError(f"The workspace {str(workspace)!r} is not a directory; make it first.")
        self.limits = limits or Limits()
        self._env = dict(env or {})
        self._hosts = [f"{scheme}://{host}" for host in allow_hosts for scheme in ("https", "http")]
        self._files = FileSystem.real(str(directory), writable=True)
        self._python = MontyPython(directory, _WORKSPACE)
        self._closed = False

    @classmethod
    async def open(
        cls,
        workspace: str | Path,
        *,
        env: Mapping[str, str] | None = None,
        network: bool = False,
        allow_hosts: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> Self:
        """The same as the constructor; refuses to open the whole network."""
        if network:
            raise UsageError(
                "The portable sandbox opens single hosts only; name them: allow_hosts."
            )
        return cls(workspace, env=env, allow_hosts=allow_hosts, limits=limits)

    @property
    def capabilities(self) -> Capabilities:
        """Confined by having no way out; limited in what it can run."""
        return Capabilities(
            filesystem_confined=True,
            network_confined=True,
            processes_confined=True,
            leaves_nothing=True,
            memory_limited=True,
            processes_limited=True,
            notes=(
                "Bash and its programs are re-implementations; the machine's own cannot be run.",
                "Python is a part of the language, without third-party packages.",
                "There are no background jobs, and code has no network.",
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
        """Run a command in a fresh interpreter over the workspace."""
        self._check_open()
        bounds = limits or self.limits
        bash = self._bash({**self._env, **(env or {})}, bounds)
        script = _script(command, cwd, stdin)
        collector = _Collector(bounds.output, merge, on_output, spill)
        started = time.monotonic()
        result = await _execute(bash, script, collector)
        return collector.finished(result, time.monotonic() - started)

    async def start(
        self,
        command: Command,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Job:
        """Not possible here."""
        raise UsageError("The portable sandbox has no background jobs; open an OS sandbox instead.")

    async def run_code(self, code: str, *, limits: Limits | None = None) -> Finished:
        """Run Python; names stay from call to call, as long as the limits stay the same."""
        self._check_open()
        return await self._python.run(code, limits or self.limits)

    async def install(self, packages: Sequence[str]) -> Finished:
        """Not possible here; the answer says so."""
        self._check_open()
        return Finished(
            exit_code=1,
            stdout="",
            stderr="This sandbox's Python has no third-party packages; write the code without.\n",
        )

    async def read_file(self, path: str) -> bytes:
        """A file of the workspace; links that lead outside are not followed."""
        self._check_open()
        try:
            return await anyio.to_thread.run_sync(self._files.read_file, _within(path))
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolError(f"Cannot read {path!r}: {error}.") from error

    async def write_file(self, path: str, data: str | bytes) -> None:
        """Write a file of the workspace and the directories above it."""
        self._check_open()
        inside = _within(path)
        content = data.encode() if isinstance(data, str) else data
        try:
            await anyio.to_thread.run_sync(
                self._files.mkdir, str(PurePosixPath(inside).parent), True
            )
            await anyio.to_thread.run_sync(self._files.write_file, inside, content)
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolError(f"Cannot write {path!r}: {error}.") from error

    async def close(self) -> None:
        """End the Python interpreter."""
        self._closed = True
        await self._python.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _bash(self, env: Mapping[str, str], limits: Limits) -> Bash:
        bash = Bash(
            cwd=_WORKSPACE,
            env=env,
            username="sandbox",
            hostname="sandbox",
            timeout_seconds=min(limits.timeout or _LONGEST, _LONGEST),
            max_memory=limits.memory,
            network={"allow": self._hosts} if self._hosts else None,
        )
        bash.mount(_WORKSPACE, self._files)
        return bash

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("This sandbox is closed; open another one.")


class _Collector:
    """Takes what bashkit prints, both streams, into bounded buffers."""

    def __init__(
        self, room: int, merge: bool, on_output: OnOutput | None, spill: Path | None
    ) -> None:
        self._out = Capture(room, spill)
        self._err = self._out if merge else Capture(room)
        self._on_output = on_output

    def take(self, stdout: str, stderr: str) -> None:
        self._out.feed(stdout.encode())
        self._err.feed(stderr.encode())
        if self._on_output is not None and stdout:
            self._on_output("stdout", stdout)
        if self._on_output is not None and stderr:
            self._on_output("stderr", stderr)

    def finished(self, result: ExecResult, seconds: float) -> Finished:
        late = "execution timeout" in (result.error or "")
        if result.error:
            self._err.feed(f"{result.error}\n".encode())
        self._out.close()
        return Finished(
            exit_code=result.exit_code,
            stdout=self._out.text(),
            stderr="" if self._err is self._out else self._err.text(),
            ended="timeout" if late else "exited",
            truncated=self._out.truncated or self._err.truncated,
            spilled=self._out.spilled,
            seconds=seconds,
        )


async def _execute(bash: Bash, script: str, collector: _Collector) -> ExecResult:
    """Run it; bashkit tells of output in a thread of its own, and stops when the call is cancelled."""
    loop = asyncio.get_running_loop()

    def take(stdout: str, stderr: str) -> None:
        loop.call_soon_threadsafe(collector.take, stdout, stderr)

    return await bash.execute(script, on_output=take)


def _script(command: Command, cwd: str | None, stdin: str | bytes | None) -> str:
    script = command if isinstance(command, str) else shlex.join(command)
    if not script.strip():
        raise UsageError("The command is empty; give a program to run.")
    if stdin is not None:
        text = stdin.decode() if isinstance(stdin, bytes) else stdin
        script = f"printf %s {shlex.quote(text)} | {{ {script}\n}}"
    return f"cd {shlex.quote(cwd)} || exit 1\n{script}" if cwd else script


def _within(path: str) -> str:
    """The path as the workspace's own file system names it."""
    relative = PurePosixPath(path)
    if relative.is_absolute():
        try:
            relative = relative.relative_to(_WORKSPACE)
        except ValueError as error:
            raise ToolError(f"{path!r} is outside the workspace {_WORKSPACE!r}.") from error
    if ".." in relative.parts:
        raise ToolError(f"{path!r} leads outside the workspace; leave out the '..'.")
    return str(PurePosixPath("/") / relative)
