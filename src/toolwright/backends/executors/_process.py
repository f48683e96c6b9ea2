"""One command under its launcher: start it, take its output, wait for it, end it."""

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal, TypeVar, cast, get_args

import anyio
from anyio.abc import TaskGroup

from toolwright._temporary import temporary_root
from toolwright.backends.executors._capture import Capture
from toolwright.backends.executors._executor import Ended, Finished, Limits, OnOutput
from toolwright.backends.executors._launcher import launcher_command
from toolwright.backends.executors._sealed_file import sealed_file
from toolwright.concurrency import wait_in_thread
from toolwright.errors import StoreError, ToolError, UsageError

__all__ = ["Process", "ProcessSpec", "Running"]

T = TypeVar("T")
_MARK = "TOOLWRIGHT_COMMAND"
"""Set in every command's environment: how its processes are found should its launcher be killed."""
_CHUNK = 64 * 1024
_PIPE_READS = 16
"""A pipe holds at most 1 MB."""
_SHORT = 0.005
_SLACK = 10.0
"""Seconds a launcher may take beyond its command's time before it is taken for stuck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """All that is needed to start a command on this machine."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    limits: Limits
    stdin: str | bytes | None = None
    merge: bool = False
    spill: Path | None = None
    pass_fds: tuple[int, ...] = ()
    """Descriptors the command keeps, under the same numbers."""


@dataclass(slots=True)
class _Stream:
    """One of the command's pipes, and what came out of it."""

    name: Literal["stdout", "stderr"]
    fd: int
    capture: Capture

    def read(self, on_output: OnOutput | None) -> bool:
        """Take what is there; False when there is nothing, or nothing more to come."""
        try:
            data = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return False
        text = self.capture.feed(data) if data else ""
        if on_output is not None and text:
            on_output(self.name, text)
        return bool(data)

    def drain(self, on_output: OnOutput | None) -> None:
        """Take what is in the pipe already; no more than one can hold, should someone write on."""
        for _ in range(_PIPE_READS):
            if not self.read(on_output):
                return

    async def pump(self, on_output: OnOutput | None) -> None:
        """Take what comes until there is nothing more to come."""
        await anyio.wait_readable(self.fd)
        while self.read(on_output):
            await anyio.wait_readable(self.fd)


