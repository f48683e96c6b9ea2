"""The runs that a runner has going in this process, by session."""

import anyio

from toolwright.agent._run import Run
from toolwright.concurrency import begin_anew_after_fork

__all__ = ["Going"]


class Going:
    """What reaches the runs that are going: to cancel each, or one that waits, and to steer it."""

    def __init__(self) -> None:
        self.scopes: dict[str, anyio.CancelScope] = {}
        self.runs: dict[str, Run] = {}
        begin_anew_after_fork(self)

    def after_fork(self) -> None:
        """Have none going: they are the parent's, and go on there."""
        self.scopes.clear()
        self.runs.clear()

    def end(self, session_id: str) -> None:
        """Forget a session's run; a forked child has done so already."""
        self.scopes.pop(session_id, None)
        self.runs.pop(session_id, None)
