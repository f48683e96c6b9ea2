"""What a terminal shows of pictures, sounds and files: a line for each, with its name, type and size."""

from collections.abc import Iterable
from typing import Any

from toolwright.backends import format_size
from toolwright.messages import BlobPart, TextPart, visible

__all__ = ["all_parts", "named_files"]


def named_files(parts: Iterable[Any]) -> list[str]:
    """The parts that are no text, one line each."""
    return [_named(part) for part in parts if isinstance(part, BlobPart)]


def all_parts(parts: Iterable[Any]) -> str:
    """Text as it is and files by name, in their order."""
    shown = (part.text if isinstance(part, TextPart) else _named(part) for part in parts)
    return "\n".join(shown)


def _named(part: BlobPart) -> str:
    where = part.url if part.data is None else format_size(len(part.data))
    known = ", ".join(filter(None, (part.media_type, where)))
    text = f"[{part.name}: {known}]" if part.name else f"[{known}]"
    return visible(text, lines=False)
