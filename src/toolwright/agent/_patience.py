"""Wait for a session that another run holds, for as long as was asked for and not longer."""

import math
import time

import anyio

__all__ = ["Patience"]

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5


class Patience:
    """The seconds that a run may wait for its session before anything has happened in it."""

    __slots__ = ("_ends", "_known_in", "_pause")

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._pause = _FIRST_PAUSE
        self._known_in = math.inf

    async def wait(self, error: Exception, known_in: float = 0.0) -> None:
        """Return after a pause, to look again; raise `error` when the time is up.

        It is not up while it will be known within `known_in` seconds that the other run is gone.
        When these become more it has shown life, and nothing is to be waited for.
        """
        left = self._ends - time.monotonic()
        if known_in <= self._known_in:
            left, self._known_in = max(left, known_in), known_in
        if left <= 0:
            raise error
        await anyio.sleep(min(left, self._pause))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
