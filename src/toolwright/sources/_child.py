"""A child process that speaks in lines: read with a bound, always stopped with all it started."""

import logging
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import Process

from toolwright.backends.executors import Limits, launcher_command
from toolwright.backends.sandboxes import ServerSandbox
from toolwright.backends.sandboxes._server_sandbox import Confined
from toolwright.errors import UsageError
from toolwright.sources._counted import LOGGED_LINES
from toolwright.sources._measured import measured
from toolwright.sources._started import hold_started, safe_path

__all__ = ["Child", "ChildCommand", "LineTooLong", "running_child"]

_INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TMPDIR", "TZ",
    "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "PATHEXT", "TEMP", "USERPROFILE",
)  # fmt: skip
"""What a child may know of our environment; secrets are given to it by name or not at all."""
_GRACE = 1.0
"""Seconds a child gets to leave by itself, and again after it was asked to."""
_SLACK = 6.0
"""Seconds that its launcher has to end what does not leave."""


class LineTooLong(ValueError):
    """A child wrote more than its limit without ending the line, or JSON that is costly to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildCommand:
    """What to start, and what it may know."""

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | Path | None = None
    name: str = ""
    """What it is called in logs and messages."""
    max_line: int = 16 * 1024 * 1024
    limits: Limits = field(default_factory=lambda: Limits(timeout=None, grace=_GRACE))
    sandbox: ServerSandbox | None = None
    program: str | None = field(init=False, default=None)
    """Where it was found, once: whoever can write to a directory of PATH decides what is found later."""

    def __post_init__(self) -> None:
        """Have no command change what is started outside the walls."""
        if self.sandbox is None:
            found = hold_started(self.command, self.args, self.cwd, self.env)
            object.__setattr__(self, "program", found)

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Confined]:
        """How to start it, behind walls if there are any; they stand until the context is left."""
        if self.sandbox is None:
            yield Confined(self._argv(), self._environment(), self.limits)
            return
        if self.cwd is not None:
            raise UsageError(
                f"{self.name} runs in a sandbox, so its directory is the sandbox's: "
                "give ServerSandbox(workspace=…) instead of cwd."
            )
        async with self.sandbox.open(self.command, self.args, self.env) as confined:
            yield confined

    def _argv(self) -> list[str]:
        if self.program is None:
            raise UsageError(
                f"There is no program {self.command!r}; install it, or give its full path (directories "
                "that commands in a sandbox can write to are not searched for it)."
            )
        return [self.program, *self.args]

    def _environment(self) -> dict[str, str]:
        """The few variables that are passed on, and the ones that were given."""
        kept = {key: os.environ[key] for key in _INHERITED if key in os.environ}
        given = {**kept, **self.env}
        return {**given, "PATH": safe_path(given["PATH"], self.cwd)} if "PATH" in given else given


class Child:
    """A running child: read it with `line`, write to it with `send`."""

    def __init__(
        self,
        process: Process,
        command: ChildCommand,
        stderr: "_StderrLog",
        control: socket.socket | None,
    ) -> None:
        self._process = process
        self._control = control
        self._command = command
        self._stderr = stderr
        self._buffer = bytearray()

    async def send(self, line: bytes) -> None:
        """Write one line; raises `BrokenPipeError` when the child has gone."""
        assert self._process.stdin is not None
        try:
            await self._process.stdin.send(line + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise BrokenPipeError(f"{self._command.name} no longer reads its input") from error

    async def line(self) -> bytes | None:
        """Its next whole line, or None once it has closed stdout; an unended last line is dropped.

        Raises `LineTooLong` as soon as a line passes the limit, and for one with so many values in
        it that reading them would fill the memory and stop the loop.
        """
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            if len(self._buffer) > self._command.max_line:
                raise LineTooLong(
                    f"a line of more than {self._command.max_line:,} bytes without an end"
                )
            searched = len(self._buffer)
            chunk = await self._receive()
            if not chunk:
                return None
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        try:
            return await measured(line)
        except ValueError as error:
            raise LineTooLong(f"a message that is more than is read: {error}") from error

    async def _receive(self) -> bytes:
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return b""

    @property
    def last_words(self) -> str:
        """The last lines it wrote to stderr, for error messages."""
        return self._stderr.tail

    async def exit_code(self) -> int | None:
        """How it ended; None while it still runs. Waits a moment for one that is just leaving."""
        if await self._exited_within(0.2):
            await _within(_GRACE, lambda: self._stderr.drained)  # Its last words are on their way.
        return self._process.returncode

    async def stop(self) -> None:
        """Close its input, then ask it and what it started to leave, then make them; never hangs."""
        if self._process.stdin is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._process.stdin.aclose()
        if not await self._exited_within(_GRACE):
            self._have_it_ended()
            if not await self._exited_within(_GRACE + _SLACK):
                with suppress(ProcessLookupError):
                    self._process.kill()
                await self._exited_within(_GRACE)
        await self._release()

    def _have_it_ended(self) -> None:
        """Tell the launcher, which also ends what has left the process group."""
        with suppress(OSError):
            if self._control is None:
                self._process.terminate()
            else:
                self._control.shutdown(socket.SHUT_WR)

    async def _exited_within(self, seconds: float) -> bool:
        # By polling: `wait` also waits for the pipes, which a grandchild may hold open.
        return await _within(seconds, lambda: self._process.returncode is not None)

    async def _release(self) -> None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            if self._process.stdout is not None:
                await self._process.stdout.aclose()
        # asyncio keeps the transport, and warns, while a grandchild holds a pipe.
        transport = getattr(getattr(self._process, "_process", None), "_transport", None)
        if transport is not None:
            transport.close()


async def _within(seconds: float, happened: Callable[[], bool]) -> bool:
    deadline = anyio.current_time() + seconds
    while not happened():
        if anyio.current_time() >= deadline:
            return False
        await anyio.sleep(0.01)
    return True


class _StderrLog:
    """Empties a child's stderr from a thread: the child never blocks on it, however much it writes."""

    def __init__(self, name: str, logger: logging.Logger) -> None:
        self._name = name
        self._logger = logger
        self._last: deque[str] = deque(maxlen=20)
        self._lines = 0
        self.drained = False
        read_end, self.write_end = os.pipe()
        threading.Thread(
            target=self._drain, args=(read_end,), name=f"stderr of {name}", daemon=True
        ).start()

    @property
    def tail(self) -> str:
        return "\n".join(self._last)

    def _drain(self, read_end: int) -> None:
        rest = b""
        with os.fdopen(read_end, "rb", buffering=0) as pipe:
            while chunk := pipe.read(65536):
                *whole, rest = (rest + chunk).split(b"\n")
                rest = rest[-4096:]
                for line in whole[-50:]:
                    self._note(line)
        if rest:
            self._note(rest)
        self.drained = True

    def _note(self, raw: bytes) -> None:
        line = raw[:500].decode("utf-8", "replace").rstrip()
        self._last.append(line)
        self._lines += 1
        if self._lines <= LOGGED_LINES:
            self._logger.info("%s: %s", self._name, line)
        if self._lines == LOGGED_LINES:
            self._logger.warning("%s writes a lot to stderr; the rest is dropped", self._name)


