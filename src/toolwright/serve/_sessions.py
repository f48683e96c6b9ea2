"""Sessions as lists show them: with what has become of their last run, and whether a call still waits."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel

from toolwright.agent import Runner
from toolwright.backends import OpenCall, SessionRow, may_go_on, waited_for
from toolwright.errors import UnreadableError
from toolwright.messages import Event, RunEnded
from toolwright.serve._by_hand import is_by_hand
from toolwright.serve._problems import ProblemError
from toolwright.serve.live import LiveRuns

__all__ = ["SessionInfo", "Sessions", "Status"]

Status = Literal["new", "running", "waiting", "done", "stopped", "interrupted"]
"""`running`: here, or in another process. `waiting`: its last run waits for an answer, or it is done
and a call that it went on without still does."""
_REMEMBERED = 10_000
_log = logging.getLogger(__name__)


class SessionInfo(BaseModel):
    """A session and what has become of its last run."""

    id: str
    user_id: str
    title: str
    status: Status
    created_at: float
    updated_at: float
    last_seq: int
    by_hand: bool
    can_go_on: bool
    """A person has stopped its last run, and an answer or the end of a deadline has come that nobody
    goes on with unless it is resumed."""


class Sessions:
    """Finds sessions and says how they stand."""

    def __init__(self, runner: Runner, runs: LiveRuns) -> None:
        self._runner = runner
        self._runs = runs
        self._statuses: OrderedDict[tuple[str, float, int], Status] = OrderedDict()

    async def find(self, session_id: str) -> SessionRow:
        """The session, or a 404."""
        row = await self._runner.store.find(self._runner.app_name, session_id)
        if row is None:
            raise ProblemError(404, f"There is no session {session_id!r}.")
        return row

    async def describe(self, row: SessionRow) -> SessionInfo:
        """The session as a list shows it."""
        return await self._describe(row, await self._open_calls(row.scope.session_id))

    async def describe_all(self, rows: Sequence[SessionRow]) -> list[SessionInfo]:
        """Sessions as a list shows them."""
        calls = await self._open_calls()
        return [await self._describe(row, calls) for row in rows]

    async def _describe(
        self, row: SessionRow, calls: Mapping[str, Sequence[OpenCall]]
    ) -> SessionInfo:
        last, session_id = await self.last_run(row), row.scope.session_id
        own = calls.get(session_id, ())
        return SessionInfo(
            id=session_id,
            user_id=row.scope.user_id,
            title=row.title,
            status="waiting" if last == "done" and waited_for(own) else last,
            created_at=row.created_at,
            updated_at=row.updated_at,
            last_seq=row.last_seq,
            by_hand=is_by_hand(session_id),
            can_go_on=last == "stopped"
            and may_go_on(own)
            and await self._runs.is_stopped(session_id),
        )

    async def _open_calls(self, session_id: str | None = None) -> dict[str, list[OpenCall]]:
        """The open calls of one session or of all, by session."""
        store, app_name = self._runner.store, self._runner.app_name
        try:
            calls = await store.open_calls(app_name, session_id)
        except UnreadableError as error:
            # It stands as in the list of all, which has what can be known of such a call.
            _log.warning("session %r: %s", session_id, error)
            calls = await store.open_calls(app_name)
        found: dict[str, list[OpenCall]] = {}
        for call in calls:
            found.setdefault(call.scope.session_id, []).append(call)
        return found

    async def last_run(self, row: SessionRow) -> Status:
        """What has become of the session's last run."""
        session_id = row.scope.session_id
        if self._runs.is_running(session_id):
            return "running"
        # A log that has not grown ends as it did when it was last read.
        key = (session_id, row.created_at, row.last_seq)
        if key not in self._statuses:
            self._statuses[key] = await self._last_status(row)
            if len(self._statuses) > _REMEMBERED:
                self._statuses.popitem(last=False)
        status = self._statuses[key]
        if status == "interrupted" and await self._runner.holder(session_id) is not None:
            return "running"
        return status

    async def _last_status(self, row: SessionRow) -> Status:
        try:
            return _status_after(await self._runner.store.events(row.scope, row.last_seq - 1))
        except UnreadableError as error:
            # Who opens it is told why; the other sessions of a list are still to be seen.
            _log.warning("session %r: %s", row.scope.session_id, error)
            return "stopped"


def _status_after(last: list[Event]) -> Status:
    if not last:
        return "new"
    event = last[-1]
    if not isinstance(event, RunEnded) or event.path:
        return "interrupted"
    return "waiting" if event.status == "paused" else event.status
