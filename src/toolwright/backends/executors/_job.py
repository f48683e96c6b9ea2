"""A command in the background, with a thread that takes its output."""

import threading
import uuid

import anyio

from toolwright.backends.executors._capture import Capture
from toolwright.backends.executors._executor import Finished
from toolwright.backends.executors._process import Process
from toolwright.concurrency import wait_in_thread

__all__ = ["ProcessJob"]


class ProcessJob:
    """A background command. Its thread ends with it; its launcher ends it should this program die."""

    def __init__(self, process: Process, output: int) -> None:
        self.id = f"job-{uuid.uuid4().hex[:8]}"
        self._process = process
        self._room = output
        self._unread = Capture(output)
        self._lock = threading.Lock()
        self._finished: Finished | None = None
        self._thread = threading.Thread(target=self._follow, name=self.id, daemon=True)
        self._thread.start()

    def read(self) -> str:
        """Output that has come since the last `read`, both streams together."""
        with self._lock:
            unread, self._unread = self._unread, Capture(self._room)
        return unread.text()

    def poll(self) -> Finished | None:
        """How it ended, or None while it runs."""
        return self._finished

    async def wait(self) -> Finished:
        """Wait until it has ended. Cancelling the wait leaves the job running."""
        await wait_in_thread(self._thread.join, abandon_on_cancel=True)
        return self._outcome()

    async def stop(self) -> Finished:
        """End it and everything it started. A job that has ended stays as it was."""
        if self._finished is None:
            self._process.stop()
        with anyio.CancelScope(shield=True):
            await wait_in_thread(self._thread.join)
        return self._outcome()

    def _follow(self) -> None:
        self._finished = anyio.run(self._process.communicate, self._take)

    def _take(self, stream: str, text: str) -> None:
        with self._lock:
            self._unread.feed(text.encode())

    def _outcome(self) -> Finished:
        if self._finished is None:
            raise RuntimeError(f"The thread of {self.id!r} has died; see its traceback.")
        return self._finished
