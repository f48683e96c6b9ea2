"""Messages as Anthropic's Messages API writes them, and its replies as messages."""

import json
from collections.abc import Callable, Collection, Mapping
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
from toolwright.models._call_ids import CallRules
from toolwright.models._depth import as_object
from toolwright.models._media import MADE, as_base64, as_made, as_note, as_text, is_note, is_text
from toolwright.models._prices import priced
from toolwright.models._sendable import sendable

__all__ = ["converter", "known_references", "read_call", "read_message", "to_tool"]

PROVIDER = "anthropic"
Block = dict[str, Any]

_RULES = CallRules(
    id_characters=r"a-zA-Z0-9_\-",
    longest_id=64,
    name_characters=r"a-zA-Z0-9_\-",
    longest_name=128,
)
_NOTHING = "(an empty message)"
"""Stands for a user's message without text: left out, it would leave the model to answer itself."""
_REFERENCE = "tool_reference"
_GONE = "(The tools that were found are not there any more.)"
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
def converter(server: str, *, loads_tools: bool = False) -> Callable[[Message], list[Block]]:
    """How a message is sent. The same function each time, so the work is done once.

    With `loads_tools` the result of a search is the tools themselves rather than words about them.
    """

    @sendable(server, _RULES, loads_tools=loads_tools)
    def to_messages(message: Message) -> list[Block]:
        """One message, or none when there is nothing in it that the API would accept."""
        if isinstance(message, ModelMessage):
            return _model_turn(message)
        if isinstance(message, UserMessage):
            return _turn("user", _content_blocks(message.parts) or [_text(_NOTHING)])
        results = [_result_block(result, loads_tools) for result in message.results]
        return _turn("user", results)

    return to_messages


def _turn(role: str, blocks: list[Block]) -> list[Block]:
    return [{"role": role, "content": blocks}] if blocks else []


def _content_blocks(parts: tuple[Content, ...]) -> list[Block]:
    return _without_blanks([_content_block(part) for part in parts])


def _without_blanks(blocks: list[Block]) -> list[Block]:
    """The API refuses text of nothing but blanks, also where the model itself has written it."""
    return [block for block in blocks if block.get("type") != "text" or block["text"].strip()]


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


def _result_block(result: ToolResult, loads_tools: bool) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": result.call_id}
    if loads_tools and result.found:
        block["content"] = [{"type": _REFERENCE, "tool_name": name} for name in result.found]
    elif content := _content_blocks(result.content):
        block["content"] = content
    if result.status in ("error", "denied"):
        block["is_error"] = True
    return block


def known_references(message: Block, known: Collection[str]) -> Block:
    """`message` without references to tools that are gone: the API refuses the conversation for one.

    The same object where there are none.
    """
    if message["role"] != "user" or not any(_refers(block) for block in message["content"]):
        return message
    return {**message, "content": [_with_known(block, known) for block in message["content"]]}


def _refers(block: Block) -> bool:
    content = block.get("content") if block["type"] == "tool_result" else None
    return bool(content) and content[0]["type"] == _REFERENCE


def _with_known(block: Block, known: Collection[str]) -> Block:
    if not _refers(block):
        return block
    kept = [one for one in block["content"] if one["tool_name"] in known]
    return {**block, "content": kept or [_text(_GONE)]}


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
    return _without_blanks(blocks)


def _model_block(part: ModelPart) -> Block | None:
    match part:
        case TextPart():
            return _text(part.text)
        case ToolCall():
            return {
                "type": "tool_use",
                "id": part.call_id,
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
            return read_call(block)
        case kind:
            used = block.get("name") or kind.removesuffix("_tool_result")
            return ServerToolPart(provider=PROVIDER, name=used, payload=block)


def read_call(block: Block) -> ToolCall:
    """The call that a block is."""
    return ToolCall(call_id=block["id"], name=block["name"], arguments=_arguments(block["input"]))


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
