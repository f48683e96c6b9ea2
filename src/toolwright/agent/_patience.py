"""Wait for a session that another run holds, for as long as was asked for and not longer."""

import time

import anyio

__all__ = ["Patience"]

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5


class Patience:
    """The seconds that a run may wait for its session before anything has happened in it."""

    __slots__ = ("_ends", "_pause")

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds
        self._pause = _FIRST_PAUSE

    async def wait(self, error: Exception, at_least: float = 0.0) -> None:
        """Return after a pause, to look again; raise `error` when the time is up.

        It is not up before `at_least` more seconds have passed.
        """
        left = max(self._ends - time.monotonic(), at_least)
        if left <= 0:
            raise error
        await anyio.sleep(min(left, self._pause))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
