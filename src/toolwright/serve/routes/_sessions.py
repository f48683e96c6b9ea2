"""Sessions: list, make, run, follow, answer, stop, branch, forget."""

import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any

from pydantic import Field, JsonValue, TypeAdapter
from starlette.responses import Response, StreamingResponse

from toolwright.backends import PAGE, SessionRow
from toolwright.errors import UsageError
from toolwright.messages import AnyEvent, Scope, decode_event, to_wire
from toolwright.serve._answers import (
    AnswerOutcome,
    GiveAnswer,
    answer_value,
    refuse_unless_accepted,
)
from toolwright.serve._by_hand import hand_session, is_by_hand
from toolwright.serve._endpoint import Ask, Fields, Nothing, Routes, route
from toolwright.serve._problems import ProblemError
from toolwright.serve._public import public_event, public_state
from toolwright.serve._sessions import SessionInfo
from toolwright.serve._workbench import Workbench
from toolwright.serve.live import EventStream
from toolwright.serve.routes._artifacts import download
from toolwright.serve.routes._events import Since, event_frames, position

__all__ = ["SessionRoutes"]

_EVENTS = TypeAdapter(list[AnyEvent])
_RUNNING = (404, 409, 502, 503)
_ID = r"^[A-Za-z0-9._~-]{1,128}$"


class ListSessions(Fields):
    """Which sessions to list."""

    user_id: str | None = None
    limit: int = Field(default=200, ge=1, le=1000)


class NewSession(Fields):
    """A session to make."""

    session_id: str | None = Field(default=None, pattern=_ID)
    user_id: str | None = Field(default=None, min_length=1, max_length=128)


class StartRun(Fields):
    """A message for the agent."""

    message: str = Field(min_length=1)


class BranchAt(Fields):
    """Where to cut."""

    upto: int | None = Field(default=None, ge=0, le=2**53)
    """The last `seq` to keep; all of them when none is named."""


class Page(Since):
    """Which events."""

    limit: int = Field(default=10_000, ge=1, le=100_000)


_ONE = "/api/sessions/{session_id}"


