"""Messages and tools as the Chat Completions protocol writes them."""

from collections.abc import Callable
from functools import cache
from typing import Any

from toolwright.messages import (
    BlobPart,
    Content,
    Message,
    ModelMessage,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from toolwright.models._dialects import strict_schema
from toolwright.models._media import as_base64, as_data_url, as_note, as_text, is_text
from toolwright.models._sendable import sendable

__all__ = ["converter", "to_function"]

Wire = dict[str, Any]

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def to_function(spec: ToolSpec, *, strict: bool) -> Wire:
    """A tool as the protocol wants it; `strict` where the server knows that mode."""
    parameters = strict_schema(spec.parameters) if strict else None
    function: Wire = {
        "name": spec.name,
        "description": spec.description_with_examples,
        "parameters": parameters or spec.parameters,
    }
    if parameters is not None:
        function["strict"] = True
    return {"type": "function", "function": function}


@cache
def converter(
    provider: str, demands_reasoning: str | None = None
) -> Callable[[Message], list[Wire]]:
    """How `provider` is sent a message. The same function each time, so the work is done once.

    `demands_reasoning` names the field without which it refuses a turn with calls.
    """

    @sendable
    def to_messages(message: Message) -> list[Wire]:
        if isinstance(message, UserMessage):
            return [{"role": "user", "content": _content(message.parts)}]
        if isinstance(message, ModelMessage):
            return [_assistant(message, provider, demands_reasoning)]
        return _results(message)

    return to_messages


def _content(parts: tuple[Content, ...]) -> str | list[Wire]:
    """Text as a plain string, which every server takes; pieces only when there is more."""
    if all(isinstance(part, TextPart) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, TextPart))
    return [_piece(part) for part in parts]


def _piece(part: Content) -> Wire:
    if isinstance(part, TextPart):
        return _text(part.text)
    if part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": as_data_url(part)}}
    if part.media_type in _AUDIO and part.data is not None:
        audio = {"data": as_base64(part), "format": _AUDIO[part.media_type]}
        return {"type": "input_audio", "input_audio": audio}
    if part.media_type == "application/pdf" and part.data is not None:
        file = {"filename": part.name or "file.pdf", "file_data": as_data_url(part)}
        return {"type": "file", "file": file}
    return _text(as_text(part) if is_text(part) else as_note(part))


def _text(text: str) -> Wire:
    return {"type": "text", "text": text}


def _results(message: ToolMessage) -> list[Wire]:
    """One message per result; the protocol has only text there, so blobs follow as the user's."""
    wire: list[Wire] = []
    shown: list[Wire] = []
    for result in message.results:
        blobs = [part for part in result.content if isinstance(part, BlobPart)]
        text = result.text or ("(see the next message)" if blobs else "")
        wire.append({"role": "tool", "tool_call_id": result.call_id, "content": text})
        if blobs:
            label = _text(f"The result of {result.name} ({result.call_id}):")
            shown += [label, *map(_piece, blobs)]
    return [*wire, {"role": "user", "content": shown}] if shown else wire


def _assistant(message: ModelMessage, provider: str, demands_reasoning: str | None) -> Wire:
    wire: Wire = {"role": "assistant", "content": message.text or None}
    if message.calls:
        if demands_reasoning is not None:
            wire[demands_reasoning] = ""
        wire["tool_calls"] = [_call(call) for call in message.calls]
    for part in message.parts:
        if isinstance(part, ReasoningPart) and part.provider == provider:
            wire |= part.meta.get("fields", {})
    return wire


def _call(call: ToolCall) -> Wire:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}
