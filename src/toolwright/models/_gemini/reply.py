"""Read Gemini's reply, whole or in chunks."""

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from google.genai import types

from toolwright.messages import (
    BlobPart,
    FinishReason,
    ModelMessage,
    ModelPart,
    ReasoningPart,
    ServerToolPart,
    TextPart,
    ToolCall,
    Usage,
)
from toolwright.models._call_ids import new_call_id
from toolwright.models._errors import ended_early, model_error
from toolwright.models._model import Delta, OnDelta
from toolwright.models._prices import priced

__all__ = ["Reply", "sources"]

_FINISH: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "refused",
    "RECITATION": "refused",
    "BLOCKLIST": "refused",
    "PROHIBITED_CONTENT": "refused",
    "SPII": "refused",
    "LANGUAGE": "refused",
    "MODEL_ARMOR": "refused",
    "JAILBREAK": "refused",
    "IMAGE_SAFETY": "refused",
    "IMAGE_PROHIBITED_CONTENT": "refused",
    "IMAGE_RECITATION": "refused",
}
_GARBLED = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})
_FIELDS = frozenset(
    {"candidates", "prompt_feedback", "usage_metadata", "model_version", "response_id"}
)
_UNKNOWN_TOOL = "UNEXPECTED_TOOL_CALL"
"""The model named a tool that it was not offered; the loop tells it so, like any other."""


class Reply:
    """One reply, as far as it was heard."""

    def __init__(self, provider: str, listen: OnDelta | None = None) -> None:
        self._provider = provider
        self._listen = listen
        self._parts: list[types.Part] = []
        self._calls = 0
        self._finish: str | None = None
        self._usage: types.GenerateContentResponseUsageMetadata | None = None
        self._meta: dict[str, Any] = {"provider": provider}
        self._heard = False
        self._known = False
        """Whether anything of this protocol was in it."""

    def hear(self, chunk: types.GenerateContentResponse) -> None:
        """Take in one chunk; a reply that is not streamed is a single one."""
        self._heard = True
        self._known = self._known or bool(chunk.model_fields_set & _FIELDS)
        self._usage = chunk.usage_metadata or self._usage
        if chunk.response_id:
            self._meta["id"] = chunk.response_id
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
            self._finish = "SAFETY"
            self._meta["blocked"] = chunk.prompt_feedback.block_reason.value
        for candidate in (chunk.candidates or ())[:1]:
            self._hear_candidate(candidate)

    def message(self, name: str, price_name: str) -> ModelMessage:
        """The reply as a message; raises `ModelError` for one that broke off or is garbled."""
        if self._finish is None:
            raise ended_early(name, strange=self._heard and not self._known)
        parts = tuple(_read_parts(self._parts, self._provider))
        calls = any(isinstance(part, ToolCall) for part in parts)
        if self._finish in _GARBLED and not (calls and self._finish == _UNKNOWN_TOOL):
            what = f"the model's reply could not be read ({self._finish})"
            raise model_error(name, what, reason="server")
        return ModelMessage(
            parts=parts,
            usage=priced(price_name, _usage(self._usage)),
            model=name,
            finish_reason="calls" if calls else _FINISH.get(self._finish, "error"),
            meta=self._meta,
        )

    def _hear_candidate(self, candidate: types.Candidate) -> None:
        if candidate.finish_reason is not None:
            self._finish = candidate.finish_reason.value
        if candidate.grounding_metadata is not None:
            self._meta["grounding"] = _json(candidate.grounding_metadata)
        if candidate.url_context_metadata is not None:
            self._meta["url_context"] = _json(candidate.url_context_metadata)
        if candidate.content is None:
            return
        for part in candidate.content.parts or ():
            self._parts.append(part)
            if self._listen is not None:
                self._tell(part, self._listen)

    def _tell(self, part: types.Part, listen: OnDelta) -> None:
        if part.text:
            listen(Delta(kind="reasoning" if part.thought else "text", text=part.text))
        elif part.function_call is not None:
            for call in _read_parts([part], self._provider):
                if isinstance(call, ToolCall):
                    text = call.arguments
                    listen(Delta(kind="call", index=self._calls, name=call.name, text=text))
            self._calls += 1


