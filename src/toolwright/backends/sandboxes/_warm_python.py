"""A Python interpreter that stays: started once, asked many times."""

import json
import math
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from toolwright.backends.executors import Finished, Limits
from toolwright.backends.executors._process import Process
from toolwright.backends.sandboxes._guest_json import MOST_BYTES, read_guest_json
from toolwright.concurrency import in_io_thread
from toolwright.errors import UsageError

__all__ = ["REPL", "AnswerCalls", "Start", "WarmPython"]

REPL = Path(__file__).with_name("_repl.py").read_text(encoding="utf-8")
"""The program to run inside. Handed over as text: this package's files are not visible there."""

Start = Callable[[int, Limits], Process]
"""Starts the interpreter; it is told the descriptor to talk through."""
AnswerCalls = Callable[[list[dict[str, Any]]], Awaitable[list[dict[str, Any]] | None]]
"""Takes calls, `{"name", "args", "kwargs"}`; gives `{"value"}` or `{"error"}` for each, or None to
end the interpreter."""
_CHUNK = 65536
_LOST = "[The interpreter was ended; its variables are gone.]\n"


class WarmPython:
    """Runs code in an interpreter that keeps its names; one that had to be ended starts afresh.

    Names are kept as long as the limits, time aside, stay the same. With `pauses`, it stands still
    while no code runs, with all threads and processes that code has started; so it does while calls
    are answered.
    """

    def __init__(self, start: Start, *, pauses: bool = False) -> None:
        self._start = start
        self._pauses = pauses
        self._process: Process | None = None
        self._socket: socket.socket | None = None
        self._limits: Limits | None = None
        self._lock = anyio.Lock()
        self._closed = False

    async def run(
        self,
        code: str,
        limits: Limits,
        functions: Sequence[str] = (),
        answer_calls: AnswerCalls | None = None,
        *,
        more: Mapping[str, Any] | None = None,
    ) -> Finished:
        """Run one piece of code; concurrent ones take turns.

        `functions` are async functions for the code, whose calls `answer_calls` answers; time spent
        on that does not count. `more` is for the interpreter, as a part of the request.
        """
        async with self._lock:
            if self._closed:
                raise UsageError("This sandbox is closed; open another one.")
            return await self.run_alone(code, limits, functions, answer_calls, more)

    async def close(self) -> None:
        """End the interpreter, and with it code that runs; code that waits its turn never begins."""
        self._closed = True
        if self._process is not None:
            self._process.stop()
        async with self._lock:
            await self.end()

    @property
    def is_running(self) -> bool:
        """Whether the next code finds an interpreter that has started, and has not ended since."""
        if self._socket is None:
            return False
        try:
            return self._socket.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    async def run_alone(
        self,
        code: str,
        limits: Limits,
        functions: Sequence[str],
        answer_calls: AnswerCalls | None,
        more: Mapping[str, Any] | None = None,
    ) -> Finished:
        """`run` for who knows that nobody else does: it may be in another event loop each time."""
        talk = _Talk(code, functions, answer_calls, more or {})
        process, connection = await self._running(replace(limits, timeout=None))
        process.rewind()
        process.resume()
        answer: dict[str, Any] | None = None
        timed_out = False
        try:
            with anyio.move_on_after(limits.timeout) as scope:
                clock = _Clock(scope, process if self._pauses else None)
                answer = await process.alongside(partial(talk.hold, connection, clock))
            timed_out = scope.cancelled_caught
        finally:
            ended = await self.end() if answer is None else None
        if self._pauses:
            process.pause()
        if answer is not None:
            return process.so_far(answer["exit_code"], answer.get("value"))
        return _lost(ended, timed_out)

    async def _running(self, limits: Limits) -> tuple[Process, socket.socket]:
        """The interpreter; another one when the limits have changed, for they hold from its start."""
        if limits != self._limits:
            await self.end()
        if self._process is None or self._socket is None:
            self._socket, theirs = socket.socketpair()
            self._socket.setblocking(False)
            self._limits = limits
            with theirs:
                descriptor = _high(theirs)
            try:
                self._process = self._start(descriptor, limits)
            finally:
                os.close(descriptor)
        return self._process, self._socket

    async def end(self) -> Finished | None:
        """`close` for who knows that nothing runs; how the interpreter ended, if there was one."""
        process, connection = self._process, self._socket
        self._process = self._socket = None
        if process is None or connection is None:
            return None
        with connection, anyio.CancelScope(shield=True):
            process.stop()
            return await process.communicate()


