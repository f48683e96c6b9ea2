"""Outputs that are too long to be read at once, kept as files for as long as the tools live."""

import uuid
import weakref
from pathlib import Path

from toolwright._temporary import remove_tree, temporary_directory
from toolwright.backends import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LINES,
    format_size,
    truncate_head,
    truncate_tail,
)

__all__ = ["MAX_BYTES", "MAX_LINES", "OutputFolder"]

MAX_BYTES = DEFAULT_MAX_BYTES
MAX_LINES = DEFAULT_MAX_LINES
_NOTE_LINES = 10
"""Room for notes, within the limit."""


class OutputFolder:
    """A private directory; made when it is first needed, removed with this object."""

    def __init__(self) -> None:
        self._directory: Path | None = None

    def new_path(self) -> Path:
        """A path for one more output."""
        if self._directory is None:
            self._directory = temporary_directory()
            weakref.finalize(self, remove_tree, self._directory)
        return self._directory / f"{uuid.uuid4().hex[:8]}.txt"

    def find(self, path: str) -> Path | None:
        """The stored output that `path` names, if it names one."""
        if self._directory is None or Path(path).parent != self._directory:
            return None
        return self._directory / Path(path).name

    def shortened(self, text: str, spilled: Path | None) -> str:
        """`text` within the limits, with a note where the whole of it is.

        The beginning and the end of it are kept: one says what was done, the other what came of it.
        """
        lines = text.count("\n") + 1
        if spilled is None and lines <= MAX_LINES:
            return text
        hit = format_size(MAX_BYTES) if spilled is not None else f"{MAX_LINES} lines"
        if spilled is None:
            spilled = self.new_path()
            spilled.write_text(text, encoding="utf-8", errors="replace")
        if lines > MAX_LINES - _NOTE_LINES:
            half = (MAX_LINES - _NOTE_LINES) // 2
            left_out = f"[… {lines - 2 * half} lines left out …]"
            head, tail = truncate_head(text, MAX_BYTES, half), truncate_tail(text, MAX_BYTES, half)
            text = "\n".join([head.text, left_out, tail.text])
        return f"{text}\n[Output truncated at {hit}. Full output saved to: {spilled}]"
