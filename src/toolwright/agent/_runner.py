"""Run an agent in sessions that are kept: stored, listed, paused, answered, resumed, branched."""

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio

from toolwright import backends
from toolwright._sealed import Sealed
from toolwright._settings import explained
from toolwright.agent._asked_tool import changes_arguments
from toolwright.agent._branched import share_answers
from toolwright.agent._credentials import (
    check_sign_in,
    forget_answers,
    forget_session,
    sign_in,
    waiting_for_state,
)
from toolwright.agent._explain import Explanation, explain
from toolwright.agent._going import Going
from toolwright.agent._hooks import Hooks
from toolwright.agent._log import RETRY_SECONDS, Log
from toolwright.agent._node import AgentNode
from toolwright.agent._patience import Patience
from toolwright.agent._result import Outcome, Result
from toolwright.agent._rule_names import check_all_rule_names
from toolwright.agent._rules import ABOVE_ALL, Above, Guard, compiled
from toolwright.agent._spill import Spill
from toolwright.agent._start import (
    Job,
    OnOpen,
    Start,
    abandon,
    begin,
    carry_on,
    make_result,
    parse_for,
    run_to_end,
    stream_events,
)
from toolwright.agent._updates import late_updates
from toolwright.backends import (
    Hold,
    Holder,
    Loaded,
    OpenCall,
    SessionRow,
    Store,
    open_store,
    questions_beside,
    waited_for,
)
from toolwright.concurrency import close_all, first_cause, in_io_thread
from toolwright.errors import (
    SessionHeld,
    SettingError,
    StoreConflict,
    ToolError,
    ToolwrightError,
    UsageError,
)
from toolwright.messages import (
    Answered,
    AnyEvent,
    CancelRequested,
    Event,
    Given,
    Pending,
    PendingChanged,
    PendingOpened,
    Prompt,
    Reject,
    Scope,
    UserMessage,
    call_key,
    call_of,
    fold_members,
    user_message,
)
from toolwright.tools import (
    Args,
    Artifacts,
    AuthFlows,
    Credentials,
    Memory,
    Policy,
    Services,
    SessionInfo,
    accept_answer,
    checked_state,
    is_decision,
)

__all__ = ["Runner"]


