"""Show that a process is alive from a thread of its own, which no tool can block."""

import logging
import threading
from collections.abc import Callable

from toolwright.errors import StoreError

__all__ = ["Heartbeat"]

_SOONER = 4
logger = logging.getLogger("toolwright")


class Heartbeat:
    """Calls `beat` every `pause` seconds, in its thread, until that returns False.

    After one that failed it does not wait as long: others count the silence.
    """

    def __init__(self, name: str, beat: Callable[[], bool], pause: float) -> None:
        self._name = name
        self._beat = beat
        self._pause = pause
        self._stop = threading.Event()
        self._busy = threading.Lock()
        """Held while it beats."""
        self._thread = threading.Thread(target=self._run, name="toolwright-heartbeat", daemon=True)

    @property
    def is_alive(self) -> bool:
        """Whether it has begun, and has not ended."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; returns when the thread has."""
        self._stop.set()
        self._thread.join()

    def stop_soon(self) -> bool:
        """End; False when a beat is under way, which is then the last."""
        self._stop.set()
        is_idle = self._busy.acquire(blocking=False)
        if is_idle:
            self._busy.release()
        return is_idle

    def _run(self) -> None:
        pause = self._pause
        while not self._stop.wait(pause):
            with self._busy:
                if self._stop.is_set():
                    return
                beaten = self._try()
            if beaten is False:
                return
            pause = self._pause if beaten else self._pause / _SOONER

    def _try(self) -> bool | None:
        """What `beat` returns; None when it has failed."""
        try:
            return self._beat()
        except StoreError as error:
            logger.warning("%s could not show that it is alive: %s", self._name, error)
        except Exception:
            # Whatever it was: without beats others would take what this process holds.
            logger.exception("%s could not show that it is alive", self._name)
        return None
