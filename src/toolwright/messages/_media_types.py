"""What bytes are, by how they begin: names and headers only say what somebody thought."""

import re

__all__ = ["media_type_of"]

_BEGINNINGS = (
    (rb"\x89PNG", "image/png"),
    (rb"\xff\xd8\xff", "image/jpeg"),
    (rb"GIF8[79]a", "image/gif"),
    (rb"RIFF.{4}WEBP", "image/webp"),
    (rb"RIFF.{4}WAVE", "audio/wav"),
    (rb"ID3[\x02-\x04]|\xff[\xf2\xf3\xfa\xfb]", "audio/mpeg"),
    (rb"OggS", "audio/ogg"),
    (rb"fLaC", "audio/flac"),
    (rb".{4}ftypavif", "image/avif"),
    (rb".{4}ftyphei[cx]", "image/heic"),
    (rb".{4}ftypM4A", "audio/mp4"),
    (rb".{4}ftyp", "video/mp4"),
    (rb"%PDF-", "application/pdf"),
)
_KNOWN = [(re.compile(beginning, re.DOTALL), found) for beginning, found in _BEGINNINGS]


def media_type_of(data: bytes) -> str | None:
    """The media type of an image, a sound, a film or a PDF; None for anything else."""
    return next((found for beginning, found in _KNOWN if beginning.match(data)), None)
