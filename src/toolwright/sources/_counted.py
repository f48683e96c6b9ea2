"""How many parts of a result are read."""

from typing import Any

__all__ = ["MOST_PARTS", "cut_parts", "note_on_cut"]

MOST_PARTS = 1000
"""Of a result: some ten thousand are read in a second, and nothing else runs meanwhile."""
_PARTS = ("content", "contents", "messages")


def cut_parts(result: dict[str, Any]) -> None:
    """Leave so many parts of a result as are read in no time, and a note on the others."""
    for key in _PARTS:
        parts = result.get(key)
        if isinstance(parts, list) and len(parts) > MOST_PARTS:
            result[key] = parts[:MOST_PARTS]
            if key == "content":
                result[key].append({"type": "text", "text": note_on_cut(len(parts))})


def note_on_cut(count: int) -> str:
    """What the model is told of `count` parts that are not all shown."""
    return f"({count - MOST_PARTS:,} more parts are left out.)"
