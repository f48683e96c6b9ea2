"""Runs that belong to the server: they go on when the browser leaves, and anyone can watch."""

import logging
import time
import uuid
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus

from toolwright.agent import Runner
from toolwright.backends import Hold, OpenCall, SessionRow, has_news, is_blocked, may_go_on
from toolwright.errors import SessionHeld, StoreConflict, StoreError
from toolwright.kits import hand_runner
from toolwright.messages import (
    Answered,
    CancelRequested,
    Event,
    PendingAnswered,
    RunEnded,
    RunStarted,
    SignedIn,
    StateChanged,
    redact,
)
from toolwright.serve._answers import refusal_is_a_problem
from toolwright.serve._by_hand import is_by_hand
from toolwright.serve._problems import ProblemError
from toolwright.serve.live._feed import Feed
from toolwright.serve.live._notices import Notice, Notices
from toolwright.serve.live._shown import Replayed, Shown

__all__ = ["LiveRuns", "is_cancelled"]

_log = logging.getLogger(__name__)
_GRACE_SECONDS = 5.0
_LOOK_SECONDS = 1.0
"""How often a session that another process holds is looked at."""
_LOOKED_AT = 50
"""Sessions that are looked at in one go."""
_LATEST = 3
"""How many events may be stored from the end of a run on."""


