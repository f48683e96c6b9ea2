"""Messages as the Chat Completions protocol writes them, and its replies as messages."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from toolwright.messages import (
    BlobPart,
    Content,
    FinishReason,
    Message,
    ModelMessage,
    ModelPart,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from toolwright.models._call_ids import new_call_id
from toolwright.models._dialects import strict_schema
from toolwright.models._errors import model_error
from toolwright.models._media import as_base64, as_data_url, as_note, as_text, is_text
from toolwright.models._sendable import sendable

__all__ = ["converter", "read_completion", "to_function"]

Wire = dict[str, Any]

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "content_filter": "refused",
}
_REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put their reasoning; OpenAI itself keeps it back."""


def to_function(spec: ToolSpec, *, strict: bool) -> Wire:
    """A tool as the protocol wants it; `strict` where the server knows that mode."""
    parameters = strict_schema(spec.parameters) if strict else None
    function: Wire = {
        "name": spec.name,
        "description": spec.description,
        "parameters": parameters or spec.parameters,
    }
    if parameters is not None:
        function["strict"] = True
    return {"type": "function", "function": function}


@cache
def converter(provider: str) -> Callable[[Message], list[Wire]]:
    """How `provider` is sent a message. The same function each time, so the work is done once."""

    @sendable
    def to_messages(message: Message) -> list[Wire]:
        if isinstance(message, UserMessage):
            return [{"role": "user", "content": _content(message.parts)}]
        if isinstance(message, ModelMessage):
            return [_assistant(message, provider)]
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


def _assistant(message: ModelMessage, provider: str) -> Wire:
    wire: Wire = {"role": "assistant", "content": message.text or None}
    if message.calls:
        wire["tool_calls"] = [_call(call) for call in message.calls]
    for part in message.parts:
        if isinstance(part, ReasoningPart) and part.provider == provider:
            wire |= part.meta.get("fields", {})
    return wire


def _call(call: ToolCall) -> Wire:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def read_completion(completion: Wire, provider: str, name: str) -> ModelMessage:
    """The whole reply, from a completion as JSON."""
    refuse_error(completion, name)
    choices = completion["choices"]
    if not choices:
        raise model_error(name, "the server sent a completion without a choice", reason="server")
    refuse_error(choices[0], name)
    message = choices[0].get("message") or {}
    parts = _parts(message, provider)
    calls = any(isinstance(part, ToolCall) for part in parts)
    finish = _FINISH.get(choices[0].get("finish_reason") or "stop", "stop")
    meta: Wire = {"id": completion.get("id")}
    if message.get("annotations"):
        meta["citations"] = message["annotations"]
    return ModelMessage(
        parts=parts,
        usage=_usage(completion.get("usage") or {}),
        model=name,
        # Some servers say "stop" all the same.
        finish_reason="calls" if calls and finish == "stop" else _refused(message) or finish,
        meta=meta,
    )


def refuse_error(answer: Wire, name: str) -> None:
    """Raise the error that some servers send under a status that says that all is well."""
    error = answer.get("error")
    if isinstance(error, dict):
        code = error.get("code") or error.get("type")
        message = error.get("message") or "unknown"
        raise model_error(name, message, code=None if code is None else str(code))
    if error:
        raise model_error(name, str(error), reason="server")


def _refused(message: Wire) -> FinishReason | None:
    return "refused" if message.get("refusal") else None


def _parts(message: Wire, provider: str) -> tuple[ModelPart, ...]:
    parts: list[ModelPart] = []
    if reasoning := _reasoning(message, provider):
        parts.append(reasoning)
    if text := message.get("content") or message.get("refusal"):
        parts.append(TextPart(text))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        call_id = call.get("id") or new_call_id()
        arguments = function.get("arguments") or "{}"
        parts.append(ToolCall(call_id=call_id, name=function["name"], arguments=arguments))
    return tuple(parts)


def _reasoning(message: Wire, provider: str) -> ReasoningPart | None:
    """The reasoning, with the very fields that the server wants back."""
    found = {key: message[key] for key in _REASONING_FIELDS if message.get(key)}
    details = message.get("reasoning_details")
    if not found and not details:
        return None
    # The details hold signatures; with them the text need not be repeated.
    fields = {"reasoning_details": details} if details else found
    text = next(iter(found.values()), "")
    return ReasoningPart(text=text, provider=provider, meta={"fields": fields})


def _usage(usage: Mapping[str, Any]) -> Usage:
    into = usage.get("prompt_tokens_details") or {}
    out = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("prompt_tokens") or 0,
        output_tokens=usage.get("completion_tokens") or 0,
        cached_tokens=into.get("cached_tokens") or 0,
        cache_write_tokens=into.get("cache_write_tokens") or 0,
        reasoning_tokens=out.get("reasoning_tokens") or 0,
        cost=usage.get("cost") or 0.0,
        requests=1,
    )
