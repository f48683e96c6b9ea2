"""One running plugin: its handshake, its calls in flight, and how it ends."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import anyio

from toolwright.errors import ToolError
from toolwright.messages import TextPart, ToolSpec
from toolwright.sources._child import Child, ChildCommand, LineTooLong, running_child
from toolwright.sources._counted import CountedLog, CountedProgress
from toolwright.sources.plugin._protocol import (
    BadMessage,
    Hello,
    call_line,
    cancel_line,
    init_line,
    read_call_id,
    read_content,
    read_hello,
    read_message,
)
from toolwright.tools import Output

__all__ = ["NotSent", "OnProgress", "PluginSession", "running_plugin"]

OnProgress = Callable[[str, Any], None]
_log = logging.getLogger("toolwright.plugin")
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


@dataclass(slots=True)
class _Waiting:
    """A call in flight."""

    answer: "asyncio.Future[Output]"
    on_progress: CountedProgress


class NotSent(ToolError):
    """The plugin broke before it was asked; another one can be asked instead."""


class PluginSession:
    """A plugin that has said hello. Broken, it stays broken: a new one is started instead."""

    def __init__(self, child: Child, hello: Hello, name: str) -> None:
        self._child = child
        self._hello = hello
        self._name = name
        self._log = CountedLog(_log, name)
        self._ids = itertools.count(1)
        self._in_flight: dict[str, _Waiting] = {}
        self._abandoned: set[str] = set()
        self._why_broken = ""
        self._broke = anyio.Event()
        # A plugin that does not know several calls at once gets one at a time.
        self._turn: AbstractAsyncContextManager[Any] = (
            nullcontext() if "parallel" in hello.features else anyio.Lock()
        )

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What it can do."""
        return self._hello.tools

    @property
    def broken(self) -> bool:
        """Whether it has died or broken the protocol."""
        return bool(self._why_broken)

    async def call(
        self, name: str, params: dict[str, Any], timeout: float, on_progress: OnProgress
    ) -> Output:
        """Run one tool; raises `ToolError` when the plugin fails, and cancels it when we are."""
        async with self._turn:
            if self.broken:
                raise NotSent(f"{self._name} {self._why_broken}.")
            call_id = f"call-{next(self._ids)}"
            answer = asyncio.get_running_loop().create_future()
            self._in_flight[call_id] = _Waiting(answer, CountedProgress(on_progress))
            try:
                with anyio.fail_after(timeout):
                    await self._child.send(call_line(call_id, name, params))
                    return await answer
            except TimeoutError:
                late = f"{self._name} did not answer within {timeout:g} s."
                raise ToolError(late, outcome_unknown=True) from None
            except BrokenPipeError as error:
                self.fail("stopped reading its input")
                gone = f"{self._name} stopped while {name!r} was called."
                raise ToolError(gone, outcome_unknown=True) from error
            finally:
                del self._in_flight[call_id]
                if not answer.done() or answer.cancelled():
                    await self._abandon(call_id)

    async def _abandon(self, call_id: str) -> None:
        """Tell the plugin that nobody waits; one that cannot be told is stopped."""
        if "cancel" not in self._hello.features:
            self.fail("was stopped: a call was given up, and it does not know 'cancel'")
            return
        self._abandoned.add(call_id)
        with anyio.move_on_after(1, shield=True):
            try:
                await self._child.send(cancel_line(call_id))
            except BrokenPipeError:
                self.fail("stopped reading its input")

    def fail(self, why: str) -> None:
        """Give up on this process: every call in flight ends with `why`."""
        self._why_broken = self._why_broken or why
        self._broke.set()
        for waiting in self._in_flight.values():
            if not waiting.answer.done():
                gone = ToolError(f"{self._name} {why}.", outcome_unknown=True)
                waiting.answer.set_exception(gone)

    async def stop_when_broken(self) -> None:
        """End the process as soon as it is given up, so that it does nothing unseen."""
        await self._broke.wait()
        await self._child.stop()

    async def read(self) -> None:
        """Take what the plugin writes until it ends or breaks the protocol."""
        try:
            while (line := await self._child.line()) is not None:
                if line.strip():
                    self._take(read_message(line))
            self.fail(await _how_it_ended(self._child))
        except (BadMessage, LineTooLong) as error:
            self.fail(f"broke the plugin protocol: it wrote {error}")
            _log.warning("%s %s; it is started again when needed", self._name, self._why_broken)

    def _take(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "result":
                self._take_result(message)
            case "progress":
                self._take_progress(message)
            case "log":
                level = _LEVELS.get(str(message.get("level")), logging.INFO)
                self._log.write(level, message.get("text"))
            case other:
                raise BadMessage(f"a message of unknown type {other!r}")

    def _take_result(self, message: dict[str, Any]) -> None:
        call_id = read_call_id(message)
        if call_id in self._abandoned:
            self._abandoned.discard(call_id)
            return
        waiting = self._in_flight.get(call_id)
        if waiting is not None and waiting.answer.cancelled():
            return  # It was given up a moment ago.
        if waiting is None or waiting.answer.done():
            raise BadMessage(f"a result for call_id {call_id!r}, which no call waits for")
        waiting.answer.set_result(_result_output(message))

    def _take_progress(self, message: dict[str, Any]) -> None:
        waiting = self._in_flight.get(read_call_id(message))
        if waiting is not None:  # Late progress of a call that ended is of no interest.
            waiting.on_progress(str(message.get("text") or ""), message.get("data"))


def _result_output(message: dict[str, Any]) -> Output:
    parts = read_content(message)
    text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
    return Output(
        text=text,
        parts=tuple(part for part in parts if not isinstance(part, TextPart)),
        data=message.get("data"),
        status="error" if message.get("is_error") else "ok",
    )


@asynccontextmanager
async def running_plugin(
    command: ChildCommand, handshake_timeout: float
) -> AsyncIterator[PluginSession]:
    """Start a plugin, shake hands, and read what it writes until the context is left."""
    async with running_child(command, _log) as child:
        session = PluginSession(
            child, await _shake_hands(child, command, handshake_timeout), command.name
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.read)
            tasks.start_soon(session.stop_when_broken)
            try:
                yield session
            finally:
                tasks.cancel_scope.cancel()
                session.fail("was closed")


async def _shake_hands(child: Child, command: ChildCommand, timeout: float) -> Hello:
    try:
        with anyio.fail_after(timeout):
            await child.send(init_line())
            return read_hello(read_message(await _first_line(child)))
    except TimeoutError:
        raise ToolError(f"it did not answer 'init' within {timeout:g} s") from None
    except BrokenPipeError:
        raise ToolError(f"it {await _how_it_ended(child)} before it answered 'init'") from None
    except (BadMessage, LineTooLong) as error:
        raise ToolError(f"it broke the plugin protocol: it wrote {error}") from error


async def _first_line(child: Child) -> bytes:
    while (line := await child.line()) is not None:
        if line.strip():
            return line
    raise BrokenPipeError


async def _how_it_ended(child: Child) -> str:
    code = await child.exit_code()
    how = "closed its output" if code is None else f"ended with exit code {code}"
    if code is not None and code < 0:
        how = f"was killed by signal {-code}"
    words = child.last_words
    return f"{how}; its last words were: {words[-500:]}" if words else how