def sources(message: ModelMessage) -> list[str]:
    """The sources that the reply is grounded in, one line each."""
    chunks = message.meta.get("grounding", {}).get("grounding_chunks") or ()
    found = [
        chunk.get("web") or chunk.get("retrieved_context") or chunk.get("maps") for chunk in chunks
    ]
    return [f"{source.get('title', '')}: {source.get('uri', '')}" for source in found if source]


def _json(metadata: types.GroundingMetadata | types.UrlContextMetadata) -> dict[str, Any]:
    return metadata.model_dump(mode="json", exclude_none=True)


def _usage(usage: types.GenerateContentResponseUsageMetadata | None) -> Usage:
    if usage is None:
        return Usage(requests=1)
    thoughts = usage.thoughts_token_count or 0
    tools = usage.tool_use_prompt_token_count or 0
    return Usage(
        # What the server's own tools fed to the model counts as input.
        input_tokens=(usage.prompt_token_count or 0) + tools,
        output_tokens=(usage.candidates_token_count or 0) + thoughts,
        cached_tokens=usage.cached_content_token_count or 0,
        reasoning_tokens=thoughts,
        requests=1,
    )


def _read_parts(parts: Sequence[types.Part], provider: str) -> list[ModelPart]:
    """What the model wrote, pieces of a stream joined."""
    read: list[ModelPart] = []
    for part in parts:
        for new in _read_part(part, provider):
            _append(read, new)
    return read


def _append(read: list[ModelPart], new: ModelPart) -> None:
    last = read[-1] if read else None
    if isinstance(new, TextPart) and isinstance(last, TextPart):
        read[-1] = TextPart(last.text + new.text)
    elif isinstance(new, ReasoningPart) and isinstance(last, ReasoningPart) and not last.signature:
        read[-1] = replace(new, text=last.text + new.text)
    else:
        read.append(new)


def _read_part(part: types.Part, provider: str) -> list[ModelPart]:
    signature = _text(part.thought_signature)
    if part.function_call is not None:
        return [_read_call(part.function_call, signature, provider)]
    if part.inline_data is not None and part.inline_data.data is not None:
        kind = part.inline_data.mime_type or "application/octet-stream"
        return [BlobPart(media_type=kind, data=part.inline_data.data)]
    if part.text is not None and part.thought:
        return [ReasoningPart(text=part.text, signature=signature, provider=provider)]
    if part.text is not None:
        return _read_text(part.text, signature, provider)
    payload = part.model_dump(mode="json", exclude_none=True)
    if not payload:
        return []  # something that this SDK does not know, and has left out
    return [ServerToolPart(provider=provider, name=_server_name(part), payload=payload)]


def _read_text(text: str, signature: str | None, provider: str) -> list[ModelPart]:
    parts: list[ModelPart] = [TextPart(text)] if text else []
    if signature:
        meta = {"signs_text": True}
        parts.append(ReasoningPart(text="", signature=signature, provider=provider, meta=meta))
    return parts


def _read_call(call: types.FunctionCall, signature: str | None, provider: str) -> ToolCall:
    return ToolCall(
        call_id=call.id or new_call_id(),
        name=call.name or "",
        arguments=json.dumps(call.args or {}, ensure_ascii=False),
        meta={"thought_signature": signature, "provider": provider} if signature else {},
    )


def _server_name(part: types.Part) -> str:
    used = part.tool_call or part.tool_response
    if used is not None and used.tool_type is not None:
        return used.tool_type.value.lower()
    return "code_execution" if part.executable_code or part.code_execution_result else "unknown"


def _text(signature: bytes | None) -> str | None:
    return base64.b64encode(signature).decode() if signature else None
