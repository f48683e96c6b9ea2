"""Requests for the tests to send."""

from collections.abc import Sequence
from typing import Any

from toolwright.messages import (
    History,
    Message,
    ModelMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    user_message,
)
from toolwright.models import ModelRequest

WEATHER = ToolSpec(
    name="get_weather",
    description="The weather in a city.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Which city."}},
        "required": ["city"],
    },
)


def ask(text: str = "Hello", **changes: Any) -> ModelRequest:
    """A request with one message from the person."""
    return history(user_message(text), **changes)


def history(*messages: Message, **changes: Any) -> ModelRequest:
    """A request with this conversation."""
    return ModelRequest(history=History(messages).view(), **changes)


def called(name: str, arguments: str, call_id: str = "call_1", **meta: Any) -> ModelMessage:
    """A turn in which the model called one tool."""
    return ModelMessage(
        parts=(ToolCall(call_id=call_id, name=name, arguments=arguments, meta=meta),)
    )


def answered(*content: Any, call_id: str = "call_1", name: str = "get_weather") -> ToolMessage:
    """The result of one call."""
    parts = tuple(TextPart(part) if isinstance(part, str) else part for part in content)
    return results(ToolResult(call_id=call_id, name=name, status="ok", content=parts))


def results(*all_results: ToolResult) -> ToolMessage:
    """The results of one turn."""
    return ToolMessage(tuple(all_results))


def texts(deltas: Sequence[Any], kind: str = "text") -> str:
    """The pieces of one kind, joined."""
    return "".join(delta.text for delta in deltas if delta.kind == kind)
