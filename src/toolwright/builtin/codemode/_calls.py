"""Calls that code makes: their ids, their arguments, and what they give back."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwright.backends import Finished
from toolwright.backends.sandboxes import read_guest_json
from toolwright.builtin.codemode._stubs import Stub
from toolwright.concurrency import in_io_thread
from toolwright.messages import BlobPart, TextPart, ToolCall, ToolResult, jsonable
from toolwright.tools import Args, MaxOutput, Output, Tool, ToolContext

__all__ = ["CallFailed", "Calls", "CodeRejected", "Desk", "Paused", "Ran", "to_ran"]

_ROOMY = MaxOutput(bytes=16 * 1024 * 1024, lines=1_000_000)
"""Results stay in the code, so the model's own limit does not apply to them."""


class CallFailed(Exception):
    """A tool's error or denial, to be raised at the call in the code."""


class Paused(Exception):
    """A call waits for the outside; the code runs again when the answer is there."""


class CodeRejected(Exception):
    """The code was not run, or not to its end; the text is for the model."""

    def __init__(self, text: str, *, gap: bool = False) -> None:
        super().__init__(text)
        self.gap = gap
        """Whether other interpreters of Python could run it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What code gave: what it printed, and the value of its last expression."""

    printed: str
    value: Any


async def to_ran(done: Finished) -> Ran:
    """What code gave whose value was written as JSON; it may be any text."""
    try:
        written = done.value
        value = None if written is None else await in_io_thread(read_guest_json, written)
    except (ValueError, RecursionError) as error:
        raise CodeRejected(
            f"The value of the last expression cannot be handed over: {error}. Show a part of it."
        ) from error
    return Ran(done.stdout, value)


@dataclass(slots=True)
class Calls:
    """Answers the calls of one piece of code on the ordinary path.

    Arguments and results are kept in this program as long as the run, outside the limits of the
    code; so all of them together have a limit, too.
    """

    ctx: ToolContext
    stubs: Mapping[str, Stub]
    room: int = 64 * 1024 * 1024
    """Bytes of arguments and results that may cross."""
    made: int = 0
    notes: list[str] = field(default_factory=list)
    """What the model has to know of the calls, and the code does not get."""
    _seen: Counter[str] = field(default_factory=Counter)
    _crossed: int = 0
    _counted: set[str] = field(default_factory=set)

    def ask(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> ToolCall:
        """The call for `function(*args, **kwargs)`.

        Its id depends only on the tool, the arguments and how often that was asked before, so when
        the code runs again after a pause, calls that have their result are found again.
        """
        stub = self.stubs[function]
        if len(args) > len(stub.parameters):
            raise CallFailed(f"{function}() takes at most {len(stub.parameters)} arguments.")
        named = dict(zip(stub.parameters, args, strict=False)) | dict(kwargs)
        arguments = json.dumps(jsonable(named), sort_keys=True, ensure_ascii=False)
        if problem := self._cross(len(arguments), f"The arguments of {function}()"):
            raise CallFailed(problem)
        digest = hashlib.sha256(f"{stub.tool.name}\n{arguments}".encode()).hexdigest()
        self._seen[digest] += 1
        self.made += 1
        return ToolCall(
            call_id=f"{digest}-{self._seen[digest]}", name=stub.tool.name, arguments=arguments
        )

    def _metered(self, stub: Stub) -> Tool:
        """The tool, whose results count towards what may cross."""
        tool = stub.tool

        async def run(args: Args, ctx: ToolContext) -> Output:
            output = await tool.run(args, ctx)
            self._counted.add(ctx.call.call_id)
            size = _size(output.data) + sum(map(_size, output.content))
            problem = self._cross(size, f"The result of {stub.function}()")
            return Output(text=problem, status="error") if problem else output

        return tool.replace(run=run, max_output=_ROOMY)

    def _cross(self, size: int, what: str) -> str:
        """Count what crosses; says why not, when it would be too much."""
        if self._crossed + size > self.room:
            return (
                f"{what}, {size} bytes, would be more than the {self.room} bytes that arguments and "
                f"results of one piece of code may have together; {self._crossed} are used. "
                "Ask for less."
            )
        self._crossed += size
        return ""

    async def answer(self, calls: Sequence[tuple[str, ToolCall]]) -> list[Any]:
        """Values in the order of the calls, `CallFailed` in place of one that failed.

        Raises `Paused` when one of them waits for the outside; the others have been answered.
        """
        stubs = {call.name: self.stubs[function] for function, call in calls}
        results = await self.ctx.run.answer_inside(
            self.ctx,
            [call for _, call in calls],
            {name: self._metered(stub) for name, stub in stubs.items()},
            free=[name for name, stub in stubs.items() if stub.is_ours],
        )
        if any(result.status == "pending" for result in results):
            raise Paused
        self.notes += [f"{result.name}: {result.note}" for result in results if result.noted]
        for result in results:
            if result.call_id not in self._counted:  # It is from before a pause.
                self._crossed += _size(result.data) + sum(map(_size, result.content))
        return [
            _value(self.stubs[function], result)
            for (function, _), result in zip(calls, results, strict=True)
        ]


@dataclass(slots=True)
class Desk:
    """Answers what an interpreter asks; when something waits for the outside, it is to end."""

    calls: Calls
    paused: bool = False

    async def answer(self, asked: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        """One result for each call, in their order; None to end the interpreter."""
        results: dict[int, dict[str, Any]] = {}
        wanted = {}
        for position, one in enumerate(asked):
            try:
                call = self.calls.ask(one["name"], one["args"], one["kwargs"])
                wanted[position] = (one["name"], call)
            except CallFailed as failed:
                results[position] = {"error": str(failed)}
        try:
            values = await self.calls.answer(list(wanted.values())) if wanted else []
        except Paused:
            self.paused = True
            return None
        for position, value in zip(wanted, values, strict=True):
            failed = isinstance(value, CallFailed)
            results[position] = {"error": str(value)} if failed else {"value": value}
        return [results[position] for position in range(len(asked))]


def _size(value: Any) -> int:
    """About how many bytes a value has; it is not written out to find that out."""
    match value:
        case str() | bytes():
            return len(value)
        case TextPart():
            return len(value.text)
        case BlobPart():
            return len(value.data or b"")
        case Mapping():
            return sum(_size(key) + _size(item) for key, item in value.items())
        case list() | tuple():
            return sum(map(_size, value))
        case _:
            return 8


def _value(stub: Stub, result: ToolResult) -> Any:
    """What the code gets: data meant for programs, else JSON, else the text.

    Of a command that failed too: code looks at its exit code.
    """
    if result.status != "ok" and not result.failed:
        return CallFailed(f"{stub.function}: {result.own_text}")
    if result.data is not None:
        return result.data
    text = result.own_text
    if stub.returns_text or (not stub.known_return and text[:1] not in ("{", "[")):
        return text
    try:
        return read_guest_json(text)
    except (ValueError, RecursionError):
        return text  # It is no JSON, or so large or deep that somebody might mean harm.
