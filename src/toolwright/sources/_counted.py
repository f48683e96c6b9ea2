"""How many parts of a result are read, and how many messages a source may put in the log."""

import logging
from typing import Any

__all__ = ["LOGGED_LINES", "MOST_PARTS", "CountedLog", "cut_parts", "note_on_cut"]

MOST_PARTS = 1000
"""Of a result: some ten thousand are read in a second, and nothing else runs meanwhile."""
LOGGED_LINES = 1000
"""Messages of one source that reach the log; of one that writes more, the rest is dropped."""
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
