"""A bound on what others can make a server write to its log."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["FewLines"]

_KINDS = 1000


@dataclass(slots=True)
class _Second:
    """What has come of one kind since the second began."""

    began: float
    passed: int = 0
    kept_back: int = 0


class FewLines(logging.Filter):
    """Lets `most` records of a kind pass in a second; the next that passes says how many did not."""

    def __init__(self, most: int = 10, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most = most
        self._clock = clock
        self._kinds: dict[tuple[str, object], _Second] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it passes."""
        kept_back = self.admit((record.name, record.msg))
        if kept_back:
            # After the arguments are in: they may have signs that are not ours to read.
            record.msg, record.args = f"{record.getMessage()} ({kept_back} more like it)", None
        return kept_back is not None

    def admit(self, kind: tuple[str, object]) -> int | None:
        """None when it is kept back; else how many were before it."""
        now = self._clock()
        known = self._kinds.get(kind)
        if known is None or now - known.began >= 1:
            if len(self._kinds) >= _KINDS:
                self._kinds.clear()
            kept_back = known.kept_back if known else 0
            self._kinds[kind] = _Second(now, passed=1)
            return kept_back
        if known.passed < self._most:
            known.passed += 1
            return 0
        known.kept_back += 1
        return None
