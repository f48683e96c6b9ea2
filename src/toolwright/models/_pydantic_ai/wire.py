"""Messages as pydantic-ai has them, and its responses as messages."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from toolwright.messages import (
    BlobPart,
    Content,
    FinishReason,
    Message,
    ModelMessage,
    ModelPart,
    ReasoningPart,
    ServerToolPart,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
    sendable_text,
)
from toolwright.models._errors import broken_off
from toolwright.models._media import as_text, is_text
from toolwright.models._sendable import as_called

try:
    from pydantic_ai import messages as theirs
    from pydantic_ai.tools import ToolDefinition
except ImportError as error:
    raise ImportError(
        "pydantic-ai models need an extra: pip install 'toolwright[pydantic-ai]'"
    ) from error

__all__ = ["as_json", "read_response", "to_definition", "to_message"]

_KEPT = "pydantic_ai"
"""Where a reply keeps the original response, which holds details that only its provider knows."""
_RESPONSE: TypeAdapter[theirs.ModelResponse] = TypeAdapter(theirs.ModelResponse)
_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "refused",
    "tool_call": "calls",
    "error": "error",
}


def to_definition(spec: ToolSpec) -> ToolDefinition:
    """A tool as pydantic-ai wants it."""
    return ToolDefinition(
        name=spec.name,
        description=spec.description_with_examples,
        parameters_json_schema=spec.parameters,
    )


def to_message(message: Message) -> theirs.ModelMessage:
    """One message; a reply that came this way is sent back as it was."""
    message = as_called(message)
    if isinstance(message, UserMessage):
        prompt = theirs.UserPromptPart(content=[_content(part) for part in message.parts])
        return theirs.ModelRequest(parts=[prompt])
    if isinstance(message, ModelMessage):
        kept = message.meta.get(_KEPT)
        response = _RESPONSE.validate_python(kept) if kept else _foreign(message)
        return replace(response, parts=_without_blanks(response.parts))
    return theirs.ModelRequest(parts=[_returned(result) for result in message.results])


def _without_blanks(
    parts: Sequence[theirs.ModelResponsePart],
) -> Sequence[theirs.ModelResponsePart]:
    """Claude refuses text of nothing but blanks; what a provider signs is kept, and a lone one."""
    said = [part for part in parts if not _is_blank(part)]
    return said or parts


def _is_blank(part: theirs.ModelResponsePart) -> bool:
    blank = isinstance(part, theirs.TextPart) and not part.content.strip()
    return blank and not part.id and not part.provider_details


def _content(part: Content) -> theirs.UserContent:
    if isinstance(part, TextPart):
        return sendable_text(part.text)
    if is_text(part):
        return as_text(part)
    if part.data is not None:
        return theirs.BinaryContent(part.data, media_type=part.media_type)
    return _url(part)


def _url(blob: BlobPart) -> theirs.UserContent:
    kinds = {"image": theirs.ImageUrl, "audio": theirs.AudioUrl, "video": theirs.VideoUrl}
    kind = kinds.get(blob.media_type.partition("/")[0], theirs.DocumentUrl)
    return kind(url=blob.url or "", media_type=blob.media_type)


def _returned(result: ToolResult) -> theirs.ToolReturnPart:
    only_text = all(isinstance(part, TextPart) for part in result.content)
    outcomes = {"error": "failed", "denied": "denied"}
    text = sendable_text(result.text)
    content: Any = text if only_text else [_content(part) for part in result.content]
    outcome: Any = outcomes.get(result.status, "success")
    return theirs.ToolReturnPart(
        tool_name=result.name, content=content, tool_call_id=result.call_id, outcome=outcome
    )


def _foreign(message: ModelMessage) -> theirs.ModelResponse:
    """A turn of a model that was asked in another way: what was said and called."""
    parts: list[theirs.ModelResponsePart] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            parts.append(theirs.TextPart(content=sendable_text(part.text)))
        elif isinstance(part, ToolCall):
            parts.append(
                theirs.ToolCallPart(
                    tool_name=part.name,
                    args=sendable_text(part.arguments),
                    tool_call_id=part.call_id,
                )
            )
    return theirs.ModelResponse(parts=parts)


def read_response(response: theirs.ModelResponse, name: str) -> ModelMessage:
    """The whole reply; raises `ModelError` for a stream in which there was none."""
    # A stream without a reply in it ends like one with an empty reply, but costs nothing.
    if not response.parts and not response.usage.total_tokens:
        raise broken_off(name, "the reply has neither content nor usage")
    parts = tuple(_read_part(part) for part in response.parts)
    calls = any(isinstance(part, ToolCall) for part in parts)
    return ModelMessage(
        parts=parts,
        usage=_usage(response),
        model=name,
        finish_reason="calls" if calls else _FINISH.get(response.finish_reason or "stop", "stop"),
        meta={_KEPT: _RESPONSE.dump_python(response, mode="json")},
    )


def _read_part(part: theirs.ModelResponsePart) -> ModelPart:
    match part:
        case theirs.TextPart():
            return TextPart(part.content)
        case theirs.ThinkingPart():
            return ReasoningPart(text=part.content, provider="pydantic-ai")
        case theirs.ToolCallPart():
            arguments = as_json(part.args) or "{}"
            return ToolCall(call_id=part.tool_call_id, name=part.tool_name, arguments=arguments)
        case theirs.FilePart():
            return BlobPart(media_type=part.content.media_type, data=part.content.data)
        case _:
            used = getattr(part, "tool_name", part.part_kind)
            return ServerToolPart(provider="pydantic-ai", name=used, payload={})


def as_json(args: str | Mapping[str, Any] | None) -> str:
    """Arguments, or a piece of them, just as the model wrote them where that is known."""
    if isinstance(args, str):
        return args
    return "" if args is None else json.dumps(args, ensure_ascii=False)


def _usage(response: theirs.ModelResponse) -> Usage:
    used = response.usage
    return Usage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        reasoning_tokens=used.details.get("reasoning_tokens", 0),
        cost=_cost(response),
        requests=1,
    )


def _cost(response: theirs.ModelResponse) -> float:
    if not response.model_name:
        return 0.0
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):  # no price is known, or no usage
        return 0.0
