"""Turn whatever a tool returned into an output."""

import dataclasses
import io
from typing import Any

from toolwright.errors import UsageError
from toolwright.messages import BlobPart, Content, TextPart, json_text, jsonable, media_type_of
from toolwright.tools._tool import Output

__all__ = ["to_output"]

NOTHING = "(no output)"
_BYTES = bytes | bytearray | memoryview


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
    if isinstance(value, io.IOBase):
        return to_output(_written_to(value))
    if (parts := _as_parts(value)) is not None:
        return Output(parts=parts, value=value)
    return Output(text=json_text(value), value=value)


def _as_parts(value: Any) -> tuple[Content, ...] | None:
    if isinstance(value, TextPart | BlobPart):
        return (value,)
    if isinstance(value, _BYTES):
        data = bytes(value)
        return (BlobPart(media_type=media_type_of(data) or "application/octet-stream", data=data),)
    if hasattr(value, "_repr_png_") and (png := value._repr_png_()):
        return (BlobPart(media_type="image/png", data=png),)
    if isinstance(value, list | tuple) and any(map(_is_part, value)):
        return tuple(part for item in value for part in to_output(item).content)
    return None


def _is_part(item: Any) -> bool:
    """Whether it makes parts of a list that it is in; other bytes, such as digests, are data."""
    if isinstance(item, io.BytesIO):
        item = item.getvalue()
    is_media = isinstance(item, _BYTES) and media_type_of(bytes(item)) is not None
    return is_media or isinstance(item, BlobPart | TextPart)


def _written_to(file: io.IOBase) -> str | bytes:
    """What a file in memory holds; an open one may be read to its end already, or without one."""
    if isinstance(file, io.BytesIO | io.StringIO):
        return file.getvalue()
    raise UsageError(f"An open file is no output; return what is in it, file.read(). Got {file!r}.")