class Runner(Sealed):
    """Keeps an agent's sessions in a store and runs it in them."""

    _live = ("agent", "deps", "hooks", "retry_writes", "wait_if_held")

    def __init__(
        self,
        agent: AgentNode,
        *,
        app_name: str = "app",
        store: str | Store = "memory://",
        artifacts: str | Artifacts | None = None,
        memory: str | Memory | None = None,
        credentials: str | Credentials | None = None,
        auth: AuthFlows | None = None,
        deps: Any = None,
        hooks: Hooks | None = None,
        policy: Policy | None = None,
        retry_writes: float = RETRY_SECONDS,
        wait_if_held: float = 0.0,
    ) -> None:
        if not wait_if_held >= 0:  # which NaN is not either
            raise UsageError(f"wait_if_held is a number of seconds; got {wait_if_held!r}.")
        self.agent = agent
        self.retry_writes = retry_writes
        """How many seconds a write that the store refuses is tried again before the run ends."""
        self.wait_if_held = wait_if_held
        """How many seconds a run waits for a session that another run holds, in whichever process."""
        self.hooks = hooks
        """See what every agent does, inner ones too."""
        self.policy = policy
        """Judges every call of every agent, inner ones too."""
        self._guards = compiled("the runner", policy)
        self._more_hooks: tuple[Hooks, ...] = ()
        self.app_name = app_name
        with _holding_nothing_if_refused():
            self.store = open_store(store)
            kept = _credential_store(credentials)
            flows = backends.AuthlibFlows(kept) if kept is not None and auth is None else auth
            self._own_memory = backends.open_memory(memory) if isinstance(memory, str) else None
            self.services = Services(
                artifacts=_artifact_service(artifacts),
                memory=self._own_memory or _memory_service(memory),
                credentials=kept,
                auth=flows,
            )
        self.deps = deps
        self._going = Going()

    @property
    def guards(self) -> tuple[Guard, ...]:
        """All rules that hold for every agent: its policy, and those of who serves it."""
        return self._guards

    def add_rules_of(
        self, whose: str, *, hooks: Hooks | None = None, policy: Policy | None = None
    ) -> None:
        """Who serves this runner adds to its rules and hooks, and takes none away."""
        self._guards = (*self._guards, *compiled(whose, policy))
        self._more_hooks = self._more_hooks if hooks is None else (*self._more_hooks, hooks)

    # -- running ----------------------------------------------------------------------------

    @explained(values=False)
    async def run(
        self,
        prompt: Prompt,
        *,
        user_id: str = "user",
        session_id: str | None = None,
        deps: Any = None,
        state: Mapping[str, Any] | None = None,
        task_id: str | None = None,
    ) -> Result:
        """Answer `prompt` in a session, a new one unless it is named.

        `SessionHeld` when another run has the session, and nothing has happened.
        """
        message, scope = user_message(prompt), self._scope(user_id, session_id)
        plan = _Plan(scope, deps=deps, given=state, task_id=task_id)
        return await self._guarded(plan, lambda start: begin(self.agent, message, start))

    @explained(rest=run, values=False)
    def run_sync(self, prompt: Prompt, **settings: Any) -> Result:
        """`run`, for programs that are not async."""
        from toolwright.agent._sync import run_blocking  # noqa: PLC0415 - the async ones need it not

        return run_blocking(lambda: self.run(prompt, **settings))

    async def stream(
        self,
        prompt: Prompt | None,
        *,
        user_id: str = "user",
        session_id: str | None = None,
        deps: Any = None,
        state: Mapping[str, Any] | None = None,
        only_from: SessionRow | None = None,
    ) -> AsyncGenerator[AnyEvent, None]:
        """The events of `run` (or, without a prompt, of `resume`) as they happen.

        `only_from` is for who takes over from another process: `resume` only if the session still stands
        as in this row, else there are no events.
        """
        message = None if prompt is None else user_message(prompt)
        plan = _Plan(self._scope(user_id, session_id), deps=deps, given=state)

        def make(start: Start) -> Job | Result:
            if message is not None:
                return begin(self.agent, message, start)
            if _has_moved(start, only_from):
                return make_result(carry_on(self.agent, start).run, _ELSEWHERE)
            return self._go_on(start)

        running = stream_events(lambda on_open: self._guarded(plan, make, on_open))
        # Closed by hand: whoever closes this iterator finds the run ended, not about to end.
        async with aclosing(running) as events:
            async for event in events:
                yield event

    @explained(values=False)
    async def resume(
        self, session_id: str, *, deps: Any = None, task_id: str | None = None
    ) -> Result:
        """Go on with a session that was paused, stopped or interrupted.

        While a call still waits it only says so, at no cost; a session that is done stays done.
        """
        row = await self._session(session_id)
        plan = _Plan(row.scope, deps=deps, task_id=task_id)
        return await self._guarded(plan, self._go_on)

    async def begin_or_resume(
        self,
        prompt: Prompt,
        *,
        user_id: str,
        session_id: str,
        state: Mapping[str, Any] | None = None,
        task_id: str | None = None,
        steered: Sequence[Prompt] = (),
        above: Above = ABOVE_ALL,
    ) -> Result:
        """`run` in a session where nobody has asked for anything yet, else `resume` it.

        `steered` are messages to put in before the next turn; `above` is what holds for the task
        that has started this one.
        """
        first, messages = user_message(prompt), [user_message(message) for message in steered]
        plan = _Plan(self._scope(user_id, session_id), given=state, task_id=task_id, above=above)

        def make(start: Start) -> Job | Result:
            assert start.log is not None
            # Not whether it has events: one that was abandoned before it began has its end.
            if start.log.asked is not None:
                return self._go_on(start, messages)
            return replace(begin(self.agent, first, start), queued=messages)

        return await self._guarded(plan, make)

    def _go_on(self, start: Start, queued: Sequence[UserMessage] = ()) -> Job | Result:
        """A job, or what the session came to when nothing is left to do."""
        job = replace(carry_on(self.agent, start), queued=queued)
        run = job.run
        known = run.known_end()
        if known is not None and not (queued or run.log.inbox or run.log.owed):
            return make_result(run, known)
        return job

    async def abandon(
        self,
        session_id: str,
        reason: str = "cancelled",
        *,
        keep_open: bool = False,
        only_from: SessionRow | None = None,
    ) -> None:
        """End a session that waits; its open calls cannot be answered any more, unless they are kept.

        What was approved and has not run yet does so with `resume`; not with the next message. With
        `only_from`, only if it still stands as in this row.
        """
        row = await self._session(session_id)
        start = await self._start(_Plan(row.scope), Patience(self.wait_if_held))
        if _has_moved(start, only_from):
            return
        await abandon(carry_on(self.agent, start), reason, keep_open=keep_open)

    def is_going(self, session_id: str) -> bool:
        """Whether this runner has a run going in a session."""
        return session_id in self._going.runs

    def cancel(self, session_id: str, *, abandon: bool = False) -> bool:
        """Stop the run that this runner has going in a session; whether there was one.

        A call that was running is left as by a crash: nobody knows how far it came, and the thread of
        a plain function goes on. `resume`, or the next message, does for it what its tool says. What
        waits for the outside still waits, unless you `abandon` the session as well.
        """
        scope, run = self._going.scopes.get(session_id), self._going.runs.get(session_id)
        if run is not None:
            run.shared.abandoned = run.shared.abandoned or abandon
        if scope is not None:
            scope.cancel()
        return scope is not None

    async def cancel_for_good(self, session_id: str) -> bool:
        """`cancel`, and have the log say so: should this process end before the run has, a server
        that finds it does not go on with it. Stored when this returns; `StoreError` when it could
        not be."""
        run = self._going.runs.get(session_id)
        is_open = run is not None and bool(run.log.events) and run.thread.ended is None
        if run is None or not is_open:
            return self.cancel(session_id)
        run.emit(CancelRequested, path="")
        self.cancel(session_id)
        await run.log.flush()
        return True

    async def steer(self, session_id: str, prompt: Prompt) -> bool:
        """Put a message into the run that this runner has going; whether there was one.

        It is stored when this returns: should the run pause, or its process die, it is delivered
        when the session goes on. `StoreError` when it could not be stored.
        """
        message, run = user_message(prompt), self._going.runs.get(session_id)
        if run is None or run.thread.ended is not None:
            return False
        run.queue(message)
        await run.log.flush()
        return True

    # -- answering --------------------------------------------------------------------------

    async def pending(self, session_id: str | None = None) -> list[Pending]:
        """The calls that wait for an answer, in one session or in all; those of all without any that
        cannot be read, which the log names."""
        rows = await self.store.open_calls(self.app_name, session_id)
        readable = [row for row in waited_for(rows) if not row.problem]
        return [replace(row.pending, session_id=row.scope.session_id) for row in readable]

    async def answer(self, session_id: str, call_id: str, value: Any, *, key: str = "") -> Answered:
        """Answer a pending call: `Approve()`, `Reject(reason=…)`, a choice, a result, a credential.

        The first answer wins. One that does not fit is refused with `UsageError`, and the call
        still waits. A credential releases every call of its user that waits for the same one.
        Then `resume` the session.

        Give the `key` of the question that a person was shown (`Pending.key`): should the session have
        been deleted and begun anew meanwhile, what waits under that id is another question, and
        the answer is "unknown".
        """
        keys = {call_id: key}
        return (await self.answer_all(session_id, {call_id: value}, keys=keys))[call_id]

    async def answer_all(
        self,
        session_id: str,
        answers: Mapping[str, Any],
        *,
        keys: Mapping[str, str] | None = None,
    ) -> dict[str, Answered]:
        """Answer several pending calls, by call id; if one does not fit, none is stored.

        What became of each is that of `answer`; `keys` are of the questions, by call id. They are
        checked together and taken one after the other: should the store fail in between, or the answer
        of somebody else overtake a second result, those before it are taken. Sent again, each of them
        is a "duplicate".
        """
        rows = await self._open_rows(session_id)
        others = await self._asked_elsewhere(session_id, rows, keys or {})
        found: dict[str, Answered] = {at: "unknown" for at in answers if at in others}
        answers = {at: value for at, value in answers.items() if at not in others}
        meant = {
            call_id: await self._question_of(rows, call_id, value)
            for call_id, value in answers.items()
        }
        # What has been answered takes nothing more, whether it would fit or not.
        waiting = {at: row for at, row in rows.items() if not row.answered}
        for at in set(meant.values()) & waiting.keys():
            _refuse_early_result(rows, waiting[at], together=set(meant.values()))
        checked = {
            call_id: await self._checked(waiting.get(meant[call_id]), value)
            for call_id, value in answers.items()
        }
        # First the results that an answer of somebody else may have overtaken: those are refused.
        overtakable = {at for at, row in waiting.items() if questions_beside(rows.values(), row)}
        for call_id, at in sorted(meant.items(), key=lambda one: one[1] not in overtakable):
            found[call_id] = await self._store_answer(session_id, at, rows, checked[call_id])
        return found

    async def _asked_elsewhere(
        self, session_id: str, rows: Mapping[str, OpenCall], keys: Mapping[str, str]
    ) -> set[str]:
        """The calls, by their ids, whose keys name questions of another session of that id."""
        wanted = {at: key for at, key in keys.items() if key}
        session = await self.store.find(self.app_name, session_id) if wanted else None
        if session is None:
            return set()
        return {
            at for at, key in wanted.items() if not await self._is_asked_in(session, rows, at, key)
        }

    async def _is_asked_in(
        self, session: SessionRow, rows: Mapping[str, OpenCall], call_id: str, key: str
    ) -> bool:
        """Whether `key` names a question of this session, or the call that it is for."""
        if key == call_key(session.scope, session.created_at, call_of(call_id)):
            return True
        # Not worked out: the questions of a branch have the keys under which they were asked first.
        asked = rows.get(call_id) or await self._closed_question(session.scope, call_id)
        return asked is not None and asked.pending.key == key

    async def _open_rows(self, session_id: str) -> dict[str, OpenCall]:
        found = await self.store.open_calls(self.app_name, session_id)
        return {row.pending.call_id: row for row in found}

    async def _question_of(self, rows: Mapping[str, OpenCall], call_id: str, value: Any) -> str:
        """The id of the question that `value` is meant for.

        A function knows its call by the id that the call's first question has. When that question
        has been answered, and the call asks another, what cannot be one more answer to the first is
        for the present one if the first was a confirmation, and is else refused with its id: a
        secret, or somebody's late choice, must never be taken for a result. Nor is what could answer
        the question of a function taken for its result, while the call has both open.
        """
        first = rows.get(call_id)
        await self._refuse_unclear(rows, first, value)
        later = [row for at, row in rows.items() if at != call_id and call_of(at) == call_id]
        if not later or (first is not None and not first.answered):
            return call_id
        now = next((row for row in reversed(later) if not row.answered), later[-1])
        asked = first or await self._closed_question(now.scope, call_id)
        if asked is None:
            # An id that was kept free for the result: only that may be meant.
            return now.pending.call_id if now.pending.kind == "result" else call_id
        if await self._could_answer(asked, value):
            return call_id
        if asked.pending.kind == "confirmation" or now.answered:
            return now.pending.call_id
        raise UsageError(
            f"Call {call_id!r} has got the {asked.pending.kind} that it asked for first, which this "
            f"is not, and waits for the {now.pending.kind} now: answer {now.pending.call_id!r} "
            "(tool_context.pending_id)."
        )

    async def _refuse_unclear(
        self, rows: Mapping[str, OpenCall], row: OpenCall | None, value: Any
    ) -> None:
        """`UsageError` where `value` is brought as a result and could be meant for what is asked first."""
        if row is None or row.answered or row.pending.kind != "result":
            return
        call = call_of(row.pending.call_id)
        for at, other in rows.items():
            asks = call_of(at) == call and not other.answered and other.pending.kind != "result"
            if asks and await self._could_answer(other, value):
                raise UsageError(
                    f"{row.pending.call_id!r} is the result of a call that asks for a "
                    f"{other.pending.kind} first, which this could be: answer that as {at!r}. A result "
                    "that reads like it can be brought when the function has run again. The call still waits."
                )

    async def _could_answer(self, row: OpenCall, value: Any) -> bool:
        """Whether somebody may mean `value` for this question."""
        if row.pending.kind == "confirmation":
            return is_decision(value)
        try:
            await self._checked(row, value)
        except UsageError:
            return False
        return True

    async def _closed_question(self, scope: Scope, call_id: str) -> OpenCall | None:
        """What a call has asked first, as it was when it was answered, when that is closed already."""
        found = [
            event.pending
            for event in await self.store.events(scope)
            if isinstance(event, PendingOpened | PendingChanged)
            and event.pending.call_id == call_id
        ]
        return OpenCall(scope=scope, pending=found[-1], answered=True) if found else None

    async def _checked(self, row: OpenCall | None, value: Any) -> Any:
        """The answer to `row` as it is stored, or the credential; `UsageError` if it is neither."""
        if row is None:
            return None
        if not _is_sign_in(row, value):
            return accept_answer(row.pending, value, await self._parse_of(row, value))
        # A value may come in its envelope; one that says more than the value is no credential.
        bare = isinstance(value, Given) and value == Given(value=value.value)
        brought = value.value if bare else value
        check_sign_in(self.services.credentials, row, brought)
        return brought

    async def _store_answer(
        self, session_id: str, call_id: str, rows: Mapping[str, OpenCall], checked: Any
    ) -> Answered:
        """Take an answer. Of a call's result and what its function has asked, the first one decides."""
        address, row = (self.app_name, session_id, call_id), rows.get(call_id)
        born = next((call.born for call in rows.values()), None)
        while row is not None and not row.answered and row.born == born:
            result = _result_beside(rows.values(), row)
            if result is not None and result.answered:
                return "finished"
            if _is_sign_in(row, checked):
                return await sign_in(self.store, self.services.credentials, row, checked)
            _refuse_early_result(rows, row)
            beside = [result] if result else questions_beside(rows.values(), row)
            if any(isinstance(asked.answer, Reject) for asked in beside):
                return "finished"
            rivals = [(session_id, asked.pending.call_id) for asked in beside if not asked.answered]
            outcome = await self.store.answer(*address, checked, rivals, born=born)
            if outcome != "duplicate" or not rivals:
                return outcome
            rows = await self._open_rows(session_id)
            row = rows.get(call_id)
        return await self.store.answer(*address, None, born=born)

    async def answer_sign_in(self, callback: str, *, user_id: str | None) -> list[str]:
        """Answer the calls that wait for the sign-in which `callback` finishes.

        `callback` is the whole address that the browser came back to; its `state` says whose
        sign-in it is. `user_id` is who came back, from your own session: calls of others are left
        alone, so that nobody can have another person finish a sign-in of theirs. None is for
        programs that have one user. The ids of the sessions to `resume`; none when nobody waits for it.
        """
        rows = await self.store.open_calls(self.app_name)
        waiting = [
            row for row in waiting_for_state(rows, callback) if user_id in (None, row.scope.user_id)
        ]
        for at, row in enumerate(waiting):
            with suppress(SessionHeld):  # It is being deleted; the sign-in is good for the others.
                found = await sign_in(self.store, self.services.credentials, row, callback)
                if found in ("accepted", "duplicate"):
                    return [row.scope.session_id for row in waiting[at:]]
        return []

    async def _parse_of(self, row: OpenCall, value: Any) -> Callable[[str], Args] | None:
        """What checks the arguments in `value`, if it has any; None where the tool is not at hand."""
        if not changes_arguments(value):
            return None
        state = await self.store.state(row.scope)
        start = Start(log=Log(row.scope), deps=self.deps, state=state, services=self.services)
        return await parse_for(self.agent, row.pending, value, start)

    async def explain(
        self, tool: str, arguments: Mapping[str, Any], *, user_id: str = "user"
    ) -> Explanation:
        """Which rule decides about a call, and why; nothing runs and nothing is stored.

        `helper/pay` is a call of `pay` by the agent `helper`, below this one or inside its tools.
        """
        return await explain(self.agent, self._unstored(user_id), tool, arguments)

    async def check_rules(self, *, user_id: str = "user") -> list[str]:
        """Refuse rules with names that nothing has, of all agents that it can reach; nothing runs.

        A run does the same for the rules on its path. Toolsets are listed for that: servers are
        started. What could not be checked, because a server is away or wants a sign-in, is returned
        in words.
        """
        run = carry_on(self.agent, self._unstored(user_id)).run
        return await check_all_rule_names(self.agent, self.guards, run.readonly)

    def _unstored(self, user_id: str) -> Start:
        """For looking at what a run would have; nothing is stored."""
        scope = Scope(app_name=self.app_name, user_id=user_id, session_id="explain")
        return Start(
            log=Log(scope),
            deps=self.deps,
            services=self.services,
            hooks=(self.hooks, *self._more_hooks),
            above=ABOVE_ALL.with_guards(self.guards),
        )

    # -- sessions ---------------------------------------------------------------------------

    async def sessions(self, user_id: str | None = None) -> list[SessionRow]:
        """The sessions, latest first; of one user, or of all."""
        return await self.store.sessions(self.app_name, user_id)

    async def unfinished(self) -> list[SessionRow]:
        """The sessions to `resume`, latest first: those whose run was cut off, or is going
        somewhere, and those whose answers no run has taken while nothing else is waited for."""
        return await self.store.unfinished(self.app_name)

    async def holder(self, session_id: str) -> Holder | None:
        """Who has a run going in a session, in whichever process; None when nobody has."""
        row = await self._session(session_id)
        found = await self.store.holder(row.scope)
        return None if found is None or found.is_gone else found

    async def events(self, session_id: str, since: int = 0) -> list[Event]:
        """A session's events after sequence number `since`."""
        row = await self._session(session_id)
        return await self.store.events(row.scope, since)

    async def state(self, session_id: str) -> dict[str, Any]:
        """A session's state."""
        row = await self._session(session_id)
        return fold_members(await self.store.state(row.scope))

    async def history(self, session_id: str) -> list[Any]:
        """A session's messages."""
        row = await self._session(session_id)
        log = Log(row.scope, self.store)
        log.replay(await self.store.events(row.scope))
        return list(log.thread("").history)

    async def output(self, session_id: str, name: str) -> str:
        """A long output, or the JSON of large data, by the name that its result gives."""
        row = await self._session(session_id)
        spill = Spill(row.scope, row.created_at)
        spill.look()
        try:
            return await in_io_thread(spill.read, name)
        except ToolError as error:
            raise UsageError(str(error)) from error

    async def delete(self, session_id: str) -> None:
        """Forget a session and all that belongs to it: its artifacts, its long outputs, what was
        brought for it and not used, and what it kept open. What belongs to the user stays.

        `SessionHeld` when another run has it, in whichever process (after `wait_if_held`), and
        nothing was deleted; while it is being deleted, no run begins in it, no answer is accepted
        and no branch is made. Should it fail or be cut short, the session is still listed, and can
        be deleted again. `StoreConflict` when this process was silent for its lease meanwhile and
        another has taken the session: it is theirs then, and stays.
        """
        row = await self._session(session_id)
        log = Log(row.scope, self.store)
        log.hold = Hold.to_delete()
        try:
            await self._take(row, log.hold)
            await self._delete(row, log.hold)
        finally:
            # Also when it is deleted: the store need not show life for it any more.
            await log.release()

    async def _take(self, row: SessionRow, hold: Hold) -> None:
        """Have the session to oneself, once no run has it; `SessionHeld` when that takes too long."""
        scope, patience = row.scope, Patience(self.wait_if_held)
        while True:
            self._refuse_second(scope.session_id)
            found = await self.store.holder(scope)
            if found is not None and not found.is_gone:
                await self._wait_for(scope, found, patience)
                continue
            try:
                gone = found.hold_id if found else ""
                hold = replace(hold, instead_of=gone)
                return await self.store.take(scope, hold, row.created_at)
            except StoreConflict as error:  # Somebody was quicker.
                if (await self._session(scope.session_id)).created_at != row.created_at:
                    raise  # And has deleted it; there is another of its name now.
                await patience.wait(error)

    async def _delete(self, row: SessionRow, hold: Hold) -> None:
        steps: list[Callable[[], Awaitable[None]]] = [
            partial(in_io_thread, Spill(row.scope, row.created_at).remove),
            partial(forget_session, self.store, self.services.credentials, row.scope),
            partial(self._delete_artifacts, row.scope),
            partial(self.agent.end_session, SessionInfo.of(row.scope)),
        ]
        try:
            await close_all([partial(self._while_held, row.scope, hold, step) for step in steps])
        except ExceptionGroup as failed:  # The database was away for all of them, say.
            raise first_cause(failed) from failed
        # Only when all that is elsewhere is gone: nobody would know of it without the session.
        await close_all([partial(self._delete_last, row.scope, hold)])

    async def _while_held(
        self, scope: Scope, hold: Hold, step: Callable[[], Awaitable[None]]
    ) -> None:
        """Take a step of a deletion unless another has the session by now; the last one says so."""
        found = await self.store.holder(scope)
        if found is not None and found.hold_id == hold.id:
            await step()

    async def _delete_last(self, scope: Scope, hold: Hold) -> None:
        """Delete the session itself, if this deletion still has it."""
        unused = await self.store.delete(scope, hold)
        # None was accepted unless this process was taken for gone, and nobody has taken its place.
        await forget_answers(self.store, self.services.credentials, scope, unused)

    async def _delete_artifacts(self, scope: Scope) -> None:
        artifacts = self.services.artifacts
        if artifacts is None:
            return
        with suppress(ToolError):  # A user or session whose name no artifact can be kept under.
            await artifacts.delete_session(scope)

    async def branch(
        self, session_id: str, *, new_id: str | None = None, upto: int | None = None
    ) -> SessionRow:
        """A new session that begins as this one did, up to sequence number `upto`.

        It has its own copies of the long outputs, and none of the artifacts. Nobody is asked again for
        a sign-in that they have made in the meantime, and of a branch of all there is the calls have
        the results and other answers that have come and that no run has used yet, but for approvals.
        """
        row = await self._session(session_id)
        scope = self._scope(row.scope.user_id, new_id)
        made = await self.store.branch(row.scope, scope.session_id, upto)
        outputs = Spill(row.scope, row.created_at)
        with anyio.CancelScope(shield=True):
            try:
                await in_io_thread(outputs.share, Spill(made.scope, made.created_at))
                await share_answers(self.store, row, made, whole=upto is None)
            except Exception:
                with suppress(ToolwrightError):
                    await self.delete(made.scope.session_id)
                raise
            await self._undo_if_deleted(row, made)
        return made

    async def _undo_if_deleted(self, source: SessionRow, made: SessionRow) -> None:
        """Refuse a branch whose source was taken for deletion before its outputs were shared."""
        left = await self.store.find(self.app_name, source.scope.session_id)
        holder = await self.store.holder(source.scope)
        is_there = left is not None and left.created_at == source.created_at
        if is_there and (holder is None or not holder.deletes):
            return
        await self.delete(made.scope.session_id)
        if is_there and holder is not None:
            raise holder.refusal(source.scope.session_id)
        raise UsageError(
            f"Session {source.scope.session_id!r} was deleted while it was branched; there is no "
            "branch of it."
        )

    async def close(self) -> None:
        """Close the agent's toolsets, the memory if it was given by address, and the store."""
        memory = [] if self._own_memory is None else [self._own_memory.close]
        await close_all([self.store.close, *memory, self.agent.close])

    async def __aenter__(self) -> "Runner":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    # -- inside -----------------------------------------------------------------------------

    def _scope(self, user_id: str, session_id: str | None) -> Scope:
        for name, value in (("user_id", user_id), ("session_id", session_id or "")):
            if not isinstance(value, str):
                raise SettingError(f"{name} is a string; got {value!r}: {name}={str(value)!r}?")
        # How long they may be is the store's to say: of sessions that it has, they may be longer.
        return Scope(
            app_name=self.app_name, user_id=user_id, session_id=session_id or uuid.uuid4().hex
        )

    async def _session(self, session_id: str) -> SessionRow:
        row = await self.store.find(self.app_name, session_id)
        if row is None:
            raise UsageError(f"App {self.app_name!r} has no session {session_id!r}.")
        return row

    async def _start(self, plan: "_Plan", patience: Patience) -> Start:
        scope = plan.scope
        self._refuse_second(scope.session_id)
        checked_state({} if plan.given is None else plan.given)  # before a session is made for it
        found = await self._load(scope, patience)
        row = found.row
        log = Log(row.scope, self.store, born=row.created_at, retry_seconds=self.retry_writes)
        if row.last_seq:
            log.replay(found.events)
            log.take_answers(found.calls)
            log.inbox.extend(late_updates(log))
        return Start(
            log=log,
            deps=self.deps if plan.deps is None else plan.deps,
            state=found.state,
            instead_of=found.holder.hold_id if found.holder else "",
            last_seq=row.last_seq,
            given=plan.given,
            services=self.services,
            task_id=plan.task_id,
            hooks=(self.hooks, *self._more_hooks),
            above=plan.above.with_guards(self.guards),
        )

    async def _load(self, scope: Scope, patience: Patience) -> Loaded:
        """The session, once no other run has it; `SessionHeld` when that takes too long."""
        while True:
            found = await self.store.load(scope)
            if found.holder is None or found.holder.is_gone:
                return found
            await self._wait_for(scope, found.holder, patience)

    async def _wait_for(self, scope: Scope, holder: Holder, patience: Patience) -> None:
        """Return when `holder` has released the session, or is gone; `cancel` ends the wait."""
        session_id, latest = scope.session_id, holder
        self._refuse_second(session_id)
        with anyio.CancelScope() as waiting:
            self._going.scopes[session_id] = waiting
            try:
                while not latest.is_gone:
                    await patience.wait(latest.refusal(session_id), latest.known_in)
                    found = await self.store.holder(scope)
                    if found is None:
                        return
                    latest = found
                return
            finally:
                self._going.end(session_id)
        raise latest.refusal(session_id)

    def _refuse_second(self, session_id: str) -> None:
        if session_id in self._going.scopes:
            raise UsageError(
                f"Session {session_id!r} has a run going; wait for it, steer it or cancel it."
            )

    async def _guarded(
        self,
        plan: "_Plan",
        make: Callable[[Start], Job | Result],
        on_open: OnOpen | None = None,
    ) -> Result:
        """Run a session so that `cancel` and `steer` reach it; cancelled, it ends as stopped."""
        session_id, patience = plan.scope.session_id, Patience(self.wait_if_held)
        while True:
            job = make(await self._start(plan, patience))
            if isinstance(job, Result):
                return job
            # Asked again: another run may have begun while this one was being read from the store.
            self._refuse_second(session_id)
            faster: StoreConflict | None = None
            with anyio.CancelScope() as scope:
                self._going.scopes[session_id] = scope
                self._going.runs[session_id] = job.run
                try:
                    return await run_to_end(job, on_open)
                except StoreConflict as error:
                    if job.is_open:
                        raise
                    faster = error
                finally:
                    self._going.end(session_id)
            if faster is None:
                stopped = Outcome(status="stopped", reason="cancelled")
                return make_result(job.run, stopped, job.first_event)
            # Another run was faster, somewhere; nothing has happened here.
            await patience.wait(faster)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which session is to be run, and with what."""

    scope: Scope
    deps: Any = None
    given: Mapping[str, Any] | None = None
    task_id: str | None = None
    above: Above = ABOVE_ALL


_ELSEWHERE = Outcome(status="stopped", reason="Another process has gone on with this session.")


def _has_moved(start: Start, found: SessionRow | None) -> bool:
    """Whether a session is not as it was `found`: written to since, or another of its id.

    If it is, that holds: the append that takes the session is refused should it have moved meanwhile.
    """
    if found is None or start.log is None:
        return False
    return (start.log.born, start.last_seq) != (found.created_at, found.last_seq)


def _refuse_early_result(
    rows: Mapping[str, OpenCall], row: OpenCall, together: Collection[str] = ()
) -> None:
    """`UsageError` for a result beside an answer with which the function has not run again yet."""
    for asked in questions_beside(rows.values(), row):
        at = asked.pending.call_id
        if at in together or (asked.answer is not None and not isinstance(asked.answer, Reject)):
            raise UsageError(
                f"{row.pending.call_id!r} is the result of a call whose question {at!r} is answered: "
                "that decides whether the function runs again, and the result can be brought after "
                "that. `resume` the session first. The call still waits."
            )


def _result_beside(rows: Collection[OpenCall], question: OpenCall) -> OpenCall | None:
    """The result that can be brought for a call while its function asks this question."""
    return next((row for row in rows if question in questions_beside(rows, row)), None)


def _is_sign_in(row: OpenCall, answer: Any) -> bool:
    return row.pending.kind == "credential" and not isinstance(answer, Reject)


def _holding_nothing_if_refused() -> AbstractContextManager[None]:
    from toolwright.backends._own_paths import unless_refused  # noqa: PLC0415 - agents need it not

    return unless_refused()


def _artifact_service(given: str | Artifacts | None) -> Artifacts | None:
    if isinstance(given, str):
        return backends.open_artifacts(given)
    if given is not None and not hasattr(given, "delete_session"):
        raise UsageError(
            "artifacts= takes an address or an artifact service, with the methods of "
            f"toolwright.tools.Artifacts; got {given!r}."
        )
    return given


def _memory_service(given: Any) -> Memory | None:
    if given is not None and not hasattr(given, "search"):
        raise UsageError(f"memory= takes an address or a memory service; got {given!r}.")
    return given


def _credential_store(given: str | Credentials | None) -> Credentials | None:
    if isinstance(given, str):
        return backends.open_credentials(given)
    if given is not None and not hasattr(given, "load"):
        raise UsageError(f"credentials= takes an address or a credential store; got {given!r}.")
    return given
