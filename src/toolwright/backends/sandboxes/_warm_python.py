"""A Python interpreter that stays: started once, asked many times."""

import json
import socket
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from toolwright.backends.executors import Finished, Limits
from toolwright.backends.executors._process import Process

__all__ = ["REPL", "WarmPython"]

REPL = Path(__file__).with_name("_repl.py").read_text(encoding="utf-8")
"""The program to run inside. Handed over as text: this package's files are not visible there."""

Start = Callable[[int, Limits], Process]
"""Starts the interpreter; it is told the descriptor to talk through."""
_LOST = "[The interpreter was ended; its variables are gone.]\n"


class WarmPython:
    """Runs code in an interpreter that keeps its names; one that had to be ended starts afresh."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._process: Process | None = None
        self._socket: socket.socket | None = None
        self._lock = anyio.Lock()

    async def run(self, code: str, limits: Limits) -> Finished:
        """Run one piece of code; concurrent ones take turns."""
        async with self._lock:
            process, connection = self._running(limits)
            process.rewind()
            answer: dict[str, Any] | None = None
            timed_out = False
            try:
                with anyio.move_on_after(limits.timeout) as scope:
                    answer = await process.alongside(partial(_ask, connection, code))
                timed_out = scope.cancelled_caught
            finally:
                ended = await self._end() if answer is None else None
            if answer is not None:
                return process.so_far(answer["exit_code"], answer.get("value"))
            return _lost(ended, timed_out)

    async def close(self) -> None:
        """End the interpreter; the next code starts another one."""
        async with self._lock:
            await self._end()

    def _running(self, limits: Limits) -> tuple[Process, socket.socket]:
        if self._process is None or self._socket is None:
            self._socket, theirs = socket.socketpair()
            self._socket.setblocking(False)
            with theirs:
                self._process = self._start(theirs.fileno(), replace(limits, timeout=None))
        return self._process, self._socket

    async def _end(self) -> Finished | None:
        process, connection = self._process, self._socket
        self._process = self._socket = None
        if process is None or connection is None:
            return None
        with connection, anyio.CancelScope(shield=True):
            process.stop()
            return await process.communicate()


async def _ask(connection: socket.socket, code: str) -> dict[str, Any] | None:
    """Send the code and wait for its answer; None when the interpreter is gone."""
    unsent = memoryview(json.dumps({"code": code}).encode() + b"\n")
    received = b""
    try:
        while unsent:
            await anyio.wait_writable(connection)
            unsent = unsent[connection.send(unsent) :]
        while not received.endswith(b"\n"):
            await anyio.wait_readable(connection)
            chunk = connection.recv(65536)
            if not chunk:
                return None
            received += chunk
    except (BrokenPipeError, ConnectionResetError):
        return None
    return json.loads(received)


def _lost(ended: Finished | None, timed_out: bool) -> Finished:
    if ended is None:
        return Finished(exit_code=1, stdout="", stderr=_LOST)
    reason = "timeout" if timed_out else ended.ended
    # Stopped is what it looks like when it had ended by itself and we made sure of it.
    reason = "exited" if reason == "stopped" else reason
    return replace(ended, ended=reason, stderr=ended.stderr + _LOST)
