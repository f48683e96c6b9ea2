"""What a request body looks like: its media type, its kind, and which of its parts are files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolwright.sources.openapi._document import BrokenRef, Document
from toolwright.sources.openapi._values import as_mapping

__all__ = ["FILE_SCHEMA", "Body", "BodyField", "BodyKind", "Media", "choose_media", "is_file"]

Hints = Mapping[str, Mapping[str, str | bool]]
"""How the fields of a body are written that are not written as others of their type are."""
BodyKind = Literal["json", "form", "multipart", "text", "binary"]
_PREFERENCE: tuple[BodyKind, ...] = ("json", "form", "multipart", "text", "binary")
_HINTS = ("contentType", "explode", "style")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+*-]+/[\w!#$&^.+*-]+\Z")

FILE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A file. Give its content as exactly one of text, base64 or artifact.",
    "properties": {
        "text": {"type": "string", "description": "The content of a text file."},
        "base64": {"type": "string", "description": "The content of a binary file, in base64."},
        "artifact": {"type": "string", "description": "The name of a saved artifact to send."},
        "filename": {"type": "string", "description": "The name the server is told."},
        "media_type": {"type": "string", "description": "Such as image/png."},
    },
    "additionalProperties": False,
}
"""How the model hands over a file. Never by a path: this machine's files are not its to send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """One of the media types an operation accepts."""

    media_type: str
    kind: BodyKind
    schema: Any
    encoding: Hints

    @property
    def as_base64(self) -> bool:
        """Whether a binary body travels as base64 text."""
        return as_mapping(self.schema).get("format") == "byte"

    @property
    def has_fields(self) -> bool:
        """Whether its properties can be given one by one."""
        return self.kind in ("json", "form", "multipart")


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyField:
    """One property of a body that is an argument of its own."""

    argument: str
    name: str
    is_file: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """How the body of a request is made from arguments: one whole, or field by field."""

    media_type: str
    kind: BodyKind
    required: bool
    argument: str | None
    fields: tuple[BodyField, ...]
    encoding: Hints
    as_base64: bool = False


def choose_media(raw: Mapping[str, Any] | None) -> Media | None:
    """The media type that is easiest for a model to write, among those the operation accepts."""
    content = as_mapping(as_mapping(raw).get("content"))
    offered = [_media(str(name), value) for name, value in content.items()]
    known = [media for media in offered if media is not None]
    return min(known, key=lambda media: _PREFERENCE.index(media.kind), default=None)


def _media(name: str, raw: Any) -> Media | None:
    media_type = name.partition(";")[0].strip().lower()
    if not _MEDIA_TYPE.match(media_type):
        return None
    raw = as_mapping(raw)
    kind = _kind(media_type, raw.get("schema"))
    return Media(
        media_type="application/json" if kind == "json" and "*" in media_type else media_type,
        kind=kind,
        schema=raw.get("schema"),
        encoding=_hints(as_mapping(raw.get("encoding"))),
    )


def _hints(encoding: Mapping[Any, Any]) -> Hints:
    found = {str(name): as_mapping(hints) for name, hints in encoding.items()}
    return {
        name: {hint: hints[hint] for hint in _HINTS if isinstance(hints.get(hint), str | bool)}
        for name, hints in found.items()
    }


def _kind(media_type: str, schema: Any) -> BodyKind:
    if media_type.endswith(("/json", "+json")) or media_type in ("*/*", "application/*"):
        return "json"
    if media_type == "application/x-www-form-urlencoded":
        return "form"
    if media_type.startswith("multipart/"):
        return "multipart"
    if media_type.startswith("text/") or media_type.endswith(("xml", "yaml", "graphql", "csv")):
        return "text"
    is_object = as_mapping(schema).get("type") in ("object", "array")
    return "json" if is_object else "binary"


def is_file(raw: Any, home: Document) -> Literal["no", "one", "many"]:
    """Whether a part of a multipart body is a file, or a list of files."""
    try:
        raw, home = home.follow(raw)
    except BrokenRef:
        return "no"
    if not isinstance(raw, Mapping):
        return "no"
    if raw.get("type") == "array":
        return "many" if is_file(raw.get("items"), home) == "one" else "no"
    binary = raw.get("format") == "binary" or "contentMediaType" in raw
    return "one" if binary and raw.get("type", "string") == "string" else "no"
