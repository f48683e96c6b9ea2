"""Try regular expressions in a process that can be ended: here, nothing could end one that runs away."""

import json
import math
import os
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio import CapacityLimiter
from anyio.abc import Process
from anyio.lowlevel import RunVar
from anyio.streams.buffered import BufferedByteReceiveStream

from toolwright.backends._own_paths import own_program
from toolwright.errors import ToolError

__all__ = ["Expression", "expression"]

_PROGRAM = Path(__file__).with_name("_grep_program.py").read_text(encoding="utf-8")
_SECONDS = 10.0
"""How long an expression may take for one text."""
_PROCESSES = 4
"""At once: so much memory each can take."""
_PIECE = 64 * 1024
_LONGEST_ANSWER = 64 * 1024 * 1024
_AT_ONCE: RunVar[CapacityLimiter] = RunVar("toolwright_grep_processes")


class Expression:
    """A regular expression that is tried elsewhere."""

    def __init__(self, pattern: str, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._pattern = pattern
        self._stdin = process.stdin
        self._answers = BufferedByteReceiveStream(process.stdout)

    async def compile(self, pattern: str, *, ignore_case: bool) -> None:
        """Raises `ToolError` when it is none."""
        asked = {"pattern": pattern, "ignore_case": ignore_case, "seconds": math.ceil(_SECONDS)}
        error = await self._ask([json.dumps(asked).encode() + b"\n"], "to be read")
        if error is not None:
            raise ToolError(f"{self._pattern!r} is not a regular expression: {error}.")

    async def lines(
        self, path: str, text: bytes, most: int, *, first_only: bool
    ) -> tuple[int, list[int]]:
        """How many lines of a text match, and the numbers of the first of them."""
        header = json.dumps([len(text), most, first_only]).encode() + b"\n"
        pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
        count, numbers = await self._ask([header, *pieces], f"in {path!r}")
        return count, numbers

    async def _ask(self, asked: Sequence[bytes], where: str) -> Any:
        try:
            with anyio.fail_after(_SECONDS):
                for piece in asked:
                    await self._stdin.send(piece)
                return json.loads(await self._answers.receive_until(b"\n", _LONGEST_ANSWER))
        except (TimeoutError, anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead):
            raise ToolError(
                f"The search was ended: {self._pattern!r} took over {_SECONDS:g} seconds {where}. "
                "Write it without repetitions inside repetitions, search for a plain text, or "
                "search other files."
            ) from None


@asynccontextmanager
async def expression(pattern: str, *, shown: str, ignore_case: bool) -> AsyncIterator[Expression]:
    """A process that tries `pattern`, which errors call `shown`, until the end of the block."""
    # Without it, Python does not start on Windows.
    env = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    async with _limiter():
        process = await anyio.open_process(
            own_program(_PROGRAM), stderr=subprocess.DEVNULL, env=env
        )
        try:
            made = Expression(shown, process)
            await made.compile(pattern, ignore_case=ignore_case)
            yield made
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.aclose()


def _limiter() -> CapacityLimiter:
    """Of each event loop its own."""
    try:
        return _AT_ONCE.get()
    except LookupError:
        _AT_ONCE.set(limiter := CapacityLimiter(_PROCESSES))
        return limiter
