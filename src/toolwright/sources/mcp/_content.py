"""What MCP servers send, as our outputs and parts."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mcp_types as types

from toolwright.messages import BlobPart, Content, Effects, TextPart
from toolwright.tools import Output

__all__ = ["effects_of", "output_of", "part_of", "passed_on", "resource_part"]

_BLANKS = dict.fromkeys(map(ord, " \t\r\n\f\v"))
"""What may break base64 into lines."""


def output_of(result: types.CallToolResult) -> Output:
    """A call's result: text and media for the model, structured content for programs."""
    parts = [part_of(block) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [TextPart(json.dumps(result.structured_content, ensure_ascii=False))]
    text, media = _split(parts)
    return Output(
        text=text,
        parts=media,
        data=result.structured_content,
        status="error" if result.is_error else "ok",
        value=result.structured_content,
    )


def part_of(block: Any) -> Content:
    """One block of content as a part."""
    match block:
        case types.TextContent():
            return TextPart(block.text)
        case types.ImageContent() | types.AudioContent():
            return _blob(block.data, block.mime_type)
        case types.EmbeddedResource():
            return resource_part(block.resource)
        case types.ResourceLink():
            about = f" ({block.description})" if block.description else ""
            return TextPart(f"Resource {block.name}: {block.uri}{about}")
        case _:
            return TextPart(block.model_dump_json(by_alias=True, exclude_none=True))


def resource_part(resource: Any) -> Content:
    """The contents of a resource as a part."""
    if isinstance(resource, types.TextResourceContents):
        return TextPart(resource.text)
    return _blob(resource.blob, resource.mime_type or "application/octet-stream", str(resource.uri))


def passed_on(part: Content, source: str) -> Content:
    """Marked as what a server says: whoever puts it into a message does not ask for it by that."""
    return replace(part, source=source) if isinstance(part, TextPart) else part


def effects_of(annotations: types.ToolAnnotations | None) -> Effects:
    """What the server says a tool does to the world.

    The specification lets a tool that says nothing count as destructive. Most servers annotate
    nothing at all, so only a server that annotates the tool is taken at its word.
    """
    if annotations is None:
        return "write"
    if annotations.read_only_hint:
        return "read"
    return "write" if annotations.destructive_hint is False else "destructive"


def _split(parts: Sequence[Content]) -> tuple[str, tuple[Content, ...]]:
    """Plain text if that is all there is; otherwise every part in its place."""
    if all(isinstance(part, TextPart) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, TextPart)), ()
    return "", tuple(parts)


def _blob(data: str, media_type: str, name: str | None = None) -> Content:
    try:
        # Not by words, of which there may be as many as letters, each with its own object.
        decoded = base64.b64decode(data.translate(_BLANKS), validate=True)
        return BlobPart(media_type=media_type, data=decoded, name=name)
    except (binascii.Error, ValueError):
        return TextPart(f"({media_type} that could not be read: its data is not base64)")
