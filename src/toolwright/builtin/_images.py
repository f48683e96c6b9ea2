"""Files that are shown to the model as images."""

from toolwright.backends import format_size
from toolwright.errors import ToolError
from toolwright.messages import BlobPart

__all__ = ["image_part"]

_MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_MAX_BYTES = 10 * 1024 * 1024


def image_part(path: str, data: bytes) -> BlobPart | None:
    """The image in `data`, if the name says that it is one; `ToolError` when it is too large."""
    name = path.rpartition("/")[2]
    media_type = _MEDIA_TYPES.get("." + name.lower().rpartition(".")[2])
    if media_type is None:
        return None
    if len(data) > _MAX_BYTES:
        raise ToolError(
            f"{path} is an image of {format_size(len(data))}; at most {format_size(_MAX_BYTES)} "
            "can be shown. Make a smaller copy first."
        )
    return BlobPart(media_type=media_type, data=data, name=name)
