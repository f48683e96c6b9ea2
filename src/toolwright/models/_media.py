"""Ways to write an image or a file into a request."""

import base64

from toolwright.messages import BlobPart

__all__ = ["as_base64", "as_data_url", "as_note", "as_text", "is_text"]

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
    where = blob.url or f"{len(blob.data or b'')} bytes"
    name = f" {blob.name!r}" if blob.name else ""
    return f"[{blob.media_type} file{name}, {where}: this model cannot be shown it]"
