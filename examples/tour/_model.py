"""A model whose words were written beforehand; what its tools do is real."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import anyio.to_thread

from examples.tour._story import stopped, went_well
from toolwright.messages import (
    ModelMessage,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from toolwright.models import Delta, ModelRequest, OnDelta

__all__ = ["TourModel"]

_NO_RESULT = "No result will come for this call"
"""How an update begins that tells of a refusal, or of a time that is over."""


class TourModel:
    """Plays the chapter that the last message names, one turn after the other.

    A turn may be a function of the last result. Otherwise a call that went wrong ends the chapter.

    Which turn is next follows from the history alone, so a chapter can pause for days, be
    branched, or go on in another process.
    """

    name = "recorded:tour"

    def __init__(
        self,
        chapters: Mapping[str, Sequence[Any]],
        otherwise: str,
        *,
        afterwards: Mapping[str, Sequence[Any]],
        before: Mapping[str, Callable[[], None]],
        pause: float,
    ) -> None:
        self._chapters = chapters
        self._afterwards = afterwards
        self._before = before
        self._otherwise = otherwise
        self._pause = pause

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The chapter's next turn, written word by word."""
        messages = list(request.history)
        begin = max(i for i, m in enumerate(messages) if isinstance(m, UserMessage))
        said = messages[begin]
        assert isinstance(said, UserMessage)
        late = _late_result(said.text)
        if late is not None:
            chapter = self._afterwards.get(late.name, [self._otherwise])
        else:
            chapter = self._chapters.get(said.text.strip(), [self._otherwise])
        done = sum(isinstance(message, ModelMessage) for message in messages[begin:])
        if not done and said.text.strip() in self._before:
            await anyio.to_thread.run_sync(self._before[said.text.strip()])
        turn = chapter[min(done, len(chapter) - 1)]
        results = [late] if late is not None and not done else _results(messages)
        # What goes wrong is said, unless the turn looks at it itself.
        is_looked_at = inspect.isfunction(turn)
        unseen = results[:-1] if is_looked_at else results
        if wrong := next((r for r in unseen if done and not went_well(r)), None):
            turn = stopped(wrong)
        elif is_looked_at:
            turn = turn(results[-1])
        items = [turn] if isinstance(turn, str | ToolCall) else list(turn)
        parts = [_part(item, f"{len(messages)}-{n}") for n, item in enumerate(items)]
        for part in parts:
            await self._write(part, on_delta)
        return _message(parts, request)

    async def _write(self, part: Any, on_delta: OnDelta | None) -> None:
        if on_delta is None or isinstance(part, ToolCall):
            return
        kind = "reasoning" if isinstance(part, ReasoningPart) else "text"
        for word in part.text.split(" "):
            on_delta(Delta(kind=kind, text=f"{word} "))
            await anyio.sleep(self._pause)


def _part(item: Any, key: str) -> Any:
    if isinstance(item, str):
        return TextPart(item)
    if isinstance(item, ToolCall):
        return ToolCall(call_id=f"call-{key}", name=item.name, arguments=item.arguments)
    return item


def _late_result(text: str) -> ToolResult | None:
    """The answer that an update in the conversation tells of, in whatever words it came."""
    found = re.match(r"\[Update on call (\S+) of '(\w+)'\]\n?(.*)", text, re.DOTALL)
    if found is None:
        return None
    call_id, name, told = found.groups()
    status = "denied" if told.startswith(_NO_RESULT) else "ok"
    return ToolResult(call_id=call_id, name=name, status=status, content=(TextPart(told),))


def _results(messages: Sequence[Any]) -> Sequence[ToolResult]:
    last = messages[-1]
    return last.results if isinstance(last, ToolMessage) else ()


def _message(parts: Sequence[Any], request: ModelRequest) -> ModelMessage:
    """Tokens are guessed from lengths, so that the page has something to add up."""
    read = sum(len(repr(message)) for message in request.history) // 4
    wrote = sum(len(repr(part)) for part in parts) // 4
    calls = any(isinstance(part, ToolCall) for part in parts)
    return ModelMessage(
        parts=tuple(parts),
        model=TourModel.name,
        usage=Usage(requests=1, input_tokens=read, output_tokens=wrote),
        finish_reason="calls" if calls else "stop",
    )
