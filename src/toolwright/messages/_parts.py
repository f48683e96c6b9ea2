"""The pieces a message is made of."""

import base64
import mimetypes
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from toolwright._settings import check_fields, explained
from toolwright.messages._base64 import base64_text

__all__ = ["BlobPart", "Content", "ReasoningPart", "ServerToolPart", "TextPart", "ToolCall"]


@dataclass(frozen=True, slots=True)
class TextPart:
    """Plain text.

    Args:
        text: The text.
        source: Where it is from, when whoever says it only passes it on: what a page or a file says
            is not what the person asks for.
    """

    text: str
    kind: Literal["text"] = "text"
    source: str | None = None

    def __post_init__(self) -> None:
        if type(self.text) is not str or self.source is not None or self.kind != "text":
            check_fields(self)


def _from_base64(data: Any) -> Any:
    if not isinstance(data, str):
        return data
    standard = data.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)


_Bytes = Annotated[
    bytes,
    # Pydantic's own writes the alphabet for addresses, which browsers refuse in `data:` URLs.
    PlainSerializer(base64_text, return_type=str, when_used="json"),
    BeforeValidator(_from_base64),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]
"""Bytes that travel as standard base64; logs that have the alphabet for addresses are read too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobPart:
    """An image, a sound, a document: bytes in `data`, or a `url` where they can be had."""

    media_type: str
    data: _Bytes | None = None
    url: str | None = None
    name: str | None = None
    kind: Literal["blob"] = "blob"

    @property
    def text(self) -> str | None:
        """The bytes as text; None where there are none, or where they are not UTF-8."""
        try:
            return None if self.data is None else self.data.decode()
        except UnicodeDecodeError:
            return None

    @classmethod
    def from_path(cls, path: str | Path) -> "BlobPart":
        """Read a file; its media type is guessed from its name."""
        path = Path(path)
        guessed, _ = mimetypes.guess_type(path.name)
        media_type = guessed or "application/octet-stream"
        return cls(media_type=media_type, data=path.read_bytes(), name=path.name)


BlobPart.__init__ = explained(BlobPart.__init__)  # type: ignore[method-assign]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningPart:
    """What the model thought; with `signature` and `provider` it can be sent back unchanged."""

    text: str
    signature: str | None = None
    provider: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    kind: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerToolPart:
    """Something the provider ran on its side (a search, code): kept so that it can be sent back."""

    provider: str
    name: str
    payload: dict[str, Any]
    text: str = ""
    """What a person may be shown of it."""
    kind: Literal["server_tool"] = "server_tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The model asks for a tool; `arguments` is the JSON text as the model wrote it."""

    call_id: str
    name: str
    arguments: str = "{}"
    meta: dict[str, Any] = field(default_factory=dict)
    """What the provider wants back with the result (a thought signature, an item id)."""
    called_as: str | None = None
    """The tool by which the model has called it, where that was another: `call_tool`."""
    kind: Literal["call"] = "call"


Content = TextPart | BlobPart
"""What people and tools put in a message; models add reasoning and calls."""
