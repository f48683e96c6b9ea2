"""A model that says what the test tells it to, and remembers what it was asked."""

import inspect
import itertools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from toolwright._sealed import Sealed
from toolwright.errors import UsageError
from toolwright.messages import ModelMessage, ModelPart, TextPart, ToolCall, Usage
from toolwright.models import Delta, ModelRequest, OnDelta

__all__ = ["ScriptedModel", "Turn", "call"]

Turn = (
    str
    | ToolCall
    | ModelMessage
    | Sequence[str | ToolCall]
    | Callable[[ModelRequest], Any]
    | Exception
)
"""A text, a call, several of both in one turn, a function of the request, or an error to raise."""

_ids = itertools.count(1)


def call(name: str, /, **arguments: Any) -> ToolCall:
    """A call as a model would write it; `call("add", a=1, b=2)`."""
    return ToolCall(call_id="", name=name, arguments=json.dumps(arguments, default=str))


class ScriptedModel(Sealed):
    """Plays its turns in order. Used as `with ScriptedModel(…) as model`, unused turns fail the test."""

    _live = ("turns", "name")

    def __init__(self, *turns: Turn, name: str = "scripted:model") -> None:
        self.name = name
        self.turns = list(turns)
        self.requests: list[ModelRequest] = []
        """What it was asked, turn by turn."""

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The next turn of the script."""
        self.requests.append(request)
        position = len(self.requests) - 1
        if position >= len(self.turns):
            raise UsageError(
                f"The script has {len(self.turns)} turns, but the model was asked "
                f"{position + 1} times; the last message was {request.history[-1]!r}."
            )
        turn: Any = self.turns[position]
        if callable(turn):
            turn = turn(request)
            turn = await turn if inspect.isawaitable(turn) else turn
        if isinstance(turn, Exception):
            raise turn
        message = _message(turn, self.name)
        if on_delta is not None:
            _play(message, on_delta, whole_calls=request.whole_calls)
        return message

    @property
    def unused(self) -> list[Turn]:
        """The turns that were never asked for."""
        return self.turns[len(self.requests) :]

    def check_used_up(self) -> None:
        """Fail when the script has turns that were never asked for."""
        if self.unused:
            raise AssertionError(f"The script has {len(self.unused)} unused turns: {self.unused!r}")

    def __enter__(self) -> "ScriptedModel":
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if error is None:
            self.check_used_up()


def _message(turn: Any, name: str) -> ModelMessage:
    if isinstance(turn, ModelMessage):
        return turn
    items = [turn] if isinstance(turn, str | ToolCall) else list(turn)
    parts = tuple(_part(item) for item in items)
    calls = any(isinstance(part, ToolCall) for part in parts)
    return ModelMessage(
        parts=parts,
        model=name,
        usage=Usage(requests=1),
        finish_reason="calls" if calls else "stop",
    )


def _part(item: Any) -> ModelPart:
    if isinstance(item, str):
        return TextPart(item)
    if isinstance(item, ToolCall) and not item.call_id:
        return ToolCall(call_id=f"call-{next(_ids)}", name=item.name, arguments=item.arguments)
    return item


def _play(message: ModelMessage, on_delta: OnDelta, *, whole_calls: bool) -> None:
    """Stream the message word by word, as a real model would."""
    index = 0
    for part in message.parts:
        if isinstance(part, TextPart):
            for piece in re.findall(r"\S*\s*", part.text):
                if piece:
                    on_delta(Delta(kind="text", text=piece))
        elif isinstance(part, ToolCall):
            on_delta(Delta(kind="call", name=part.name, text=part.arguments, index=index))
            if whole_calls:
                on_delta(Delta(kind="call", index=index, call=part))
            index += 1