class Process:
    """A started command. It has ended when its launcher has, whoever still holds the pipes."""

    def __init__(self, spec: ProcessSpec) -> None:
        self._limits = spec.limits
        self._mark = uuid.uuid4().hex
        self._started = time.monotonic()
        self._control, theirs = socket.socketpair()
        with contextlib.ExitStack() as on_failure:
            on_failure.enter_context(self._control)
            with theirs, _stdin(spec.stdin) as stdin:
                self._popen = _spawn(spec, theirs.fileno(), stdin, self._mark)
            on_failure.pop_all()
        room = spec.limits.output
        self._streams: list[_Stream] = []
        if out := self._popen.stdout:
            self._streams.append(_Stream("stdout", _non_blocking(out), Capture(room, spec.spill)))
        if err := self._popen.stderr:
            self._streams.append(_Stream("stderr", _non_blocking(err), Capture(room)))

    async def communicate(self, on_output: OnOutput | None = None) -> Finished:
        """Take the output until the command ends; when cancelled, end everything first."""
        try:
            async with anyio.create_task_group() as group:
                for stream in self._streams:
                    group.start_soon(stream.pump, on_output)
                await self._exited(self._limits.timeout)
                group.cancel_scope.cancel()
        finally:
            if self._popen.returncode is None:
                self.stop()
                with anyio.CancelScope(shield=True):
                    await self._exited(0.0)
            reason = self._last_word(on_output)
        return self._summary(reason)

    async def alongside(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Take output until `work` is done; None when the command ends before that."""
        result: T | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._take_output, group)
            result = await work()
            group.cancel_scope.cancel()
        for stream in self._streams:
            stream.drain(None)
        return result

    def rewind(self) -> None:
        """Forget the output so far."""
        self._started = time.monotonic()
        for stream in self._streams:
            stream.capture = Capture(self._limits.output)

    def so_far(self, exit_code: int, value: str | None) -> Finished:
        """What came since `rewind`, while the command itself goes on."""
        return replace(self._summary("exited"), exit_code=exit_code, value=value)

    def stdout_bytes(self) -> bytes:
        """What was kept of stdout, as it was written."""
        return self._streams[0].capture.content()

    def stop(self) -> None:
        """Have everything ended; `communicate` returns when it has. Safe from any thread."""
        with contextlib.suppress(OSError):  # It has ended, and everything is closed.
            self._control.shutdown(socket.SHUT_WR)

    async def stopped(self) -> None:
        """Have everything ended that somebody else waits for, and wait until it has."""
        self.stop()
        await _wait(self._popen)

    def pause(self) -> None:
        """Have everything stand still, unless `resume` comes within some hundredths of a second."""
        self._tell(b"p")

    def resume(self) -> None:
        """Have everything go on."""
        self._tell(b"r")

    def _tell(self, word: bytes) -> None:
        with contextlib.suppress(OSError):  # It has ended.
            self._control.send(word, socket.MSG_DONTWAIT)

    async def _take_output(self, group: TaskGroup) -> None:
        # Short work is over before this; until then the pipes hold what comes.
        await anyio.sleep(_SHORT)
        for stream in self._streams:
            group.start_soon(stream.pump, None)
        await _wait(self._popen)
        group.cancel_scope.cancel()

    async def _exited(self, timeout: float | None) -> None:
        """Wait for the launcher; one that is stuck is killed, and what it watched with it."""
        patience = None if timeout is None else timeout + self._limits.grace + _SLACK
        with anyio.move_on_after(patience) as scope:
            await _wait(self._popen)
        if scope.cancelled_caught:
            self._popen.kill()
            self._popen.wait()
        if self._popen.returncode == -signal.SIGKILL:
            _kill_marked(self._mark)

    def _last_word(self, on_output: OnOutput | None) -> Ended:
        """Take what is still in the pipes, close everything, and say why the command ended."""
        for stream in self._streams:
            stream.drain(on_output)
            stream.capture.close()
        with self._control, self._popen:
            self._control.setblocking(False)
            try:
                said = self._control.recv(64).decode()
            except BlockingIOError:
                said = ""
        return cast(Ended, said) if said in get_args(Ended) else "exited"

    def _summary(self, ended: Ended) -> Finished:
        texts = {stream.name: stream.capture.text() for stream in self._streams}
        captures = [stream.capture for stream in self._streams]
        return Finished(
            exit_code=self._popen.returncode or 0,
            stdout=texts["stdout"],
            stderr=texts.get("stderr", ""),
            ended=ended,
            truncated=any(capture.truncated for capture in captures),
            spilled=captures[0].spilled,
            seconds=time.monotonic() - self._started,
        )


class Running:
    """The commands of one executor that somebody waits for: closing it ends them."""

    def __init__(self) -> None:
        self._processes: set[Process] = set()

    async def communicate(self, process: Process, on_output: OnOutput | None = None) -> Finished:
        """`process.communicate`, within reach of `close`."""
        self._processes.add(process)
        try:
            return await process.communicate(on_output)
        finally:
            self._processes.discard(process)

    async def close(self) -> None:
        """End them all; whoever waits for one gets what it wrote until then."""
        async with anyio.create_task_group() as group:
            for process in list(self._processes):
                group.start_soon(process.stopped)


def _spawn(
    spec: ProcessSpec, control: int, stdin: int | IO[bytes], mark: str
) -> subprocess.Popen[bytes]:
    if not spec.argv:
        raise UsageError("The command is empty; give a program to run.")
    try:
        return subprocess.Popen(
            launcher_command(spec.argv, control, spec.limits),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if spec.merge else subprocess.PIPE,
            cwd=spec.cwd,
            env={**spec.env, _MARK: mark},
            pass_fds=(control, *spec.pass_fds),
            start_new_session=True,
            bufsize=0,
        )
    except NotADirectoryError as error:
        raise ToolError(f"Cannot run in {spec.cwd!r}: it is not a directory.") from error
    except FileNotFoundError as error:
        raise ToolError(f"Cannot run in {spec.cwd!r}: there is no such directory.") from error
    except ValueError as error:
        # Not what was to be run: the walls around it are nothing that a model could change.
        raise ToolError(f"The command cannot be run: {error}.") from error
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise ToolError(
                "The command is too long to be started; write what is long to a file first."
            ) from error
        raise StoreError(f"The command could not be started: {error}.") from error


def _stdin(data: str | bytes | None) -> IO[bytes]:
    """A file to read from: unlike a pipe, it needs nobody to write while the command runs.

    Where the system can, it is sealed: the command could not write to it even if it opened it anew.
    """
    if data is None:
        return open(os.devnull, "rb")
    content = data.encode() if isinstance(data, str) else data
    if sys.platform == "linux":
        return open(sealed_file("stdin", content), "rb")
    with tempfile.NamedTemporaryFile(dir=temporary_root()) as written:
        written.write(content)
        written.flush()
        return open(written.name, "rb")


def _non_blocking(pipe: IO[bytes]) -> int:
    os.set_blocking(pipe.fileno(), False)
    return pipe.fileno()


async def _wait(popen: subprocess.Popen[bytes]) -> None:
    """Wait for the process itself; the end of its output says nothing about it."""
    if popen.poll() is not None:
        return
    if sys.platform == "linux":
        try:
            pidfd = os.pidfd_open(popen.pid)
        except ProcessLookupError:  # Another thread waited for it, just now.
            return
        try:
            await anyio.wait_readable(pidfd)
        finally:
            os.close(pidfd)
        popen.wait()
    else:
        await wait_in_thread(popen.wait, abandon_on_cancel=True)


def _kill_marked(mark: str) -> None:
    """End processes whose launcher was killed before it could end them."""
    wanted = f"{_MARK}={mark}".encode()
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in environ.read_bytes():
                os.kill(int(environ.parent.name), signal.SIGKILL)
        except OSError:
            continue
