"""Our tools and results as MCP says them."""

import base64
import json
import typing
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

import mcp_types as types
from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUserError

from toolwright.messages import (
    BlobPart,
    Content,
    TextPart,
    ToolResult,
    sendable_json,
    sendable_text,
)
from toolwright.tools import Tool

__all__ = ["call_result", "listed_tool"]


def listed_tool(tool: Tool) -> types.Tool:
    """A tool as clients see it in a listing."""
    return types.Tool(
        name=tool.name,
        description=tool.spec.description_with_examples,
        input_schema=tool.spec.parameters,
        output_schema=output_schema(tool),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.effects == "read",
            destructive_hint=tool.effects == "destructive",
            idempotent_hint=tool.idempotent or tool.effects == "read",
        ),
    )


def output_schema(tool: Tool) -> dict[str, Any] | None:
    """JSON Schema of a tool's structured output; only objects count, as MCP wants it."""
    schema = tool.spec.returns or _returned(getattr(tool, "func", None))
    return schema if schema is not None and schema.get("type") == "object" else None


def _returned(func: Callable[..., Any] | None) -> dict[str, Any] | None:
    """The schema of what a function is annotated to return, if that is a record with fields."""
    try:
        hint = typing.get_type_hints(func).get("return") if func is not None else None
        return TypeAdapter(hint).json_schema(mode="serialization") if _is_record(hint) else None
    except (TypeError, NameError, PydanticUserError):
        return None


def _is_record(hint: Any) -> bool:
    if not isinstance(hint, type) or hint.__module__.startswith("toolwright."):
        return False  # Our own parts and outputs are content, not data.
    return issubclass(hint, BaseModel) or is_dataclass(hint) or typing.is_typeddict(hint)


def call_result(tool: Tool, result: ToolResult) -> types.CallToolResult:
    """A call's result; what did not go well is marked as an error that the model reads."""
    failed = result.status in ("error", "denied")
    return types.CallToolResult(
        content=[_block(part) for part in result.content],
        structured_content=None if failed else _structured(tool, result),
        is_error=failed,
    )


def _structured(tool: Tool, result: ToolResult) -> dict[str, Any] | None:
    value = result.data
    if not isinstance(value, dict) and output_schema(tool) is not None:
        try:
            value = json.loads(result.own_text)
        except ValueError:
            return None
    return sendable_json(value) if isinstance(value, dict) else None


def _block(part: Content) -> Any:
    if isinstance(part, TextPart):
        return types.TextContent(text=sendable_text(part.text))
    if part.data is None:
        return types.TextContent(text=sendable_text(f"{part.media_type} at {part.url}"))
    data = base64.b64encode(part.data).decode()
    kind = part.media_type.partition("/")[0]
    if kind == "image":
        return types.ImageContent(data=data, mime_type=part.media_type)
    if kind == "audio":
        return types.AudioContent(data=data, mime_type=part.media_type)
    return types.EmbeddedResource(resource=_blob_resource(part, data))


def _blob_resource(part: BlobPart, data: str) -> types.BlobResourceContents:
    return types.BlobResourceContents(
        uri=sendable_text(f"attachment:///{part.name or 'file'}"),
        mime_type=part.media_type,
        blob=data,
    )
