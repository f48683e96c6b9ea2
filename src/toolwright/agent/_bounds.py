"""Keep outputs small enough for the model to read; the rest is kept for it to page through."""

import itertools
import json
import logging
from collections.abc import Iterator
from typing import Any

from toolwright.agent._spill import Spill
from toolwright.backends import first_bytes, fitting, format_size
from toolwright.messages import STORED_AS, Content, TextPart, jsonable
from toolwright.tools import FunctionTool, MaxOutput, Tool, ToolContext

__all__ = ["READ_OUTPUT", "bounded", "bounded_data", "letters_of", "read_output_tool"]

READ_OUTPUT = "read_output"
"""The tool that pages through what was kept; no agent can have another one of that name."""

logger = logging.getLogger("toolwright")
PAGE_LINES = 500
PIECE = 4000
"""Characters of a long line that are shown as one line."""
_PAGE = MaxOutput(bytes=MaxOutput().bytes - 200, lines=MaxOutput().lines - 2)
"""What a page may hold, so that it and the note below it are not cut again."""


def bounded(content: tuple[Content, ...], limit: MaxOutput, spill: Spill) -> tuple[Content, ...]:
    """`content`, or when its text is too long, its beginning and a note where the rest is."""
    texts = [part.text for part in content if isinstance(part, TextPart)]
    text = texts[0] if len(texts) == 1 else "\n".join(texts)
    if _fits(text, limit):
        return content
    others = (part for part in content if not isinstance(part, TextPart))
    return (TextPart(_cut(text, limit, spill)), *others)


def bounded_data(data: Any, limit: MaxOutput, spill: Spill) -> Any:
    """`data` as plain JSON, or when that is too long, the name under which it is kept."""
    if data is None:
        return None
    plain = jsonable(data)
    # Python's own writer: it takes lone surrogates, and escapes them.
    text = json.dumps(plain)
    if len(text) <= limit.bytes:
        return plain
    try:
        return {STORED_AS: spill.write(text, suffix="json"), "bytes": len(text)}
    except OSError as error:
        logger.warning("Large data could not be kept: %s", error)
        return {"lost": f"{type(error).__name__}: it could not be kept", "bytes": len(text)}


def letters_of(data: Any, enough: int) -> int:
    """About how many letters data has as JSON; no more of it is looked at when there are `enough`."""
    size, todo = 0, [data]
    while todo and size <= enough:
        match todo.pop():
            case str() as text:
                size += len(text) + 8
            case dict() as found:
                todo += found.values()
                size += sum(len(key) for key in found if isinstance(key, str)) + 8
            case list() | tuple() as several:
                todo += several
            case _:
                size += 8
    return size


def _fits(text: str, limit: MaxOutput) -> bool:
    # A character is at most four bytes, so a short text needs no encoding to be measured.
    if len(text) * 4 > limit.bytes and _size(text) > limit.bytes:
        return False
    return text.count("\n") < limit.lines


def _cut(text: str, limit: MaxOutput, spill: Spill) -> str:
    pieces = _pieces(text)
    first = list(itertools.islice(pieces, limit.lines))
    shown = first[: fitting(first, limit.bytes)]
    # Not even one line fits: its first characters are better than nothing.
    said = "\n".join(shown) or first_bytes(first[0], limit.bytes)
    hit = f"{limit.lines} lines" if len(shown) == limit.lines else format_size(limit.bytes)
    count = len(first) + _count(pieces)
    cut = f"{said}\n[Output truncated at {hit}: {len(shown)} of {count} lines."
    try:
        name = spill.write(text)
    except OSError as error:
        # The tool has run: what can be shown of its result must not be lost as well.
        logger.warning("A long output could not be kept: %s", error)
        return f"{cut} The rest could not be kept and is lost: {type(error).__name__}.]"
    return (
        f"{cut} Full output saved as {name!r}; "
        f"go on with read_output(name={name!r}, offset={len(shown)}).]"
    )


def _pieces(text: str) -> Iterator[str]:
    """The lines of `text`; a line too long to be shown at once counts as several."""
    # One by one: a text may be nothing but lines, and a list of them many times as large.
    start, end = 0, 0
    while end >= 0:
        end = text.find("\n", start)
        line_end = end if end >= 0 else len(text)
        yield from (
            text[at : min(at + PIECE, line_end)]
            for at in range(start, max(start + 1, line_end), PIECE)
        )
        start = end + 1


def _count(pieces: Iterator[str]) -> int:
    return sum(1 for _ in pieces)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def read_output_tool(spill: Spill) -> Tool:
    """The tool that pages through what was kept."""

    def read_output(
        name: str, tool_context: ToolContext, offset: int = 0, limit: int = PAGE_LINES
    ) -> str:
        """Read more of an output that was truncated.

        Args:
            name: The name from the truncation note.
            offset: The line to start from, counted from 0.
            limit: How many lines to read.
        """
        tool_context.repeats_untrusted = tool_context.run.is_tainted
        lines, start = _pieces(spill.read(name)), max(0, offset)
        skipped = _count(itertools.islice(lines, start))
        within = list(itertools.islice(lines, min(max(1, limit), _PAGE.lines)))
        page = within[: fitting(within, _PAGE.bytes)]
        end, count = start + len(page), skipped + len(within) + _count(lines)
        note = f"\n[{count - end} more lines; use offset={end}]" if end < count else ""
        return "\n".join(page) + note

    return FunctionTool(read_output, name=READ_OUTPUT, effects="read")
