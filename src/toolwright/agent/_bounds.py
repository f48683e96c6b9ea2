"""Keep outputs small enough for the model to read; the rest goes to a file it can page through."""

import tempfile
import uuid
from pathlib import Path

from toolwright.errors import ToolError
from toolwright.messages import Content, TextPart
from toolwright.tools import FunctionTool, MaxOutput, Tool

__all__ = ["Spill", "bounded", "read_output_tool"]

PAGE_LINES = 500
PIECE = 4000
"""Characters of a long line that are shown as one line."""


class Spill:
    """A private directory for the long outputs of one session; made when first needed."""

    def __init__(self, session_id: str) -> None:
        self._name = "".join(c if c.isalnum() else "-" for c in session_id)[:40]
        self._directory: Path | None = None

    @property
    def used(self) -> bool:
        """Whether anything has been spilled."""
        return self._directory is not None

    def write(self, text: str) -> str:
        """Keep `text`; the name to read it by."""
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix=f"toolwright-{self._name}-"))
        name = f"output-{uuid.uuid4().hex[:8]}.txt"
        (self._directory / name).write_text(text, encoding="utf-8", errors="replace")
        return name

    def read(self, name: str) -> str:
        """What was kept under `name`."""
        path = None if self._directory is None else self._directory / Path(name).name
        if path is None or not path.is_file():
            raise ToolError(
                f"There is no stored output {name!r}; use a name from a truncation note."
            )
        return path.read_text(encoding="utf-8")


def bounded(content: tuple[Content, ...], limit: MaxOutput, spill: Spill) -> tuple[Content, ...]:
    """`content` with over-long texts cut at a line, and a note where the rest is."""
    if all(not isinstance(part, TextPart) or _fits(part.text, limit) for part in content):
        return content
    return tuple(
        TextPart(_cut(part.text, limit, spill))
        if isinstance(part, TextPart) and not _fits(part.text, limit)
        else part
        for part in content
    )


def _fits(text: str, limit: MaxOutput) -> bool:
    # A character is at most four bytes, so a short text needs no encoding to be measured.
    if len(text) * 4 > limit.bytes and len(text.encode("utf-8", "replace")) > limit.bytes:
        return False
    return text.count("\n") < limit.lines


def _cut(text: str, limit: MaxOutput, spill: Spill) -> str:
    name = spill.write(text)
    pieces = _pieces(text)
    shown: list[str] = []
    room = limit.bytes
    for piece in pieces[: limit.lines]:
        room -= len(piece.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        shown.append(piece)
    return (
        "\n".join(shown) + f"\n[Output truncated: {len(shown)} of {len(pieces)} lines. "
        f"Full output saved as {name!r}; go on with read_output(name={name!r}, offset={len(shown)}).]"
    )


def _pieces(text: str) -> list[str]:
    """The lines of `text`; a line too long to be shown at once counts as several."""
    return [
        line[start : start + PIECE]
        for line in text.split("\n")
        for start in range(0, max(1, len(line)), PIECE)
    ]


def read_output_tool(spill: Spill) -> Tool:
    """The tool that pages through what was spilled."""

    def read_output(name: str, offset: int = 0, limit: int = PAGE_LINES) -> str:
        """Read more of an output that was truncated.

        Args:
            name: The name from the truncation note.
            offset: The line to start from, counted from 0.
            limit: How many lines to read.
        """
        lines = _pieces(spill.read(name))
        page = lines[max(0, offset) : max(0, offset) + max(1, limit)]
        rest = len(lines) - offset - len(page)
        note = f"\n[{rest} more lines; use offset={offset + len(page)}]" if rest > 0 else ""
        return "\n".join(page) + note

    return FunctionTool(read_output, effects="read")
