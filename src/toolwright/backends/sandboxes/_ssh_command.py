"""One command on another machine: its output as it comes, and its end."""

import re
import time
import uuid
from pathlib import Path

import anyio
import asyncssh

from toolwright.backends.executors import Ended, Finished, Limits, OnOutput
from toolwright.backends.executors._capture import Capture
from toolwright.errors import StoreError

__all__ = ["SshCommand"]

_SIGNALS = {"HUP": 1, "INT": 2, "ABRT": 6, "KILL": 9, "SEGV": 11, "PIPE": 13, "TERM": 15}
_HIGHEST_SIGNAL = 64
_PATIENCE = 10.0
"""Seconds to wait for the other machine to end a command, in case it no longer answers."""
_PATTERN = re.compile(rb"@group (\d+)\n")
"""The first line on stderr: the process group that must be ended to end the command."""


class SshCommand(asyncssh.SSHClientSession[bytes]):
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
        self._exit_code = 128 - status if 128 < status <= 128 + _HIGHEST_SIGNAL else status

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