class LiveRuns:
    """Starts, stops and resumes runs, and hands their events to whoever follows."""

    def __init__(self, runner: Runner, notices: Notices) -> None:
        self.runner = runner
        self.by_hand = hand_runner(runner)
        self._notices = notices
        self._feeds: dict[str, Feed] = {}
        self._going: dict[str, anyio.Event] = {}
        self._first: dict[str, int] = {}
        """The number of the first event of each run that is going."""
        self._wanted: set[str] = set()
        """Sessions to go on with once their run has paused, because an answer came meanwhile."""
        self._awaited: set[str] = set()
        """Sessions to go on with once another process has them no more."""
        self._group: TaskGroup
        self._closing = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Runs live within this; on leaving it they are stopped, to be gone on with at the next start."""
        async with anyio.create_task_group() as self._group:
            self._closing = False
            self._group.start_soon(self._look_elsewhere)
            try:
                yield
            finally:
                self._closing = True
                with anyio.CancelScope(shield=True), anyio.move_on_after(_GRACE_SECONDS):
                    await self._stop_all()
                self._group.cancel_scope.cancel()

    async def _stop_all(self) -> None:
        going = dict(self._going)
        for session_id in going:
            self._runner_of(session_id).cancel(session_id)
        for over in going.values():
            await over.wait()

    # -- watching ---------------------------------------------------------------------------

    def is_running(self, session_id: str) -> bool:
        """Whether a run is going in the session, here."""
        return session_id in self._going

    async def elsewhere(self, session_id: str) -> str:
        """Why a run cannot be reached from here, when another process has it; else empty."""
        holder = None if self.is_running(session_id) else await self.runner.holder(session_id)
        if holder is None:
            return ""
        return f"The run of this session is going in {holder}; it can only be reached there."

    @property
    def running(self) -> int:
        """How many runs are going."""
        return len(self._going)

    async def find(self, row: SessionRow, seq: int) -> Shown | Replayed | None:
        """A session's event by its number, stored or of the run that is going."""
        feed = self._feeds.get(row.scope.session_id)
        found = None if feed is None else feed.fresh(seq)
        if found is not None:
            return found
        page = await self.runner.store.encoded_events(row.scope, seq - 1, 1)
        return next((Replayed(one.text, one.seq) for one in page if one.seq == seq), None)

    async def follow(
        self, row: SessionRow, since: int
    ) -> AsyncGenerator[Sequence[Shown | Replayed] | None, None]:
        """A session's events after `since`, stored and live; None when all begins anew: what was shown was
        not stored, or the session was deleted. Ends when there is one of its name for another user."""
        session_id = row.scope.session_id
        feed = self._feed(session_id)
        feed.note_born(row.created_at)

        async def stored(seq: int) -> list[Replayed]:
            page = await self.runner.store.encoded_events(row.scope, seq)
            return [Replayed(one.text, one.seq) for one in page]

        try:
            async with aclosing(feed.follow(stored, since)) as batches:
                async for batch in batches:
                    if batch is None and await self._is_anothers(row):
                        return
                    yield batch
        finally:
            self._forget_idle(session_id)

    async def _look_elsewhere(self) -> None:
        """Show followers what other processes have added to their sessions, some at a time."""
        while True:
            await anyio.sleep(_LOOK_SECONDS)
            quiet = [name for name in self._feeds if not self.is_running(name)][:_LOOKED_AT]
            try:
                for session_id in quiet:
                    await self._look(session_id)
            except Exception as error:  # noqa: BLE001  the next look may go well
                _log.warning("Sessions cannot be looked at: %s", redact(str(error)))

    async def _look(self, session_id: str) -> None:
        feed = self._feeds.pop(session_id, None)
        if feed is None:
            return
        self._feeds[session_id] = feed  # Now the last, so that all have their turn.
        published = feed.published
        row = await self.runner.store.find(self.runner.app_name, session_id)
        if self.is_running(session_id) or feed.published != published:
            return  # A run has begun since: the row may be older than its events.
        feed.note_born(row.created_at if row else None)
        if row is not None:
            feed.note_stored(row.last_seq)

    def deleted(self, session_id: str) -> None:
        """The session is gone: its followers forget it, and see the next of its name."""
        if session_id in self._feeds:
            self._feeds[session_id].note_born(None)

    async def _see_born(self, session_id: str) -> None:
        """A run has begun: see whether it is still the session that its followers have seen."""
        feed = self._feeds.get(session_id)
        if feed is None or not feed.listeners:
            return
        try:
            row = await self.runner.store.find(self.runner.app_name, session_id)
            feed.note_born(row.created_at if row else None)
        except Exception as error:  # noqa: BLE001  the run goes on; the next look may go well
            _log.warning("Session %s cannot be looked at: %s", session_id, redact(str(error)))

    async def _is_anothers(self, row: SessionRow) -> bool:
        found = await self.runner.store.find(self.runner.app_name, row.scope.session_id)
        return found is not None and found.scope != row.scope

    async def ended(self, session_id: str) -> None:
        """Wait until no run is going in the session."""
        while (going := self._going.get(session_id)) is not None:
            await going.wait()

    # -- doing ------------------------------------------------------------------------------

    async def start(self, session_id: str, user_id: str, message: str) -> None:
        """Begin a run; returns once it has begun."""
        await self._launch(session_id, user_id, message)

    async def go_on(self, row: SessionRow) -> None:
        """Go on with a run that paused or was interrupted."""
        await self._launch(row.scope.session_id, row.scope.user_id, None)

    async def take_over(self, row: SessionRow) -> None:
        """Go on with a run that another process has left behind, unless anybody has since `row` was read."""
        await self._launch(row.scope.session_id, row.scope.user_id, None, only_from=row)

    async def cancel(self, session_id: str) -> bool:
        """Stop the run because a person wants it, which no restart undoes; whether there was one."""
        return await self._runner_of(session_id).cancel_for_good(session_id)

    async def abandon(self, row: SessionRow) -> None:
        """Record the end of a run that a person has cancelled and that did not come to it, unless anything
        was recorded since `row` was read."""
        session_id = row.scope.session_id
        await self._runner_of(session_id).abandon(session_id, only_from=row)

    async def steer(self, session_id: str, message: str) -> bool:
        """Put a message into the run; whether there was one."""
        return await self._runner_of(session_id).steer(session_id, message)

    async def answer(self, row: SessionRow, call_id: str, value: Any, key: str = "") -> Answered:
        """Answer a pending call, and go on when nothing else is waited for.

        `ProblemError` when the answer does not fit the call.
        """
        return (await self.answer_all(row, {call_id: value}, {call_id: key}))[call_id]

    async def answer_all(
        self, row: SessionRow, answers: Mapping[str, Any], keys: Mapping[str, str]
    ) -> dict[str, Answered]:
        """Answer pending calls, by call id: `ProblemError` before any is, when one does not fit."""
        session_id, runner = row.scope.session_id, self._runner_of(row.scope.session_id)
        try:
            with refusal_is_a_problem():
                outcomes = await runner.answer_all(session_id, answers, keys=keys)
        except (ProblemError, StoreError):
            if len(answers) > 1:  # Those before the one that failed may have been taken.
                with _failure_logged(session_id):
                    await self.go_on_with_answers(row)
            raise
        accepted = [call_id for call_id, outcome in outcomes.items() if outcome == "accepted"]
        for call_id in accepted:
            event = PendingAnswered(call_id=call_id, at=time.time())
            self._notices.publish(Notice("session", session_id, event))
        if accepted or "duplicate" in outcomes.values():
            # The answer is stored: what fails from here on is the run's failure, not the answer's.
            # That of a duplicate may be one with which nobody has gone on.
            with _failure_logged(session_id):
                await self.go_on_with_answers(row)
            with _failure_logged(session_id):
                await self._go_on_with_signed_in(row.scope.user_id)
        return outcomes

    async def _go_on_with_signed_in(self, user_id: str) -> None:
        """One sign-in releases calls in other sessions, and that of whoever signs in too late."""
        store, app_name = self.runner.store, self.runner.app_name
        released = {
            call.scope.session_id
            for call in await store.open_calls(app_name)
            if isinstance(call.answer, SignedIn) and call.scope.user_id == user_id
        }
        for session_id in released:
            row = await store.find(app_name, session_id)
            if row is not None:
                await self.go_on_with_answers(row)

    async def _after_answer(
        self, row: SessionRow, go_on: Callable[[SessionRow], Awaitable[None]]
    ) -> None:
        session_id = row.scope.session_id
        if not self.is_running(session_id) and is_blocked(await self._calls(session_id)):
            return
        # Asked again after the await: another answer may have set the run going meanwhile.
        if self.is_running(session_id):
            self._wanted.add(session_id)
            return
        try:
            await go_on(row)
        except SessionHeld:
            # Whoever has it uses the answer, unless it was about to end.
            self.go_on_when_free(row, partial(self.go_on_with_answers, row))

    async def go_on_with_answers(self, row: SessionRow, *, takes_over: bool = False) -> None:
        """Go on if there are answers that no run has taken, or deadlines that have passed, and nothing
        else is waited for; if it `takes_over`, only if nobody has since `row` was read."""
        session_id = row.scope.session_id
        if has_news(await self._calls(session_id)) and not await self.is_stopped(session_id):
            await self._after_answer(row, self.take_over if takes_over else self.go_on)

    async def may_go_on(self, session_id: str) -> bool:
        """Whether `go_on_with_answers` would."""
        return may_go_on(await self._calls(session_id))

    def go_on_when_free(self, row: SessionRow, go_on: Callable[[], Awaitable[object]]) -> None:
        """Call `go_on` once no other process has the session any more."""
        session_id = row.scope.session_id
        if session_id not in self._awaited:
            self._awaited.add(session_id)
            self._group.start_soon(self._wait_until_free, session_id, go_on)

    async def _wait_until_free(
        self, session_id: str, go_on: Callable[[], Awaitable[object]]
    ) -> None:
        try:
            with _failure_logged(session_id):
                while await self.runner.holder(session_id) is not None:  # noqa: ASYNC110  elsewhere
                    await anyio.sleep(_LOOK_SECONDS)
                self._awaited.discard(session_id)
                await go_on()
        finally:
            self._awaited.discard(session_id)

    async def _launch(
        self,
        session_id: str,
        user_id: str,
        message: str | None,
        only_from: SessionRow | None = None,
    ) -> None:
        if self._closing:
            raise ProblemError(503, "The server is about to stop.")
        while (over := self._going.get(session_id)) is not None:
            if not await self._end_is_stored(session_id, user_id):
                raise ProblemError(
                    409, "A run is going in this session; wait, steer it or cancel it."
                )
            await over.wait()
        # Noted before the first await, so that two requests cannot both begin.
        self._going[session_id] = anyio.Event()
        await self._group.start(self._drive, session_id, user_id, message, only_from)

    async def _drive(
        self,
        session_id: str,
        user_id: str,
        message: str | None,
        only_from: SessionRow | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Take a run to its end; what fails before its first event is the starter's to hear."""
        last: Event | None = None
        end: list[Event] = []
        """From the end of the run on: announced when it is over, so that whoever hears it may begin
        the next."""
        cut_off, is_stored = False, True
        try:
            async for event in self._events(session_id, user_id, message, only_from):
                if last is None:
                    await self._see_born(session_id)
                if end or (isinstance(event, RunEnded) and not event.path):
                    end.append(event)
                else:
                    self._publish(session_id, event)
                if last is None:
                    self._first[session_id] = event.seq
                    task_status.started()
                last = event
        except anyio.get_cancelled_exc_class():
            # Only the end of the server cancels this task: a person's wish ends the run inside.
            cut_off = True
            raise
        except Exception as error:
            if last is None:
                raise
            is_stored = bool(end) and not isinstance(error, StoreError)
            # The run has recorded its end and the reason; one failed run must not end the others.
            _log.warning("The run in session %s failed: %s", session_id, redact(str(error)))
        finally:
            if self._closing or cut_off:
                await self._mark_interrupted(session_id)
            self._over(session_id, end if is_stored else None)
        if last is None:
            task_status.started()
        await self._after_end(session_id, user_id)

    async def _events(
        self, session_id: str, user_id: str, message: str | None, only_from: SessionRow | None
    ) -> AsyncIterator[Event]:
        runner = self._runner_of(session_id)
        async for event in runner.stream(
            message, user_id=user_id, session_id=session_id, only_from=only_from
        ):
            yield event

    async def _after_end(self, session_id: str, user_id: str) -> None:
        """Go on at once when the answer came before the run had paused."""
        if session_id not in self._wanted:
            return
        self._wanted.discard(session_id)
        with _failure_logged(session_id):
            if await self.may_go_on(session_id) and not await self.is_stopped(session_id):
                await self._launch(session_id, user_id, None)

    async def _mark_interrupted(self, session_id: str) -> None:
        """A log that does not close with the end of a run is gone on with at the next start."""
        with anyio.CancelScope(shield=True):
            row = await self.runner.store.find(self.runner.app_name, session_id)
            if row is None:
                return
            latest = await self.runner.store.events(row.scope, self._first.get(session_id, 1) - 1)
            if is_cancelled(latest):
                return
            for last in latest[-1:]:
                if isinstance(last, RunEnded) and last.reason == "cancelled":
                    now, born = time.time(), row.created_at
                    mark = StateChanged(seq=row.last_seq + 1, at=now, delta={})
                    once = Hold(id=uuid.uuid4().hex, since=now, first=True, last=True, born=born)
                    with suppress(StoreConflict):  # Another process goes on with it already.
                        await self.runner.store.append(row.scope, [mark], once)

    async def _end_is_stored(self, session_id: str, user_id: str) -> bool:
        """Whether a reader of the store knows that the run has ended, which it has all but done."""
        first = self._first.get(session_id)
        row = await self.runner.store.find(self.runner.app_name, session_id)
        if first is None or row is None or row.scope.user_id != user_id:
            return False
        latest = await self.runner.store.events(row.scope, max(first - 1, row.last_seq - _LATEST))
        return any(isinstance(event, RunEnded) and not event.path for event in latest)

    # -- small steps ------------------------------------------------------------------------

    async def _calls(self, session_id: str) -> list[OpenCall]:
        return await self.runner.store.open_calls(self.runner.app_name, session_id)

    async def is_stopped(self, session_id: str) -> bool:
        """Whether a person has stopped its last run: then it waits for a person, whatever comes."""
        row = await self.runner.store.find(self.runner.app_name, session_id)
        last = await self.runner.store.events(row.scope, row.last_seq - 1) if row else []
        return any(isinstance(event, RunEnded) and event.reason == "cancelled" for event in last)

    def _runner_of(self, session_id: str) -> Runner:
        if is_by_hand(session_id) and self.by_hand is not None:
            return self.by_hand
        return self.runner

    def _publish(self, session_id: str, event: Event) -> None:
        self._feed(session_id).publish(event)
        self._notices.publish(Notice("session", session_id, event))

    def _over(self, session_id: str, end: Sequence[Event] | None) -> None:
        """A run is over; without its `end`, it could not store all that was published."""
        self._first.pop(session_id, None)
        self._going.pop(session_id).set()
        for event in end or ():
            self._publish(session_id, event)
        if end is None:
            self._feed(session_id).reset()
        else:
            self._feed(session_id).settle()
        self._forget_idle(session_id)
        # Lists that were read between the last event and now still show it as running.
        self._notices.reload()

    def _feed(self, session_id: str) -> Feed:
        return self._feeds.setdefault(session_id, Feed())

    def _forget_idle(self, session_id: str) -> None:
        feed = self._feeds.get(session_id)
        if feed is not None and not feed.listeners and not self.is_running(session_id):
            del self._feeds[session_id]


def is_cancelled(events: Sequence[Event]) -> bool:
    """Whether a person has cancelled the last run of these."""
    for event in reversed(events):
        if isinstance(event, CancelRequested):
            return True
        if isinstance(event, RunStarted) and not event.path:
            return False
    return False


@contextmanager
def _failure_logged(session_id: str) -> Iterator[None]:
    """One session that cannot go on must not end the others, nor the request that set it going."""
    try:
        yield
    except Exception:  # noqa: BLE001
        _log.exception("Session %s could not go on", session_id)
