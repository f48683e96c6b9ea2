"""Files that are shown to the model as images."""

from toolwright.backends import format_size
from toolwright.errors import ToolError
from toolwright.messages import BlobPart, media_type_of

__all__ = ["image_part"]

_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What every model that sees images can read."""
_MAX_BYTES = 10 * 1024 * 1024


def image_part(path: str, data: bytes) -> BlobPart | None:
    """The image in `data`, if it is one, whatever its name; `ToolError` when it is too large."""
    media_type = media_type_of(data)
    # A text may begin as a GIF does, but every image has a zero byte in its sizes.
    if media_type not in _SHOWN or b"\0" not in data:
        return None
    if len(data) > _MAX_BYTES:
        raise ToolError(
            f"{path} is an image of {format_size(len(data))}; at most {format_size(_MAX_BYTES)} "
            "can be shown. Make a smaller copy first."
        )
    return BlobPart(media_type=media_type, data=data, name=path.rpartition("/")[2])
