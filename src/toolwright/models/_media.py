"""Ways to write an image or a file into a request."""

import base64
from collections.abc import Mapping
from typing import Any

from toolwright.messages import BlobPart

__all__ = [
    "MADE",
    "as_base64",
    "as_data_url",
    "as_made",
    "as_note",
    "as_text",
    "is_note",
    "is_text",
]

MADE = "(What you made:)"
"""Stands before the files of a model's own turn where only the user can show them."""
_CANNOT = ": this model cannot be shown it]"

_LONGEST_URL = 2_000
"""One with the data in it is no name."""
_TEXT_TYPES = ("application/json", "application/xml", "application/yaml", "application/x-yaml")


def as_base64(blob: BlobPart) -> str:
    """The bytes as base64 text."""
    return base64.b64encode(blob.data or b"").decode()


def as_data_url(blob: BlobPart) -> str:
    """The blob's own address, or its bytes as a `data:` URL."""
    return blob.url or f"data:{blob.media_type};base64,{as_base64(blob)}"


def is_text(blob: BlobPart) -> bool:
    """Whether the bytes are here and can be read as text."""
    return blob.data is not None and (
        blob.media_type.startswith("text/") or blob.media_type in _TEXT_TYPES
    )


def as_text(blob: BlobPart) -> str:
    """A text file's content, under its name."""
    text = (blob.data or b"").decode("utf-8", errors="replace")
    return f"{blob.name}:\n{text}" if blob.name else text


def as_note(blob: BlobPart) -> str:
    """What stands in for a blob that the provider does not take; the model can then say so."""
    return f"[{_named(blob)}{_CANNOT}"


def is_note(piece: Mapping[str, Any]) -> bool:
    """Whether a piece of content is nothing but such a note."""
    return str(piece.get("text", "")).endswith(_CANNOT)


def as_made(blob: BlobPart, shown: bool) -> str:
    """What stands in a model's own turn for a file that it made."""
    return f"[{_named(blob)}: shown below]" if shown else as_note(blob)


def _named(blob: BlobPart) -> str:
    is_short = blob.url is not None and len(blob.url) <= _LONGEST_URL
    where = blob.url if is_short else f"{len(blob.data or blob.url or '')} bytes"
    name = f" {blob.name!r}" if blob.name else ""
    return f"{blob.media_type} file{name}, {where}"
