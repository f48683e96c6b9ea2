"""What every provider is sent of a message: valid text, and nothing that only another server reads."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from toolwright.messages import Message, ModelMessage, ToolCall, ToolMessage, sendable_json
from toolwright.models._call_ids import CallRules
from toolwright.models._depth import as_object
from toolwright.models._origin import readable_at

__all__ = ["as_called", "sendable"]

Wire = list[dict[str, Any]]
Convert = Callable[[Message], Wire]


def sendable(
    server: str, rules: CallRules, *, loads_tools: bool = False
) -> Callable[[Convert], Convert]:
    """Make a converter one for `server`, with ids and names of calls by its `rules`.

    Lone surrogates, which file names and half emojis can hold, are replaced by `?`. A server that
    `loads_tools` in the middle of a conversation has all calls by the names of the tools themselves.
    """

    def decorate(convert: Convert) -> Convert:
        @wraps(convert)
        def converted(message: Message) -> Wire:
            told = message if loads_tools else as_called(message)
            wire: Wire = sendable_json(convert(rules.kept_by(readable_at(told, server))))
            return wire

        return converted

    return decorate


def as_called(message: Message) -> Message:
    """`message` with the calls as the model has made them, some of them by another tool's name."""
    if isinstance(message, ModelMessage):
        if all(call.called_as is None for call in message.calls):
            return message
        parts = (_called(part) if isinstance(part, ToolCall) else part for part in message.parts)
        return replace(message, parts=tuple(parts))
    if not isinstance(message, ToolMessage) or all(r.called_as is None for r in message.results):
        return message
    return ToolMessage(tuple(replace(r, name=r.called_as or r.name) for r in message.results))


def _called(call: ToolCall) -> ToolCall:
    if call.called_as is None:
        return call
    given = {"name": call.name, "arguments": as_object(call.arguments)}
    return replace(call, name=call.called_as, arguments=json.dumps(given, ensure_ascii=False))
