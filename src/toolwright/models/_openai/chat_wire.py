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
from toolwright.models._call_ids import short_call_id
from toolwright.models._dialects import strict_schema
from toolwright.models._media import (
    MADE,
    as_base64,
    as_data_url,
    as_made,
    as_note,
    as_text,
    is_note,
    is_text,
)
from toolwright.models._openai.servers import Server
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
def converter(provider: str, server: Server, address: str) -> Callable[[Message], list[Wire]]:
    """How `provider` is sent a message. The same function each time, so the work is done once."""
    call_id: Callable[[str], str] = short_call_id if server.short_ids else str

    @sendable(address)
    def to_messages(message: Message) -> list[Wire]:
        if isinstance(message, UserMessage):
            return [{"role": "user", "content": _content(message.parts)}]
        if isinstance(message, ModelMessage):
            return _turn(message, provider, server)
        return _results(message)

    def with_ids(message: Message) -> list[Wire]:
        """The ids of calls and of their results, as the server wants them."""
        wire = to_messages(message)
        for one in wire:
            if "tool_call_id" in one:
                one["tool_call_id"] = call_id(one["tool_call_id"])
            for call in one.get("tool_calls", ()):
                call["id"] = call_id(call["id"])
        return wire

    return with_ids if server.short_ids else to_messages


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


def _turn(message: ModelMessage, provider: str, server: Server) -> list[Wire]:
    """The model's turn; what it made follows as the user's, where the protocol has only text."""
    made = [part for part in message.parts if isinstance(part, BlobPart)]
    # Nothing may stand between calls and their results.
    shown = [] if message.calls else [part for part in made if not is_note(_piece(part))]
    text = "\n".join([message.text] * bool(message.text) + [as_made(m, m in shown) for m in made])
    turn = [_assistant(message, text, provider, server)]
    if shown:
        turn.append({"role": "user", "content": [_text(MADE), *map(_piece, shown)]})
    return turn


def _assistant(message: ModelMessage, text: str, provider: str, server: Server) -> Wire:
    wire: Wire = {"role": "assistant", "content": text or None}
    if message.calls:
        if server.demands_reasoning is not None:
            wire[server.demands_reasoning] = ""
        wire["tool_calls"] = [_call(call) for call in message.calls]
    for part in message.parts:
        if isinstance(part, ReasoningPart) and part.provider == provider:
            wire |= part.meta.get("fields", {})
    return wire


def _call(call: ToolCall) -> Wire:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}
