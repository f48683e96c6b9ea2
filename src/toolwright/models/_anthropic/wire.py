"""Messages as Anthropic's Messages API writes them, and its replies as messages."""

import json
import re
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
    ServerToolPart,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from toolwright.models._depth import as_object
from toolwright.models._media import MADE, as_base64, as_made, as_note, as_text, is_note, is_text
from toolwright.models._prices import priced
from toolwright.models._sendable import sendable

__all__ = ["converter", "read_message", "to_tool"]

PROVIDER = "anthropic"
Block = dict[str, Any]

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_FINISH: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}


def to_tool(spec: ToolSpec) -> Block:
    """A tool as the API wants it."""
    tool = {"name": spec.name, "description": spec.description, "input_schema": spec.parameters}
    return {**tool, "input_examples": list(spec.examples)} if spec.examples else tool


@cache
def converter(server: str) -> Callable[[Message], list[Block]]:
    """How a message is sent. The same function each time, so the work is done once."""
    return sendable(server)(_to_messages)


def _to_messages(message: Message) -> list[Block]:
    """One message, or none when there is nothing in it that the API would accept."""
    if isinstance(message, ModelMessage):
        return _model_turn(message)
    if isinstance(message, UserMessage):
        return _turn("user", _content_blocks(message.parts))
    return _turn("user", [_result_block(result) for result in message.results])


def _turn(role: str, blocks: list[Block]) -> list[Block]:
    return [{"role": role, "content": blocks}] if blocks else []


def _content_blocks(parts: tuple[Content, ...]) -> list[Block]:
    # The API refuses empty text.
    return [_content_block(part) for part in parts if not isinstance(part, TextPart) or part.text]


def _content_block(part: Content) -> Block:
    if isinstance(part, TextPart):
        return _text(part.text)
    if part.media_type in _IMAGES:
        return {"type": "image", "source": _source(part)}
    if part.media_type == "application/pdf":
        title = {"title": part.name} if part.name else {}
        return {"type": "document", "source": _source(part), **title}
    return _text(as_text(part) if is_text(part) else as_note(part))


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _source(blob: BlobPart) -> Block:
    if blob.url:
        return {"type": "url", "url": blob.url}
    return {"type": "base64", "media_type": blob.media_type, "data": as_base64(blob)}


def _result_block(result: ToolResult) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": _call_id(result.call_id)}
    if content := _content_blocks(result.content):
        block["content"] = content
    if result.status in ("error", "denied"):
        block["is_error"] = True
    return block


def _call_id(call_id: str) -> str:
    """The id with only the characters that the API takes; other providers use more."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)


def _model_turn(message: ModelMessage) -> list[Block]:
    """The model's turn; what it made follows as the user's, because the API has only text there."""
    made = [part for part in message.parts if isinstance(part, BlobPart)]
    # Nothing may stand between calls and their results.
    shown = [] if message.calls else [m for m in made if not is_note(_content_block(m))]
    named = {id(part): _text(as_made(part, part in shown)) for part in made}
    turn = _turn("assistant", _model_blocks(message, named))
    return turn + _turn("user", [_text(MADE), *map(_content_block, shown)] if shown else [])


def _model_blocks(message: ModelMessage, named: Mapping[int, Block]) -> list[Block]:
    own = message.meta.get("provider") == PROVIDER
    citations = iter(message.meta.get("citations", ()) if own else ())
    blocks = []
    for part in message.parts:
        cited = next(citations, None) if isinstance(part, TextPart) else None
        block = named.get(id(part)) or _model_block(part)
        if block is not None:
            blocks.append({**block, "citations": cited} if cited else block)
    return blocks


def _model_block(part: ModelPart) -> Block | None:
    match part:
        case TextPart():
            return _text(part.text) if part.text else None
        case ToolCall():
            call_id = _call_id(part.call_id)
            return {
                "type": "tool_use",
                "id": call_id,
                "name": part.name,
                "input": as_object(part.arguments),
            }
        case ReasoningPart(provider="anthropic", signature=str()):
            if part.meta.get("redacted"):
                return {"type": "redacted_thinking", "data": part.signature}
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case ServerToolPart(provider="anthropic"):
            return part.payload
        case _:
            return None


def read_message(reply: Mapping[str, Any], name: str) -> ModelMessage:
    """The whole reply, from the API's message as JSON."""
    blocks = reply["content"]
    parts = tuple(_read_block(block) for block in blocks)
    meta: dict[str, Any] = {"provider": PROVIDER, "id": reply.get("id")}
    citations = [block.get("citations") for block in blocks if block["type"] == "text"]
    if any(citations):
        meta["citations"] = citations
    if reply.get("container"):
        meta["container"] = reply["container"]
    return ModelMessage(
        parts=parts,
        usage=_usage(reply.get("usage") or {}, name),
        model=name,
        finish_reason=_FINISH.get(reply.get("stop_reason") or "", "stop"),
        meta=meta,
    )


def _read_block(block: Block) -> ModelPart:
    match block["type"]:
        case "text":
            return TextPart(block["text"])
        case "thinking":
            text, signature = block["thinking"], block.get("signature")
            return ReasoningPart(text=text, signature=signature, provider=PROVIDER)
        case "redacted_thinking":
            meta = {"redacted": True}
            return ReasoningPart(text="", signature=block["data"], provider=PROVIDER, meta=meta)
        case "tool_use":
            return ToolCall(
                call_id=block["id"], name=block["name"], arguments=_arguments(block["input"])
            )
        case kind:
            used = block.get("name") or kind.removesuffix("_tool_result")
            return ServerToolPart(provider=PROVIDER, name=used, payload=block)


def _arguments(given: Any) -> str:
    """JSON text: a stream has it as the model wrote it, a whole reply has it parsed."""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _usage(usage: Mapping[str, Any], name: str) -> Usage:
    """The whole usage; that of compactions is told apart, and not part of the sum."""
    compactions = [one for one in usage.get("iterations") or () if one["type"] == "compaction"]
    counted = (_counted(one, name, requests=0) for one in compactions)
    return sum(counted, _counted(usage, name, requests=1))


def _counted(usage: Mapping[str, Any], name: str, *, requests: int) -> Usage:
    read = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    details = usage.get("output_tokens_details") or {}
    counted = Usage(
        # The API counts cached tokens apart; here they are part of the input.
        input_tokens=(usage.get("input_tokens") or 0) + read + written,
        output_tokens=usage.get("output_tokens") or 0,
        cached_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=details.get("thinking_tokens") or 0,
        requests=requests,
    )
    by_duration = usage.get("cache_creation") or {}
    return priced(name, counted, by_duration.get("ephemeral_1h_input_tokens") or 0)