@asynccontextmanager
async def running_child(command: ChildCommand, logger: logging.Logger) -> AsyncIterator[Child]:
    """Start the child; stop it, and what it started, on the way out, whatever happens."""
    async with command.ready() as start:
        with ExitStack() as stack:
            child = await _started(command, start, _StderrLog(command.name, logger), stack)
            try:
                yield child
            finally:
                with anyio.CancelScope(shield=True):
                    await child.stop()


async def _started(
    command: ChildCommand, start: Confined, stderr: "_StderrLog", stack: ExitStack
) -> Child:
    argv, inherited = start.argv, ()
    control: socket.socket | None = None
    with ExitStack() as starting:
        starting.callback(os.close, stderr.write_end)
        if sys.platform != "win32":
            control, theirs = map(stack.enter_context, socket.socketpair())
            starting.callback(theirs.close)
            inherited = (theirs.fileno(),)
            argv = launcher_command(argv, theirs.fileno(), start.limits)
        try:
            process = await anyio.open_process(
                argv,
                stderr=stderr.write_end,
                env=start.env,
                cwd=command.cwd,
                start_new_session=sys.platform != "win32",
                pass_fds=inherited,
            )
        except OSError as error:
            raise UsageError(f"{command.name} cannot be started: {error}") from error
    return Child(process, command, stderr, control)