class SessionRoutes(Routes):
    """The operations below `/api/sessions`."""

    tag = "sessions"

    def __init__(self, bench: Workbench) -> None:
        self.runner = bench.runner
        self.runs = bench.runs
        self.sessions = bench.sessions
        self.streams = bench.streams
        self.default_user = bench.settings.user_id

    async def _row(self, ask: Ask[Any, Any]) -> SessionRow:
        return await self.sessions.find(ask.path["session_id"])

    # -- reading ----------------------------------------------------------------------------

    @route("GET", "/api/sessions", query=ListSessions, returns=list[SessionInfo])
    async def list_sessions(self, ask: Ask[Nothing, ListSessions]) -> list[SessionInfo]:
        """Sessions, the latest first."""
        rows = await self.runner.sessions(ask.query.user_id)
        return await self.sessions.describe_all(rows[: ask.query.limit])

    @route("GET", _ONE, returns=SessionInfo, errors=(404,))
    async def get_session(self, ask: Ask[Nothing, Nothing]) -> SessionInfo:
        """One session."""
        return await self.sessions.describe(await self._row(ask))

    @route("GET", f"{_ONE}/state", returns=dict[str, JsonValue], errors=(404,))
    async def get_session_state(self, ask: Ask[Nothing, Nothing]) -> dict[str, JsonValue]:
        """A session's state."""
        return public_state(await self.runner.state((await self._row(ask)).scope.session_id))

    @route("GET", f"{_ONE}/events", query=Page, returns=list[AnyEvent], errors=(404,))
    async def list_session_events(self, ask: Ask[Nothing, Page]) -> StreamingResponse:
        """A session's stored events."""
        row = await self._row(ask)
        since, _ = await position(ask.request, ask.query, partial(self.runs.find, row))
        pages = self._pages(row.scope, since, ask.query.limit)
        # The first is read before the answer begins, so that what cannot be read is refused.
        first = await anext(pages)

        async def all_pages() -> AsyncIterator[bytes]:
            async with aclosing(pages):
                yield first
                async for page in pages:
                    yield page

        return StreamingResponse(all_pages(), media_type="application/json")

    async def _pages(self, scope: Scope, since: int, limit: int) -> AsyncGenerator[bytes, None]:
        """A JSON list of the events after `since`, at most `limit`, piece by piece."""
        before = b"["
        while limit:
            page = await self.runner.store.encoded_events(scope, since, min(limit, PAGE))
            if not page:
                break
            events = [public_event(decode_event(one.text)) for one in page]
            yield before + to_wire(_EVENTS, events)[1:-1]
            since, limit, before = page[-1].seq, limit - len(page), b","
        yield b"[]" if before == b"[" else b"]"

    @route("GET", f"{_ONE}/stream", query=Since, media_type="text/event-stream", errors=(404, 503))
    async def follow_session(self, ask: Ask[Nothing, Since]) -> EventStream:
        """A session's events: first the stored ones, then live."""
        row = await self._row(ask)
        since, reset = await position(ask.request, ask.query, partial(self.runs.find, row))
        return self.streams.response(event_frames(self.runs.follow(row, since), reset=reset))

    @route("GET", f"{_ONE}/outputs/{{name}}", media_type="application/octet-stream", errors=(404,))
    async def get_session_output(self, ask: Ask[Nothing, Nothing]) -> Response:
        """A long output or large data, whole, by the name that a result gives (`stored_as`)."""
        row, name = await self._row(ask), ask.path["name"]
        try:
            text = await self.runner.output(row.scope.session_id, name)
        except UsageError as error:
            raise ProblemError(404, str(error)) from error
        kind = "application/json" if name.endswith(".json") else "text/plain"
        return download(name, text.encode("utf-8", "replace"), kind)

    # -- changing ---------------------------------------------------------------------------

    @route("POST", "/api/sessions", body=NewSession, status=201, returns=SessionInfo)
    async def create_session(self, ask: Ask[NewSession, Nothing]) -> SessionInfo:
        """Make a session."""
        scope = Scope(
            app_name=self.runner.app_name,
            user_id=ask.body.user_id or self.default_user,
            session_id=ask.body.session_id or uuid.uuid4().hex,
        )
        return await self.sessions.describe(await self.runner.store.open(scope))

    @route("POST", f"{_ONE}/branch", body=BranchAt, status=201, returns=SessionInfo, errors=(404,))
    async def branch_session(self, ask: Ask[BranchAt, Nothing]) -> SessionInfo:
        """Make a session that begins as this one did."""
        row = await self._row(ask)
        new_id = hand_session() if is_by_hand(row.scope.session_id) else uuid.uuid4().hex
        new = await self.runner.branch(row.scope.session_id, new_id=new_id, upto=ask.body.upto)
        return await self.sessions.describe(new)

    @route("DELETE", _ONE, status=204, errors=(404, 409))
    async def delete_session(self, ask: Ask[Nothing, Nothing]) -> None:
        """Forget a session, and the long outputs that were kept for it."""
        row = await self._row(ask)
        if self.runs.is_running(row.scope.session_id):
            raise ProblemError(409, "A run is going in this session; cancel it first.")
        if reason := await self.runs.elsewhere(row.scope.session_id):
            raise ProblemError(409, reason)
        await self.runner.delete(row.scope.session_id)
        self.runs.deleted(row.scope.session_id)

    # -- running ----------------------------------------------------------------------------

    @route("POST", f"{_ONE}/runs", body=StartRun, status=202, returns=SessionInfo, errors=_RUNNING)
    async def start_run(self, ask: Ask[StartRun, Nothing]) -> SessionInfo:
        """Send a message; the run goes on by itself."""
        row = await self._row(ask)
        await self.runs.start(row.scope.session_id, row.scope.user_id, ask.body.message)
        return await self.sessions.describe(row)

    @route("POST", f"{_ONE}/resume", status=202, returns=SessionInfo, errors=_RUNNING)
    async def resume_run(self, ask: Ask[Nothing, Nothing]) -> SessionInfo:
        """Go on with a run that paused, stopped or was interrupted, or with what came after its end."""
        row = await self._row(ask)
        status = await self.sessions.last_run(row)
        has_more = status == "done" and await self.runs.may_go_on(row.scope.session_id)
        if status in ("new", "done", "running") and not has_more:
            reason = await self.runs.elsewhere(row.scope.session_id)
            idle = f"This session is {status}; there is nothing to go on with."
            raise ProblemError(409, reason or idle)
        await self.runs.go_on(row)
        return await self.sessions.describe(row)

    @route("POST", f"{_ONE}/cancel", status=204, errors=(404, 409))
    async def cancel_run(self, ask: Ask[Nothing, Nothing]) -> None:
        """Stop the run."""
        row = await self._row(ask)
        if not await self.runs.cancel(row.scope.session_id):
            reason = await self.runs.elsewhere(row.scope.session_id)
            raise ProblemError(409, reason or "No run is going in this session.")

    @route("POST", f"{_ONE}/steer", body=StartRun, status=204, errors=(404, 409))
    async def steer_run(self, ask: Ask[StartRun, Nothing]) -> None:
        """Put a message into the run."""
        row = await self._row(ask)
        if not await self.runs.steer(row.scope.session_id, ask.body.message):
            reason = await self.runs.elsewhere(row.scope.session_id)
            idle = "No run is going in this session; start one instead."
            raise ProblemError(409, reason or idle)

    @route(
        "POST", f"{_ONE}/answers", body=GiveAnswer, returns=AnswerOutcome, errors=(410, *_RUNNING)
    )
    async def answer_session_call(self, ask: Ask[GiveAnswer, Nothing]) -> AnswerOutcome:
        """Answer a pending call; the first answer wins, and the run goes on by itself."""
        row, body = await self._row(ask), ask.body
        outcome = await self.runs.answer(row, body.call_id, answer_value(body), body.key)
        return refuse_unless_accepted(outcome)
