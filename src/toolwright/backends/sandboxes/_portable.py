"""A sandbox without the operating system: a bash and a Python that are only interpreters."""

import base64
import importlib.util
import json
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Self

from toolwright._sealed import Sealed
from toolwright._temporary import keep_out_of
from toolwright.backends._own_paths import check_writable, own_below, own_program
from toolwright.backends.executors import (
    Capabilities,
    Command,
    Finished,
    Job,
    Limits,
    OnOutput,
    clean_environment,
    require_runnable,
)
from toolwright.backends.executors._process import Process, ProcessSpec, Running
from toolwright.backends.sandboxes._bashkit_worker import REFUSED
from toolwright.backends.sandboxes._monty import MontyPython
from toolwright.backends.sandboxes._seccomp import MACHINES, interpreter_filter
from toolwright.concurrency import close_all
from toolwright.errors import ToolError, UsageError

__all__ = ["PortableSandbox"]

_found = importlib.util.find_spec("bashkit")
if _found is None or _found.origin is None:
    raise ImportError("The portable sandbox needs an extra: pip install 'toolwright[sandbox]'")
_LIBRARY = str(Path(_found.origin).parents[1])
_WORKER = Path(__file__).with_name("_bashkit_worker.py").read_text(encoding="utf-8")
_NAME = "the portable sandbox"
_WORKSPACE = "/workspace"
_LONGEST = 3600.0
"""Seconds; never without a limit: only time stops a fork bomb in this interpreter."""
_OWN_MEMORY = 64 * 1024 * 1024
"""Bytes of address space that the interpreter takes before a script has any."""
_READ_LIMIT = 64 * 1024 * 1024
_SIGNAL_NAMES = {-6: "aborted", -9: "killed", -11: "crashed"}


class PortableSandbox(Sealed):
    """Commands on bashkit, Python on Monty; the same on Linux and macOS.

    Each command has an interpreter in a process of its own, which holds its limits and can crash
    alone; the interpreter starts no programs. What they are not: bashkit knows about 160 programs
    and none of the machine's own; Monty runs a part of Python without third-party packages.
    Neither has background jobs.
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
        if sys.platform == "win32":
            raise UsageError("The portable sandbox needs POSIX processes; on Windows use WSL.")
        directory = Path(workspace).resolve()
        if not directory.is_dir():
            raise UsageError(f"The workspace {str(workspace)!r} is not a directory; make it first.")
        # Its interpreters reach the same files by links and renamed directories.
        check_writable([directory], _NAME, holds_below=False)
        self.limits = limits or Limits()
        self._env = dict(env or {})
        self._hosts = [f"{scheme}://{host}" for host in allow_hosts for scheme in ("https", "http")]
        self._directory = directory
        self._running = Running()
        self._python = MontyPython(directory, _WORKSPACE)
        self._closed = False
        self._let_go = keep_out_of([directory])  # Last: who is refused holds nothing.

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
            memory_limited=sys.platform == "linux",
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
        request = {
            "op": "run",
            "script": _script(command, cwd, stdin),
            "settings": self._settings({**self._env, **(env or {})}),
        }
        process = self._process(request, limits or self.limits, merge=merge, spill=spill)
        done = await self._running.communicate(process, on_output)
        ending = _SIGNAL_NAMES.get(done.exit_code) if done.ended == "exited" else None
        note = f"The interpreter {ending}.\n" if ending else ""
        return replace(done, stderr=f"{done.stderr}{note}")

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
        limits = replace(self.limits, output=_READ_LIMIT, memory=None)
        process = self._process({"op": "read", "path": _within(path)}, limits)
        done = await self._running.communicate(process)
        if done.truncated:
            raise ToolError(f"Cannot read {path!r}: it is larger than {_READ_LIMIT} bytes.")
        _must_have_moved("read", path, done)
        return process.stdout_bytes()

    async def write_file(self, path: str, data: str | bytes) -> None:
        """Write a file of the workspace and the directories above it."""
        content = base64.b64encode(data.encode() if isinstance(data, str) else data).decode()
        request = {"op": "write", "path": _within(path), "data": content}
        limits = replace(self.limits, memory=None)
        done = await self._running.communicate(self._process(request, limits))
        _must_have_moved("write", path, done)

    async def close(self) -> None:
        """End the interpreters."""
        self._closed = True
        try:
            await close_all([self._python.close, self._running.close])
        finally:
            self._let_go()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _settings(self, env: Mapping[str, str]) -> dict[str, Any]:
        """How the interpreter is made; the limits are held from outside, by its process."""
        return {
            "cwd": _WORKSPACE,
            "env": dict(env),
            "username": "sandbox",
            "hostname": "sandbox",
            "timeout_seconds": _LONGEST,
            "network": {"allow": self._hosts} if self._hosts else None,
        }

    def _process(
        self,
        request: Mapping[str, Any],
        limits: Limits,
        *,
        merge: bool = False,
        spill: Path | None = None,
    ) -> Process:
        self._check_open()
        known = sys.platform == "linux" and platform.machine() in MACHINES
        program = interpreter_filter(network=bool(self._hosts)).hex() if known else ""
        own = {"directory": str(self._directory), "library": _LIBRARY, "filter": program}
        memory = None if limits.memory is None else limits.memory + _OWN_MEMORY
        return Process(
            ProcessSpec(
                argv=own_program(_WORKER),
                cwd="/",
                # One arena for all threads: each further one would count as 64 MB.
                env=clean_environment({"MALLOC_ARENA_MAX": "1"}),
                limits=replace(
                    limits, timeout=min(limits.timeout or _LONGEST, _LONGEST), memory=memory
                ),
                stdin=json.dumps({**request, **own}),
                merge=merge,
                spill=spill,
            )
        )

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("This sandbox is closed; open another one.")
        own_below([self._directory], (), _NAME, holds_below=False)


def _must_have_moved(verb: str, path: str, done: Finished) -> None:
    if not done.ok:
        reason = done.stderr.strip() if done.exit_code == REFUSED else "the interpreter failed"
        raise ToolError(f"Cannot {verb} {path!r}: {reason}.")


def _script(command: Command, cwd: str | None, stdin: str | bytes | None) -> str:
    require_runnable(command)
    script = command if isinstance(command, str) else shlex.join(command)
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
