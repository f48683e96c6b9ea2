"""Run commands on another machine, over SSH."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from toolwright._sealed import Sealed
from toolwright.backends.executors import (
    Capabilities,
    Command,
    Finished,
    Job,
    Limits,
    OnOutput,
    require_runnable,
)
from toolwright.errors import StoreError, ToolError, UsageError

try:
    import asyncssh
except ImportError as error:
    raise ImportError("SSH needs an extra: pip install 'toolwright[ssh]'") from error

from toolwright.backends.sandboxes._ssh_command import SshCommand

__all__ = ["SshExecutor"]

_RESOURCES = {"memory": ("-v", 1024), "file_size": ("-f", 512), "cpu_seconds": ("-t", 1),
              "open_files": ("-n", 1)}  # fmt: skip


class SshExecutor(Sealed):
    """Runs commands on a machine that `asyncssh` can connect to. Not a sandbox.

    Files are read and written over SFTP. A command that is stopped is ended there with its process
    group; a process that has left the group is not found. Exit codes from 129 to 192 are taken for
    signals, as shells mean them.
    """

    def __init__(
        self, connection: asyncssh.SSHClientConnection, workspace: str, limits: Limits
    ) -> None:
        self.workspace = workspace
        self.limits = limits
        self._connection = connection
        self._jobs: list[SshCommand] = []
        self._closed = False

    @classmethod
    async def open(
        cls, host: str, workspace: str = ".", *, limits: Limits | None = None, **options: Any
    ) -> Self:
        """Connect; `options` are those of `asyncssh.connect` (`port`, `username`, `client_keys`, …)."""
        try:
            connection = await asyncssh.connect(host, **options)
        except (OSError, asyncssh.Error) as error:
            raise StoreError(f"Cannot connect to {host!r} over SSH: {error}.") from error
        return cls(connection, workspace, limits or Limits())

    @property
    def capabilities(self) -> Capabilities:
        """Whatever the other machine's account is allowed; nothing is enforced from here."""
        return Capabilities(
            real_bash=True,
            real_python=True,
            memory_limited=True,
            notes=("Commands run on the other machine with the rights of the account there.",),
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
        """Run a command there to its end."""
        bounds = limits or self.limits
        line = self._line(command, cwd, env or {}, bounds, merge)
        remote = SshCommand(bounds, on_output, spill)
        await remote.begin(self._connection, line)
        remote.send(stdin)
        return await remote.finish()

    async def start(
        self,
        command: Command,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> Job:
        """Run a command there in the background; it ends with the connection."""
        bounds = limits or replace(self.limits, timeout=None)
        job = SshCommand(bounds, None, None)
        await job.begin(self._connection, self._line(command, cwd, env or {}, bounds, merge=False))
        job.send(None)
        self._jobs.append(job)
        return job

    async def read_file(self, path: str) -> bytes:
        """Read a file there; a relative path starts at the workspace."""
        try:
            async with (
                self._open_connection().start_sftp_client() as sftp,
                sftp.open(self._path(path), "rb") as file,
            ):
                return await file.read()
        except asyncssh.SFTPError as error:
            raise ToolError(f"Cannot read {path!r}: {error.reason}.") from error
        except (OSError, asyncssh.Error) as error:
            raise StoreError(f"The SSH connection failed: {error}.") from error

    async def write_file(self, path: str, data: str | bytes) -> None:
        """Write a file there, and the directories above it."""
        target = self._path(path)
        content = data.encode() if isinstance(data, str) else data
        try:
            async with self._open_connection().start_sftp_client() as sftp:
                await sftp.makedirs(target.rsplit("/", 1)[0] or "/", exist_ok=True)
                async with sftp.open(target, "wb") as file:
                    await file.write(content)
        except asyncssh.SFTPError as error:
            raise ToolError(f"Cannot write {path!r}: {error.reason}.") from error
        except (OSError, asyncssh.Error) as error:
            raise StoreError(f"The SSH connection failed: {error}.") from error

    async def close(self) -> None:
        """End the jobs and the connection."""
        if not self._closed:
            for job in self._jobs:
                await job.stop()
            self._closed = True
            self._connection.close()
            await self._connection.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _open_connection(self) -> asyncssh.SSHClientConnection:
        if self._closed:
            raise UsageError("This SshExecutor is closed; open another one.")
        return self._connection

    def _path(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.workspace}/{path}"

    def _line(
        self, command: Command, cwd: str | None, env: Mapping[str, str], limits: Limits, merge: bool
    ) -> str:
        """The command line for the other machine's shell, in a process group of its own."""
        self._open_connection()
        require_runnable(command)
        argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
        place = shlex.quote(self._path(cwd) if cwd else self.workspace)
        variables = [f"{name}={value}" for name, value in env.items()]
        steps = ["echo @group $$ >&2", f"cd {place}"]
        for name, (flag, unit) in _RESOURCES.items():
            if (amount := getattr(limits, name)) is not None:
                steps.append(f"ulimit {flag} {int(amount / unit)}")
        joined = "exec 2>&1; " if merge else ""
        steps.append(f"{joined}{shlex.join(['env', *variables, *argv])}")
        # The shell stays, and says of a signal what 'setsid' would not.
        return f"exec setsid -w sh -c {shlex.quote(' && '.join(steps) + '; exit $?')}"