def _high(connection: socket.socket) -> int:
    """A descriptor that is none of those below ten, which walls use for themselves."""
    import fcntl  # noqa: PLC0415  (not on Windows, where this file is imported all the same)

    return fcntl.fcntl(connection, fcntl.F_DUPFD_CLOEXEC, 10)


@dataclass(frozen=True, slots=True)
class _Talk:
    """One request to the interpreter, the calls it makes meanwhile, and its answer."""

    code: str
    functions: Sequence[str]
    answer_calls: AnswerCalls | None
    more: Mapping[str, Any]

    async def hold(self, connection: socket.socket, clock: "_Clock") -> dict[str, Any] | None:
        """The interpreter's answer; None when it is gone, or is to end."""
        try:
            functions = list(self.functions)
            request = {"code": self.code, "functions": functions, "most_bytes": MOST_BYTES}
            await _send(connection, {**request, **self.more})
            while (message := await _receive(connection)) is not None:
                if _is_answer(message):
                    return message
                if self.answer_calls is None or not _are_calls(message, functions):
                    return None
                with clock.stopped():
                    results = await self.answer_calls(message["calls"])
                if results is None:
                    return None
                await _send(connection, {"results": results})
        except (BrokenPipeError, ConnectionResetError):
            return None
        return None


@dataclass(frozen=True, slots=True)
class _Clock:
    """The time that code has."""

    scope: anyio.CancelScope
    process: Process | None
    """What stands still while the clock does."""

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Time does not count here."""
        left, self.scope.deadline = self.scope.deadline - anyio.current_time(), math.inf
        if self.process is not None:
            self.process.pause()
        yield
        if self.process is not None:
            self.process.resume()
        self.scope.deadline = anyio.current_time() + left


async def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    unsent = memoryview(json.dumps(message).encode() + b"\n")
    while unsent:
        await anyio.wait_writable(connection)
        unsent = unsent[connection.send(unsent) :]


async def _receive(connection: socket.socket) -> dict[str, Any] | None:
    """The next message; None when the other side is gone, or sends more than anyone would."""
    received = bytearray()
    while not received.endswith(b"\n"):
        await anyio.wait_readable(connection)
        chunk = connection.recv(_CHUNK)
        if not chunk or len(received) > MOST_BYTES:
            return None
        received += chunk
    try:
        # A short one is read sooner than a thread could start.
        small = len(received) <= _CHUNK
        message = (
            read_guest_json(received) if small else await in_io_thread(read_guest_json, received)
        )
    except (ValueError, RecursionError):
        return None  # Code has found the socket and wrote to it itself.
    return message if isinstance(message, dict) else None


def _is_answer(message: dict[str, Any]) -> bool:
    return type(message.get("exit_code")) is int and isinstance(message.get("value"), str | None)


def _are_calls(message: dict[str, Any], functions: Sequence[str]) -> bool:
    calls = message.get("calls")
    return isinstance(calls, list) and all(_is_call(call, functions) for call in calls)


def _is_call(call: Any, functions: Sequence[str]) -> bool:
    match call:
        case {"name": str(name), "args": list(), "kwargs": dict()}:
            return name in functions
        case _:
            return False


def _lost(ended: Finished | None, timed_out: bool) -> Finished:
    if ended is None:
        return Finished(exit_code=1, stdout="", stderr=_LOST)
    reason = "timeout" if timed_out else ended.ended
    # Stopped is what it looks like when it had ended by itself and we made sure of it.
    reason = "exited" if reason == "stopped" else reason
    return replace(ended, ended=reason, stderr=ended.stderr + _LOST)
