"""Run commands on another machine, over SSH."""

import re
import shlex
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import anyio

from toolwright.backends.executors import (
    Capabilities,
    Command,
    Ended,
    Finished,
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
        self._jobs: list[_SshJob] = []
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
        remote = await _Remote.start(self._connection, line, bounds, spill)
        return await remote.communicate(stdin, on_output)

    async def start(
        self,
        command: Command,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> "_SshJob":
        """Run a command there in the background, its output in a file there."""
        bounds = limits or replace(self.limits, timeout=None)
        job = _SshJob(self, f"/tmp/toolwright-{uuid.uuid4().hex}")  # noqa: S108
        await job.begin(self._line(command, cwd, env or {}, bounds, merge=True))
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


class _Remote:
    """One command running there."""

    def __init__(
        self,
        connection: asyncssh.SSHClientConnection,
        process: Any,
        limits: Limits,
        spill: Path | None,
    ) -> None:
        self._connection = connection
        self._process = process
        self._limits = limits
        self._out = Capture(limits.output, spill)
        self._err = Capture(limits.output)
        self._group: int | None = None
        self._started = time.monotonic()

    @classmethod
    async def start(
        cls, connection: asyncssh.SSHClientConnection, line: str, limits: Limits, spill: Path | None
    ) -> "_Remote":
        try:
            process = await connection.create_process(line, encoding=None)
        except (OSError, asyncssh.Error) as error:
            raise StoreError(f"The SSH connection failed: {error}.") from error
        return cls(connection, process, limits, spill)

    async def communicate(self, stdin: str | bytes | None, on_output: OnOutput | None) -> Finished:
        ended: Ended = "exited"
        try:
            with anyio.move_on_after(self._limits.timeout) as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._feed, stdin)
                    group.start_soon(self._pump, "stdout", self._out, on_output)
                    group.start_soon(self._pump, "stderr", self._err, on_output)
                    await self._process.wait_closed()
            ended = "timeout" if scope.cancelled_caught else "exited"
        finally:
            if self._process.exit_status is None and self._process.exit_signal is None:
                with anyio.CancelScope(shield=True):
                    await self._end()
        self._out.close()
        return Finished(
            exit_code=_exit_code(self._process),
            stdout=self._out.text(),
            stderr=self._err.text(),
            ended=ended,
            truncated=self._out.truncated or self._err.truncated,
            spilled=self._out.spilled,
            seconds=time.monotonic() - self._started,
        )

    async def _feed(self, stdin: str | bytes | None) -> None:
        data = stdin.encode() if isinstance(stdin, str) else stdin or b""
        try:
            self._process.stdin.write(data)
            self._process.stdin.write_eof()
        except (OSError, asyncssh.Error):
            return  # It ended without reading.

    async def _pump(
        self, name: Literal["stdout", "stderr"], capture: Capture, on_output: OnOutput | None
    ) -> None:
        stream = getattr(self._process, name)
        while data := await stream.read(65536):
            if name == "stderr" and self._group is None and (found := _PATTERN.search(data)):
                self._group = int(found[1])
                data = _PATTERN.sub(b"", data, count=1)
            text = capture.feed(data)
            if on_output is not None and text:
                on_output(name, text)

    async def _end(self) -> None:
        if self._group is not None:
            grace = self._limits.grace
            line = f"kill -TERM -{self._group}; sleep {grace}; kill -KILL -{self._group}"
            await self._connection.run(line, check=False)
        self._process.close()
        await self._process.wait_closed()


class _SshJob:
    """A background command there: its output in one file, its exit code in another."""

    def __init__(self, executor: SshExecutor, place: str) -> None:
        self.id = place.rsplit("-", 1)[-1][:8]
        self._executor = executor
        self._place = place
        self._group = ""
        self._read = 0
        self._unread = ""
        self._finished: Finished | None = None

    async def begin(self, line: str) -> None:
        place = self._place
        inner = (
            f"({line.removeprefix('exec ')}) > {place}.out 2> {place}.err; echo $? > {place}.code"
        )
        started = await self._executor.run(
            f"nohup setsid sh -c {shlex.quote(inner)} > /dev/null 2>&1 < /dev/null & "
            f"while ! grep -qs @group {place}.err; do sleep 0.02; done; cat {place}.err"
        )
        found = _PATTERN.search(started.stdout.encode())
        self._group = found[1].decode() if found else ""

    async def read(self) -> str:
        await self._refresh()
        unread, self._unread = self._unread, ""
        return unread

    async def poll(self) -> Finished | None:
        await self._refresh()
        return self._finished

    async def _refresh(self) -> None:
        """Fetch what has happened there since."""
        if self._finished is not None:
            return
        place, begin = self._place, self._read + 1
        seen = await self._executor.run(
            f"cat {place}.code 2>/dev/null || echo -; tail -c +{begin} {place}.out"
        )
        code, _, output = seen.stdout.partition("\n")
        self._read += len(output.encode())
        self._unread += output
        if code != "-":
            whole = await self._executor.run(f"cat {place}.out; rm -f {place}.*")
            self._finished = Finished(exit_code=int(code), stdout=whole.stdout)

    async def wait(self) -> Finished:
        while self._finished is None:
            await self._refresh()
            await anyio.sleep(0.05)
        return self._finished

    async def stop(self) -> Finished:
        await self._refresh()
        if self._finished is None:
            await self._executor.run(
                f"kill -TERM -{self._group}; sleep 0.2; kill -KILL -{self._group}"
            )
            self._finished = replace(await self.wait(), ended="stopped")
        return self._finished


def _exit_code(process: Any) -> int:
    if process.exit_status is not None and process.exit_status >= 0:
        return process.exit_status
    return -15 if process.exit_signal is None else -_signal_number(process.exit_signal[0])


def _signal_number(name: str) -> int:
    return {"TERM": 15, "KILL": 9, "INT": 2, "HUP": 1, "SEGV": 11, "ABRT": 6}.get(name, 15)
