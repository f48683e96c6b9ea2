"""Run commands on another machine, over SSH."""

import re
import shlex
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import anyio

from toolwright.backends.executors import (
    Capabilities,
    Command,
    Ended,
    Finished,
    Job,
    Limits,
    OnOutput,
)
from toolwright.backends.executors._capture import Capture
from toolwright.errors import StoreError, ToolError, UsageError

try:
    import asyncssh
except ImportError as error:
    raise ImportError("SSH needs an extra: pip install 'toolwright[ssh]'") from error

__all__ = ["SshExecutor"]

_RESOURCES = {"memory": ("-v", 1024), "file_size": ("-f", 512), "cpu_seconds": ("-t", 1),
              "open_files": ("-n", 1)}  # fmt: skip
_SIGNALS = {"HUP": 1, "INT": 2, "ABRT": 6, "KILL": 9, "SEGV": 11, "PIPE": 13, "TERM": 15}
_PATIENCE = 10.0
"""Seconds to wait for the other machine to end a command, in case it no longer answers."""
_PATTERN = re.compile(rb"@group (\d+)\n")


class SshExecutor:
    """Runs commands on a machine that `asyncssh` can connect to. Not a sandbox.

    Files are read and written over SFTP. A command that is stopped is ended there with its process
    group; a process that has left the group is not found.
    """

    def __init__(
        self, connection: asyncssh.SSHClientConnection, workspace: str, limits: Limits
    ) -> None:
        self.workspace = workspace
        self.limits = limits
        self._connection = connection
        self._jobs: list[_Remote] = []
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
        remote = _Remote(bounds, on_output, spill)
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
        job = _Remote(bounds, None, None)
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
        argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
        if not argv or (isinstance(command, str) and not command.strip()):
            raise UsageError("The command is empty; give a program to run.")
        place = shlex.quote(self._path(cwd) if cwd else self.workspace)
        variables = [f"{name}={value}" for name, value in env.items()]
        steps = ["echo @group $$ >&2", f"cd {place}"]
        for name, (flag, unit) in _RESOURCES.items():
            if (amount := getattr(limits, name)) is not None:
                steps.append(f"ulimit {flag} {int(amount / unit)}")
        joined = "exec 2>&1; exec" if merge else "exec"
        steps.append(f"{joined} {shlex.join(['env', *variables, *argv])}")
        return f"exec setsid -w sh -c {shlex.quote(' && '.join(steps))}"


class _Remote(asyncssh.SSHClientSession[bytes]):
    """One command running there; the connection tells it of output and of the end."""

    def __init__(self, limits: Limits, on_output: OnOutput | None, spill: Path | None) -> None:
        self.id = f"job-{uuid.uuid4().hex[:8]}"
        self._limits = limits
        self._on_output = on_output
        self._out = Capture(limits.output, spill)
        self._err = Capture(limits.output)
        self._unread = Capture(limits.output)
        self._group: str | None = None
        self._exit_code: int | None = None
        self._gone = anyio.Event()
        self._started = time.monotonic()
        self._finished: Finished | None = None
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._connection: asyncssh.SSHClientConnection | None = None

    async def begin(self, connection: asyncssh.SSHClientConnection, line: str) -> None:
        """Start the command."""
        try:
            self._channel, _ = await connection.create_session(lambda: self, line, encoding=None)
        except (OSError, asyncssh.Error) as error:
            raise StoreError(f"The SSH connection failed: {error}.") from error
        self._connection = connection

    def send(self, stdin: str | bytes | None) -> None:
        """Give the command its whole input."""
        if self._channel is not None and not self._gone.is_set():
            self._channel.write(stdin.encode() if isinstance(stdin, str) else stdin or b"")
            self._channel.write_eof()

    async def finish(self) -> Finished:
        """Wait for the end; when time is up or the wait is cancelled, end it."""
        with anyio.move_on_after(self._limits.timeout) as scope:
            try:
                await self._gone.wait()
            finally:
                if not self._gone.is_set():
                    await self._end()
        return self._conclude("timeout" if scope.cancelled_caught else "exited")

    # -- what the connection calls ----------------------------------------------------------

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Take output; the first line of stderr is ours and names the process group."""
        if datatype is not None and self._group is None and (found := _PATTERN.search(data)):
            self._group = found[1].decode()
            data = _PATTERN.sub(b"", data, count=1)
        text = (self._out if datatype is None else self._err).feed(data)
        self._unread.feed(data)
        if self._on_output is not None and text:
            self._on_output("stdout" if datatype is None else "stderr", text)

    def exit_status_received(self, status: int) -> None:
        """It ended by itself; shells report a signal as 128 and its number."""
        self._exit_code = status if status <= 128 else 128 - status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        """A signal ended it."""
        self._exit_code = -_SIGNALS.get(signal, 15)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more will come."""
        self._gone.set()

    # -- as a job ---------------------------------------------------------------------------

    def read(self) -> str:
        """Output that has come since the last `read`."""
        unread, self._unread = self._unread, Capture(self._limits.output)
        return unread.text()

    def poll(self) -> Finished | None:
        """How it ended, or None while it runs."""
        return self._conclude("exited") if self._gone.is_set() else None

    async def wait(self) -> Finished:
        """Wait until it has ended. Cancelling the wait leaves the job running."""
        with anyio.move_on_after(self._limits.timeout):
            await self._gone.wait()
        return self._conclude("exited") if self._gone.is_set() else await self._killed("timeout")

    async def stop(self) -> Finished:
        """End it and its process group."""
        return self._conclude("exited") if self._gone.is_set() else await self._killed("stopped")

    async def _killed(self, reason: Ended) -> Finished:
        await self._end()
        return self._conclude(reason)

    async def _end(self) -> None:
        with anyio.move_on_after(self._limits.grace + _PATIENCE, shield=True):
            if self._group is not None and self._connection is not None:
                kill = f"kill -%s -{self._group} 2> /dev/null"
                line = f"{kill % 'TERM'}; sleep {self._limits.grace}; {kill % 'KILL'}"
                await self._connection.run(line, check=False)
            if self._channel is not None:
                self._channel.close()
            await self._gone.wait()

    def _conclude(self, ended: Ended) -> Finished:
        if self._finished is None:
            self._out.close()
            self._finished = Finished(
                exit_code=-15 if self._exit_code is None else self._exit_code,
                stdout=self._out.text(),
                stderr=self._err.text(),
                ended=ended,
                truncated=self._out.truncated or self._err.truncated,
                spilled=self._out.spilled,
                seconds=time.monotonic() - self._started,
            )
        return self._finished
