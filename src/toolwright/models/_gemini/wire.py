"""Messages and tools as Gemini wants them."""

import base64
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from toolwright.messages import (
    BlobPart,
    Content,
    Message,
    ModelMessage,
    ModelPart,
    ReasoningPart,
    ServerToolPart,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from toolwright.models._call_ids import is_made_here
from toolwright.models._depth import as_object
from toolwright.models._dialects import gemini_schema
from toolwright.models._media import as_text, is_text
from toolwright.models._sendable import sendable

try:
    from google.genai import types
except ImportError as error:
    raise ImportError("Gemini models need an extra: pip install 'toolwright[google]'") from error

__all__ = ["Wire", "as_wire", "converter", "side_part", "to_declaration"]

Wire = dict[str, Any]
_SIDE = "side_request"
"""Marks a server tool that was asked in a request of its own; to the model it was a function."""
_INSIDE_RESULTS = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf"})
"""What newer models take inside a function's response."""
_UNSIGNED = b"skip_thought_signature_validator"
"""What Google documents for a call that has no signature because another model made it."""


def to_declaration(spec: ToolSpec) -> types.FunctionDeclaration:
    """A tool in Gemini's schema dialect."""
    schema = gemini_schema(spec.parameters)
    return types.FunctionDeclaration(
        name=spec.name,
        description=spec.description_with_examples,
        parameters_json_schema=schema if schema.get("properties") else None,
    )


@cache
def converter(provider: str, server: str, *, newer: bool) -> Callable[[Message], list[Wire]]:
    """How a message is sent. The same function each time, so the work is done once.

    `newer` models take images inside a function's response, where others get them right after
    it, and insist on signed calls. `provider` tells whose signatures can be sent back.
    """

    @sendable(server)
    def to_contents(message: Message) -> list[Wire]:
        return [as_wire(content) for content in _contents(message, provider, newer=newer)]

    return to_contents


def as_wire(value: types.Content | types.Tool) -> Wire:
    """The JSON that the API wants."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def _contents(message: Message, provider: str, *, newer: bool) -> list[types.Content]:
    if isinstance(message, UserMessage):
        return _turn("user", [_content_part(part) for part in message.parts])
    if isinstance(message, ModelMessage):
        return _ModelTurn(provider, signs=newer).contents(message.parts)
    return _turn("user", _result_parts(message, inside=newer))


def _turn(role: str, parts: list[types.Part]) -> list[types.Content]:
    return [types.Content(role=role, parts=parts)] if parts else []


def _content_part(part: Content) -> types.Part:
    if isinstance(part, TextPart):
        return types.Part(text=part.text)
    if is_text(part):
        return types.Part(text=as_text(part))
    if part.data is not None:
        return types.Part(inline_data=types.Blob(mime_type=part.media_type, data=part.data))
    return types.Part(file_data=types.FileData(mime_type=part.media_type, file_uri=part.url))


def _result_parts(message: ToolMessage, *, inside: bool) -> list[types.Part]:
    kinds = _INSIDE_RESULTS if inside else frozenset()
    parts = [_response(result, kinds) for result in message.results]
    after = [
        _content_part(part)
        for result in message.results
        for part in result.content
        if isinstance(part, BlobPart) and not _fits_inside(part, kinds)
    ]
    return [*parts, *after]


def _fits_inside(blob: BlobPart, kinds: frozenset[str]) -> bool:
    return blob.data is not None and blob.media_type in kinds


def _response(result: ToolResult, kinds: frozenset[str]) -> types.Part:
    key = "error" if result.status in ("error", "denied") else "output"
    blobs = [
        types.FunctionResponsePart(inline_data=_response_blob(part))
        for part in result.content
        if isinstance(part, BlobPart) and _fits_inside(part, kinds)
    ]
    return types.Part(
        function_response=types.FunctionResponse(
            id=_known_id(result.call_id),
            name=result.name,
            response={key: result.text},
            parts=blobs or None,
        )
    )


def _response_blob(blob: BlobPart) -> types.FunctionResponseBlob:
    return types.FunctionResponseBlob(
        mime_type=blob.media_type, data=blob.data, display_name=blob.name
    )


def _known_id(call_id: str) -> str | None:
    return None if is_made_here(call_id) else call_id


class _ModelTurn:
    """Writes one turn of the model as contents.

    Usually that is one content. A server tool that was asked in a request of its own stands
    there as a function call, and its answer is a content of its own.
    """

    def __init__(self, provider: str, *, signs: bool) -> None:
        self._provider = provider
        self._signs = signs
        self._contents: list[types.Content] = []
        self._parts: list[types.Part] = []
        self._answers: list[types.Part] = []

    def contents(self, parts: Sequence[ModelPart]) -> list[types.Content]:
        for part in parts:
            if isinstance(part, ServerToolPart) and _SIDE in part.payload:
                self._parts.append(_side_call(part))
                self._answers.append(_side_answer(part))
            else:
                self._flush(self._answers)
                self._add(part)
        self._flush(self._answers or self._parts)
        return self._contents

    def _flush(self, reason: list[types.Part]) -> None:
        """End the content that is being written, if there is `reason` to, and its answers' too."""
        if reason:
            self._sign()
            self._contents += [*_turn("model", self._parts), *_turn("user", self._answers)]
            self._parts, self._answers = [], []

    def _sign(self) -> None:
        """Newer models want the first call of a content signed."""
        first = next((part for part in self._parts if part.function_call), None)
        if self._signs and first is not None and first.thought_signature is None:
            first.thought_signature = _UNSIGNED

    def _add(self, part: ModelPart) -> None:
        match part:
            case TextPart():
                self._parts.append(types.Part(text=part.text))
            case ToolCall():
                self._parts.append(_call(part, self._provider))
            case BlobPart():
                self._parts.append(_content_part(part))
            case ServerToolPart(provider=self._provider):
                self._parts.append(types.Part.model_validate(part.payload))
            case ReasoningPart(provider=self._provider):
                self._add_reasoning(part)

    def _add_reasoning(self, part: ReasoningPart) -> None:
        signature = _bytes(part.signature)
        if not part.meta.get("signs_text"):
            self._parts.append(
                types.Part(text=part.text, thought=True, thought_signature=signature)
            )
        elif self._parts and self._parts[-1].text is not None:
            self._parts[-1].thought_signature = signature
        else:
            self._parts.append(types.Part(text="", thought_signature=signature))


def _call(call: ToolCall, provider: str) -> types.Part:
    function = types.FunctionCall(
        id=_known_id(call.call_id), name=call.name, args=as_object(call.arguments)
    )
    own = call.meta.get("provider") == provider
    signature = call.meta.get("thought_signature") if own else None
    return types.Part(function_call=function, thought_signature=_bytes(signature))


def side_part(call: ToolCall, answer: str, provider: str) -> ServerToolPart:
    """A server tool that was asked in a request of its own, with what it answered."""
    kept = {
        "name": call.name,
        "args": as_object(call.arguments),
        "answer": answer,
        "thought_signature": call.meta.get("thought_signature"),
    }
    return ServerToolPart(provider=provider, name=call.name, payload={_SIDE: kept}, text=answer)


def _side_call(part: ServerToolPart) -> types.Part:
    side = part.payload[_SIDE]
    return types.Part(
        function_call=types.FunctionCall(name=side["name"], args=side["args"]),
        thought_signature=_bytes(side["thought_signature"]),
    )


def _side_answer(part: ServerToolPart) -> types.Part:
    side = part.payload[_SIDE]
    response = {"output": side["answer"]}
    return types.Part(
        function_response=types.FunctionResponse(name=side["name"], response=response)
    )


def _bytes(signature: str | None) -> bytes | None:
    return base64.b64decode(signature) if signature else None
