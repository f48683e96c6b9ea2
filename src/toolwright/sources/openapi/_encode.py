"""Make the bytes of a request body from the model's arguments."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolwright.errors import ToolError
from toolwright.sources.openapi._bodies import Body
from toolwright.sources.openapi._styles import plain_text, query_pairs
from toolwright.tools import Args, ToolContext

__all__ = ["Payload", "encode_body"]

_FILE_KEYS = ("text", "base64", "artifact")
FilePart = tuple[str | None, bytes, str]
"""Filename, content and media type, as httpx2 wants them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """A body in httpx2's terms: `content` with its type, or `files` that httpx2 makes multipart of."""

    content: bytes | None = None
    media_type: str | None = None
    files: list[tuple[str, FilePart]] = field(default_factory=list)


# httpx2 sends no body at all when there is nothing in it, but the server waits for one.
_NO_PARTS = Payload(content=b"--none--\r\n", media_type="multipart/form-data; boundary=none")


async def encode_body(body: Body | None, args: Args, ctx: ToolContext) -> Payload:
    """The body these arguments make; an empty one when all of it is optional and none was given."""
    value = _value(body, args) if body else None
    if body is None or value is None:
        return Payload()
    match body.kind:
        case "json":
            return Payload(content=_json(value), media_type=body.media_type)
        case "form":
            text = "&".join(f"{key}={value}" for key, value in _form_pairs(body, value))
            return Payload(content=text.encode(), media_type=body.media_type)
        case "multipart":
            return await _multipart(body, value, ctx)
        case "text":
            return Payload(content=plain_text(value).encode(), media_type=body.media_type)
        case "binary":
            _, content, media_type = await _file("body", value, ctx)
            content = base64.b64encode(content) if body.as_base64 else content
            fixed = "*" not in body.media_type
            return Payload(content=content, media_type=body.media_type if fixed else media_type)


def _value(body: Body, args: Args) -> Any:
    if body.argument is not None:
        return args.get(body.argument)
    given = {f.name: args[f.argument] for f in body.fields if f.argument in args}
    return given if given or body.required else None


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _form_pairs(body: Body, value: Any) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, item in _fields(value):
        hints = body.encoding.get(name, {})
        style, explode = hints.get("style"), hints.get("explode", True)
        if isinstance(style, str):
            pairs += query_pairs(name, item, style=style, explode=explode is True)
        else:
            # An object has no form of its own; without a style it is sent as JSON.
            flat = plain_text(item) if isinstance(item, Mapping) else item
            pairs += query_pairs(name, flat)
    return pairs


async def _multipart(body: Body, value: Any, ctx: ToolContext) -> Payload:
    files = {f.name for f in body.fields if f.is_file}
    parts: list[tuple[str, FilePart]] = []
    for name, item in _fields(value):
        for one in item if isinstance(item, list) else [item]:
            if name in files:
                part = await _file(name, one, ctx)
            else:
                part = None, plain_text(one).encode(), _part_type(body, name, one)
            parts.append((name, part))
    return Payload(files=parts) if parts else _NO_PARTS


def _part_type(body: Body, name: str, value: Any) -> str:
    declared = body.encoding.get(name, {}).get("contentType")
    if isinstance(declared, str) and "*" not in declared and "," not in declared:
        return declared
    return "text/plain" if isinstance(value, str | int | float | bool) else "application/json"


async def _file(name: str, value: Any, ctx: ToolContext) -> FilePart:
    """A file the model handed over by its text, in base64, or by the name of an artifact."""
    if isinstance(value, str):
        value = {"text": value}
    given = [key for key in _FILE_KEYS if key in value]
    if len(given) != 1:
        raise ToolError(f"{name!r} is a file: give exactly one of {', '.join(_FILE_KEYS)}.")
    content, media_type = await _content(name, given[0], value[given[0]], ctx)
    filename = value.get("filename") or value.get("artifact", name)
    return filename, content, _header_safe(value.get("media_type") or media_type)


async def _content(name: str, source: str, text: str, ctx: ToolContext) -> tuple[bytes, str]:
    if source == "text":
        return text.encode(), "text/plain"
    if source == "base64":
        try:
            return base64.b64decode(text, validate=True), "application/octet-stream"
        except (binascii.Error, ValueError) as error:
            raise ToolError(f"{name!r} is not base64: {error}.") from error
    artifact = await ctx.load_artifact(text)
    if artifact is None or artifact.data is None:
        known = ", ".join(await ctx.list_artifacts()) or "none"
        raise ToolError(f"There is no artifact {text!r} to send; there are: {known}.")
    return artifact.data, artifact.media_type


def _header_safe(media_type: str) -> str:
    if not media_type.isascii() or not media_type.isprintable():
        raise ToolError(f"{media_type!r} is not a media type; use one such as image/png.")
    return media_type


def _fields(value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        raise ToolError(f"The body must be an object with named fields; got {value!r}.")
    return [(name, item) for name, item in value.items() if item is not None]
