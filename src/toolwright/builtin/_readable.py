"""Bytes of any kind as parts that a model can read."""

from toolwright.messages import BlobPart, Content, TextPart

__all__ = ["readable"]

_SEEN_BY_MODELS = ("image/", "audio/", "video/", "application/pdf")


def readable(name: str, media_type: str, data: bytes) -> tuple[Content, ...]:
    """A heading and the content: text as text, what models can see as it is, the rest as its size."""
    heading = f"[{name}: {media_type}]"
    if media_type.startswith(_SEEN_BY_MODELS) and media_type != "image/svg+xml":
        return TextPart(heading), BlobPart(media_type=media_type, data=data, name=name)
    try:
        return (TextPart(f"{heading}\n{data.decode()}"),)
    except UnicodeDecodeError:
        told = f"({len(data)} bytes that are not text, so they cannot be shown here)"
        return (TextPart(f"{heading}\n{told}"),)
