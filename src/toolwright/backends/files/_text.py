"""Read bytes as text so that writing the text gives the same bytes again."""

import codecs
from dataclasses import dataclass

from toolwright.backends.files._rope import Rope
from toolwright.errors import ToolError

__all__ = ["Text", "is_binary", "read_text"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; the longer ones first, because UTF-16's begins UTF-32's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text with all that is needed to write it back: line endings are kept as they are."""

    rope: Rope
    encoding: str = "utf-8"
    mark: bytes = b""
    """The byte order mark in front of it."""

    @property
    def text(self) -> str:
        """All of it as one string."""
        return str(self.rope)

    def to_bytes(self, text: Rope) -> bytes:
        """`text` in this file's encoding, byte order mark included."""
        try:
            return self.mark + text.encoded(self.encoding)
        except UnicodeEncodeError as error:
            wrong = error.object[error.start : error.end][:20]
            raise ToolError(
                f"The file is encoded as {self.encoding}, which has no {wrong!r}; "
                "use characters that it has, or write the whole file anew."
            ) from error


def read_text(data: bytes) -> Text:
    """Text in the encoding that its mark names, else UTF-8, else Latin-1, which fits any bytes."""
    for mark, encoding in _MARKS:
        if data.startswith(mark) and (rope := _decoded(data[len(mark) :], encoding)) is not None:
            return Text(rope=rope, encoding=encoding, mark=mark)
    if (rope := _decoded(data, "utf-8")) is not None:
        return Text(rope=rope)
    return Text(rope=Rope.decoded(data, "latin-1"), encoding="latin-1")


def is_binary(data: bytes) -> bool:
    """Whether this is not text: it has a zero byte, and no mark says that zeros are to be expected."""
    return b"\0" in data and read_text(data).encoding in ("utf-8", "latin-1")


def _decoded(data: bytes, encoding: str) -> Rope | None:
    try:
        return Rope.decoded(data, encoding)
    except UnicodeError:
        return None
