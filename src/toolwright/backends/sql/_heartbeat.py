"""Show that a process is alive from a thread of its own, which no tool can block."""

import logging
import threading
from collections.abc import Callable

from toolwright.errors import StoreError

__all__ = ["Heartbeat"]

logger = logging.getLogger("toolwright")


class Heartbeat:
    """Calls `beat` every `pause` seconds, in its thread, until that returns False."""

    def __init__(self, name: str, beat: Callable[[], bool], pause: float) -> None:
        self._name = name
        self._beat = beat
        self._pause = pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="toolwright-heartbeat", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; returns when the thread has."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            try:
                if not self._beat():
                    return
            except StoreError as error:
                logger.warning("%s could not show that it is alive: %s", self._name, error)
            except Exception:
                # Whatever it was: without beats others would take what this process holds.
                logger.exception("%s could not show that it is alive", self._name)
