"""Renew a worker's leases from a thread of its own, which no tool can block."""

import logging
import threading
from collections.abc import Callable

from toolwright.errors import StoreError
from toolwright.tasks._queue import Queue

__all__ = ["Heartbeat"]

logger = logging.getLogger("toolwright")


class Heartbeat:
    """Keeps what is in `held` leased; calls `lost` (in its thread) for a task that was taken away."""

    def __init__(
        self, queue: Queue, worker: str, lease: float, lost: Callable[[str], None]
    ) -> None:
        self.held: set[str] = set()
        self._queue = queue
        self._worker = worker
        self._lease = lease
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
        while not self._stop.wait(self._lease / 3):
            held = sorted(self.held)
            try:
                kept = self._queue.renew_now(self._worker, self._lease, held)
            except StoreError as error:
                logger.warning("leases could not be renewed: %s", error)
                continue
            for task_id in set(held) & self.held - kept:
                self._lost(task_id)
