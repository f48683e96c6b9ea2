"""Call a tool from outside only as it was listed: what was judged and approved is what runs."""

from typing import Any

from toolwright.errors import ToolError
from toolwright.tools import digest_of

__all__ = ["refuse_changed"]


def refuse_changed(name: str, whose: str, listed: Any, now: Any) -> None:
    """`ToolError` when a source says something else of a tool, or nothing, than when it listed it.

    Compared as JSON: to Python, 1 and True are the same.
    """
    if now is None:
        raise ToolError(f"{name!r} was not called: {whose} no longer has it.")
    if now is not listed and digest_of(now) != digest_of(listed):
        raise ToolError(
            f"{name!r} was not called: {whose} has changed it since it was listed. "
            "Look at it again before you call it."
        )
