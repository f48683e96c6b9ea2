"""Turn whatever a tool returned into an output."""

import dataclasses
from typing import Any

from toolwright.messages import BlobPart, Content, TextPart, json_text, jsonable
from toolwright.tools._tool import Output

__all__ = ["to_output"]

NOTHING = "(no output)"


def to_output(value: Any) -> Output:
    """An output for the model.

    Text stays as it is; `(display, data)` shows the first to the model and keeps the second for
    people and programs; images and files become parts; everything else becomes JSON.
    """
    if isinstance(value, str):
        return Output(text=value, value=value)
    if isinstance(value, Output):
        return value
    if value is None:
        return Output(text=NOTHING)
    if (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], str | TextPart | BlobPart)
    ):
        return dataclasses.replace(to_output(value[0]), data=jsonable(value[1]), value=value[1])
    if (parts := _as_parts(value)) is not None:
        return Output(parts=parts, value=value)
    return Output(text=json_text(value), value=value)


def _as_parts(value: Any) -> tuple[Content, ...] | None:
    if isinstance(value, TextPart | BlobPart):
        return (value,)
    if isinstance(value, bytes):
        return (BlobPart(media_type=_sniff(value), data=value),)
    if hasattr(value, "_repr_png_") and (png := value._repr_png_()):
        return (BlobPart(media_type="image/png", data=png),)
    if isinstance(value, list | tuple) and any(
        isinstance(item, BlobPart | TextPart) for item in value
    ):
        return tuple(part for item in value for part in to_output(item).content)
    return None


def _sniff(data: bytes) -> str:
    for magic, media_type in (
        (b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"),
        (b"%PDF", "application/pdf"), (b"RIFF", "image/webp"),
    ):  # fmt: skip
        if data.startswith(magic):
            return media_type
    return "application/octet-stream"
