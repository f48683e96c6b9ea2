"""Calls that code makes: their ids, their arguments, and what they give back."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolwright.builtin.codemode._stubs import Stub
from toolwright.messages import ToolCall, ToolResult, jsonable
from toolwright.tools import MaxOutput, Tool, ToolContext

__all__ = ["CallFailed", "Calls", "Paused"]

_ROOMY = MaxOutput(bytes=16 * 1024 * 1024, lines=1_000_000)
"""Results stay in the code, so the model's own limit does not apply to them."""


class CallFailed(Exception):
    """A tool's error or denial, to be raised at the call in the code."""


class Paused(Exception):
    """A call waits for the outside; the code runs again when the answer is there."""


@dataclass(slots=True)
class Calls:
    """Answers the calls of one piece of code on the ordinary path."""

    ctx: ToolContext
    stubs: Mapping[str, Stub]
    made: int = 0
    _seen: Counter[str] = field(default_factory=Counter)

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
        digest = hashlib.sha256(f"{stub.tool.name}\n{arguments}".encode()).hexdigest()[:10]
        self._seen[digest] += 1
        self.made += 1
        return ToolCall(
            call_id=f"{digest}-{self._seen[digest]}", name=stub.tool.name, arguments=arguments
        )

    def _governed(self, stub: Stub) -> Tool:
        tool = stub.tool if stub.is_ours else self.ctx.run.governed(stub.tool)
        return tool.replace(max_output=_ROOMY)

    async def answer(self, calls: Sequence[tuple[str, ToolCall]]) -> list[Any]:
        """Values in the order of the calls, `CallFailed` in place of one that failed.

        Raises `Paused` when one of them waits for the outside; the others have been answered.
        """
        tools = {call.name: self._governed(self.stubs[function]) for function, call in calls}
        results = await self.ctx.run.answer_inside(self.ctx, [call for _, call in calls], tools)
        if any(result.status == "pending" for result in results):
            raise Paused
        return [
            _value(self.stubs[function], result)
            for (function, _), result in zip(calls, results, strict=True)
        ]


def _value(stub: Stub, result: ToolResult) -> Any:
    """What the code gets: data meant for programs, else JSON, else the text."""
    if result.status != "ok":
        return CallFailed(f"{stub.function}: {result.text}")
    if result.data is not None:
        return result.data
    text = result.text
    if stub.returns_text or (not stub.known_return and text[:1] not in ("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
