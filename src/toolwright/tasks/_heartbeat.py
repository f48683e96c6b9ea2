"""Show that a worker is alive from a thread of its own, which no tool can block."""

import logging
import threading
from collections.abc import Callable

from toolwright.errors import StoreError
from toolwright.tasks._roll import BEATS_PER_LEASE, Roll

__all__ = ["Heartbeat"]

logger = logging.getLogger("toolwright")


class Heartbeat:
    """Beats for worker `name`; calls `lost` (in its thread) when it has been taken for dead."""

    def __init__(self, roll: Roll, name: str, lease: float, lost: Callable[[], None]) -> None:
        self._roll = roll
        self._name = name
        self._pause = lease / BEATS_PER_LEASE
        self._lost = lost
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="toolwright-heartbeat", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; returns when the thread has."""
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(self._pause):
            try:
                alive = self._roll.beat_now(self._name)
            except StoreError as error:
                logger.warning("worker %s could not show that it is alive: %s", self._name, error)
                continue
            if not alive:
                self._lost()
                return
