"""Outputs that are too long to be read at once, kept as files for as long as the tools live."""

import uuid
import weakref
from pathlib import Path

from toolwright._temporary import remove_tree, temporary_directory
from toolwright.backends import format_size

__all__ = ["MAX_BYTES", "MAX_LINES", "OutputFolder"]

MAX_BYTES = 50 * 1024
MAX_LINES = 2000
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
        lines = text.split("\n")
        if spilled is None and len(lines) <= MAX_LINES:
            return text
        if spilled is None:
            spilled = self.new_path()
            spilled.write_text(text, encoding="utf-8", errors="replace")
        if len(lines) > MAX_LINES - _NOTE_LINES:
            half = (MAX_LINES - _NOTE_LINES) // 2
            left_out = f"[… {len(lines) - 2 * half} lines left out …]"
            lines = [*lines[:half], left_out, *lines[-half:]]
        note = f"[Output truncated at {format_size(MAX_BYTES)}. Full output saved to: {spilled}]"
        return "\n".join([*lines, note])
