"""The lines that go to and come from a plugin, and what is wrong with those that break the rules."""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

from toolwright.messages import BlobPart, Content, TextPart, ToolSpec
from toolwright.sources._counted import MOST_PARTS, note_on_cut
from toolwright.sources._usable import LONGEST_DESCRIPTION

__all__ = [
    "FEATURES",
    "VERSION",
    "BadMessage",
    "Hello",
    "call_line",
    "cancel_line",
    "init_line",
    "read_call_id",
    "read_content",
    "read_hello",
    "read_message",
]

VERSION = 2
"""Version 1 is `init`, `call` and `result`; a plugin that names no version speaks that."""
FEATURES = ("parallel", "progress", "cancel", "log")
"""What version 2 adds; each is used only when the plugin has said that it knows it."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BadMessage(ValueError):
    """A plugin wrote something that the protocol does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """What a plugin answered to `init`."""

    tools: tuple[ToolSpec, ...]
    version: int = 1
    features: frozenset[str] = frozenset()


def init_line() -> bytes:
    """The first line. What old plugins do not know in it, they skip."""
    return _line({"type": "init", "tools": [], "version": VERSION, "features": list(FEATURES)})


def call_line(call_id: str, name: str, params: dict[str, Any]) -> bytes:
    """Run a tool."""
    return _line({"type": "call", "name": name, "call_id": call_id, "params": params})


def cancel_line(call_id: str) -> bytes:
    """Nobody waits for this call any more."""
    return _line({"type": "cancel", "call_id": call_id})


def read_message(line: bytes) -> dict[str, Any]:
    """One line as a message with a `type`."""
    try:
        message = json.loads(line)
    except ValueError:
        raise BadMessage(
            f"a line that is not JSON: {_short(line)} (a plugin's own output belongs on stderr)"
        ) from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise BadMessage(f'a line without a "type": {_short(line)}')
    return message


def read_hello(message: dict[str, Any]) -> Hello:
    """The plugin's answer to `init`."""
    tools = message.get("tools")
    if message["type"] != "init" or not isinstance(tools, list):
        raise BadMessage(
            f'{_short(message)} where {{"type": "init", "tools": […]}} was expected first'
        )
    specs = tuple(_read_tool(tool) for tool in tools)
    version = message.get("version", 1)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BadMessage(f'"version" {version!r} where a whole number was expected')
    offered = message.get("features") or []
    if not isinstance(offered, list):
        raise BadMessage(f'"features" that are not a list: {_short(message)}')
    features = frozenset(feature for feature in FEATURES if feature in offered)
    return Hello(tools=specs, version=version, features=features)


def _read_tool(tool: Any) -> ToolSpec:
    name = tool.get("name") if isinstance(tool, dict) else None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadMessage(
            f"a tool without a usable name: {_short(tool)} (up to 64 letters, digits, _ or -)"
        )
    parameters = tool.get("parameters") or {"type": "object", "properties": {}}
    if not isinstance(parameters, dict) or parameters.get("type", "object") != "object":
        raise BadMessage(f'tool {name!r} whose "parameters" are not a JSON Schema of an object')
    return ToolSpec(
        name=name,
        description=str(tool.get("description") or "")[:LONGEST_DESCRIPTION],
        parameters={"type": "object", "properties": {}, **parameters},
    )


def read_call_id(message: dict[str, Any]) -> str:
    """Which call a message is about."""
    call_id = message.get("call_id")
    if not isinstance(call_id, str):
        raise BadMessage(f'a {message["type"]} without a "call_id": {_short(message)}')
    return call_id


def read_content(message: dict[str, Any]) -> tuple[Content, ...]:
    """The `content` of a result as parts."""
    content = message.get("content") or []
    if not isinstance(content, list):
        raise BadMessage(f'"content" that is not a list: {_short(message)}')
    parts = tuple(_read_part(part) for part in content[:MOST_PARTS])
    return parts if len(content) <= MOST_PARTS else (*parts, TextPart(note_on_cut(len(content))))


def _read_part(part: Any) -> Content:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return TextPart(part["text"])
    if kind in ("image", "audio", "file") and isinstance(part.get("data"), str):
        return BlobPart(
            media_type=str(part.get("mime_type") or "application/octet-stream"),
            data=_decoded(part["data"]),
            name=str(part["name"]) if part.get("name") else None,
        )
    raise BadMessage(
        f'content {_short(part)} that is neither {{"type": "text", "text": …}} '
        'nor {"type": "image", "data": base64, "mime_type": …}'
    )


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise BadMessage(f"content whose data is not base64: {error}") from None


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")


def _short(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else json.dumps(value)
    return repr(text if len(text) <= 120 else f"{text[:120]}…")
