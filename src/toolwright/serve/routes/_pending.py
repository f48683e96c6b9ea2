"""The inbox: every call that waits for an answer, of every session and task."""

from toolwright.agent import Runner
from toolwright.backends import is_expired, waited_for
from toolwright.serve._answers import OpenCallInfo, call_info
from toolwright.serve._endpoint import Ask, Nothing, Routes, route
from toolwright.serve._workbench import Workbench
from toolwright.serve.live import EventStream
from toolwright.serve.routes._events import notice_frames

__all__ = ["PendingRoutes"]


class PendingRoutes(Routes):
    """The operations that look at all sessions and tasks at once."""

    tag = "inbox"

    def __init__(self, bench: Workbench) -> None:
        self.runner = bench.runner
        self.tasks = bench.tasks
        self.notices = bench.notices
        self.streams = bench.streams

    @route("GET", "/api/pending", returns=list[OpenCallInfo])
    async def list_pending(self, ask: Ask[Nothing, Nothing]) -> list[OpenCallInfo]:
        """Calls that wait for an answer."""
        calls = await _waiting_in_sessions(self.runner)
        if self.tasks is not None:
            calls += await self.tasks.waiting()
        # An answer to what has expired is refused: it waits for nobody.
        return [call for call in calls if not is_expired(call.pending)]

    @route("GET", "/api/stream", media_type="text/event-stream", errors=(503,))
    async def follow_all(self, ask: Ask[Nothing, Nothing]) -> EventStream:
        """What starts, ends, waits and is answered anywhere, live."""
        return self.streams.response(notice_frames(self.notices))


async def _waiting_in_sessions(runner: Runner) -> list[OpenCallInfo]:
    calls = await runner.store.open_calls(runner.app_name)
    waiting = waited_for(calls)
    titles = {row.scope.session_id: row.title for row in await runner.sessions()} if waiting else {}
    return [call_info("session", call, titles) for call in waiting]
