"""How many parts of a result are read, and how much a source may show and put in the log."""

import json
import logging
from collections.abc import Callable
from typing import Any

__all__ = [
    "LETTERS_OF_PROGRESS",
    "LOGGED_LINES",
    "LONGEST_PROGRESS",
    "MOST_PARTS",
    "MOST_PROGRESS",
    "CountedLog",
    "CountedProgress",
    "cut_parts",
    "note_on_cut",
]

MOST_PARTS = 1000
"""Of a result: some ten thousand are read in a second, and nothing else runs meanwhile."""
LOGGED_LINES = 1000
"""Messages of one source that reach the log; of one that writes more, the rest is dropped."""
MOST_PROGRESS = 10_000
"""Messages that one call shows while it runs."""
LONGEST_PROGRESS = 32_768
LETTERS_OF_PROGRESS = 2_000_000
"""Letters of all of them together."""
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


class CountedLog:
    """The log as far as one source may write to it."""

    def __init__(self, logger: logging.Logger, source: str) -> None:
        self._logger = logger
        self._source = source
        self._logged = 0

    def write(self, level: int, text: object) -> None:
        """Put a message in the log, unless there were too many."""
        self._logged += 1
        if self._logged <= LOGGED_LINES:
            self._logger.log(level, "%s: %.2000s", self._source, text)
        if self._logged == LOGGED_LINES:
            self._logger.warning("%s sends a lot to the log; the rest is dropped", self._source)


class CountedProgress:
    """What one call shows while it runs, as far as its source may."""

    def __init__(self, show: Callable[[str, Any], object]) -> None:
        self._show = show
        self._shown = 0
        self._letters = 0

    def __call__(self, text: str, data: Any) -> bool:
        """Show it, unless there was too much; whether it was shown."""
        self._shown += 1
        if self._shown > MOST_PROGRESS or self._letters > LETTERS_OF_PROGRESS:
            return False
        size = len(json.dumps(data))
        if size > 2 * LONGEST_PROGRESS:
            data, size = None, 0
        text = text[:LONGEST_PROGRESS]
        self._letters += len(text) + size
        if self._shown == MOST_PROGRESS or self._letters > LETTERS_OF_PROGRESS:
            text, data = "(What comes after this is not shown.)", None
        self._show(text, data)
        return True
